"""Tagged sentences in columns: CoNLL's shared tasks and Universal Dependencies."""

import itertools
import pathlib
import re

from zoo.files import open_any, open_text, replacing

DOCUMENT = "-DOCSTART-"
REMARKS = ("# ", "#begin document", "#end document")
BEGINS = (DOCUMENT, "#begin document", "# newdoc")  # of a document
SPACES = re.compile(r"[ \t\r\n]")  # what separates columns and lines
# In CoNLL-U: a line of several words (1-2) or of an empty word (8.1).
_NO_WORD = re.compile(r"\d+[-.]\d+(\t[^\t]*){9}")


def read_conll(path, word=None, tag=None, documents=False):
    """Reads words and tags from a file with one word per line.

    Columns are separated by tabs if the line has a tab, else by spaces. An empty line
    or a line that starts with `-DOCSTART-` ends a sentence. These lines are ignored:

    - comments that start with `# ` before a sentence, in a `.conllu` file with `#`,
    - `#begin document` and `#end document` of OntoNotes,
    - in CoNLL-U with ten columns, lines of several words (1-2) and empty words (8.1).

    Args:
        path: str or path, a UTF-8 file, plain, `.gz` or `.xz`.
        word, tag: int, or str with its digits, numbers of the two columns, from 0;
            negative numbers count from the last column. By default the first and the
            last column. In a file whose name ends in `.conllu`, with or without `.gz`
            or `.xz`, they are 1 and 3, the universal part of speech.
        documents: bool, whether the sentences of a document are joined. A document
            begins with `-DOCSTART-`, `#begin document` or `# newdoc`. If a sentence
            begins with a tag I-X of IOB1 after a tag of the same X, it becomes B-X, a
            label that the sentences may not have.

    Returns:
        The words and the tags of all sentences or documents, two lists of lists of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a line has too few columns, no word or no tag, or other columns
            than its sentence while they are counted from the last one, the file is not
            UTF-8, `word` or `tag` is not a number, or no document begins in the file.
    """
    path = pathlib.Path(path)
    universal = ".conllu" in path.suffixes
    chosen = (1, 3) if universal else (0, -1)
    remarks = (*REMARKS, "#") if universal else REMARKS
    columns = zip((word, tag), chosen, strict=True)
    word, tag = (_column_number(b if a is None else a) for a, b in columns)
    if not path.exists():
        raise FileNotFoundError(f"No such file: {path}.")
    sentences, rows, begins, width = [], [], [], 0
    with open_text(path) as file:
        for number, line in enumerate(itertools.chain(file, [""]), start=1):
            if line.startswith(BEGINS) and (line.startswith(DOCUMENT) or not rows):
                begins.append(len(sentences) + bool(rows))
            fields = _split(line)
            if not any(fields) or fields[0] == DOCUMENT:
                sentences.append(rows)
                rows = []
            elif not (_NO_WORD.match(line) or line.startswith(remarks) and not rows):
                width = width if rows else len(fields)
                rows.append(_chosen(path, number, fields, word, tag, width))
    if documents:
        sentences = _joined(sentences, begins, path)
    sentences = [rows for rows in sentences if rows]
    words = [[row[0] for row in rows] for rows in sentences]
    return words, [[row[1] for row in rows] for rows in sentences]


def _joined(sentences, begins, path):
    """The rows of documents, from those of sentences and the numbers of the first."""
    if not begins:
        raise ValueError(
            f"A file with documents must have lines such as {DOCUMENT}. Received: "
            f"{path} without one. Read its sentences."
        )
    found = []
    for first, after in itertools.pairwise([0, *begins, len(sentences)]):
        document = []
        for rows in sentences[first:after]:
            for number, (word, tag) in enumerate(rows):
                # I-X would continue the span in which the last sentence ends.
                if not number and document and tag.startswith("I-"):
                    same = document[-1][1][1:] == tag[1:]
                    tag = f"B{tag[1:]}" if same else tag
                document.append((word, tag))
        found.append(document)
    return found


def _column_number(column):
    try:
        return int(column)
    except ValueError as error:
        raise ValueError(
            "Columns of words and tags must be numbers from 0. Received: "
            f"{column!r}. The last column is -1."
        ) from error


def _split(line):
    """Splits a line into fields; an empty line has one empty field."""
    line = line.rstrip("\r\n")
    if "\t" in line:
        return [field.strip(" ") for field in line.split("\t")]
    return re.split(" +", line.strip(" "))


def _chosen(path, number, fields, word, tag, width):
    if min(word, tag) < 0 and len(fields) != width:
        raise ValueError(
            f"All lines of a sentence in {path} must have the same number of columns. "
            f"Received: {len(fields)} columns in line {number}: {fields!r:.80}, and "
            f"{width} in the first line. A word must not contain a space."
        )
    wanted = [column if column >= 0 else len(fields) + column for column in (word, tag)]
    if min(wanted) < 0 or max(wanted) >= len(fields) or wanted[0] == wanted[1]:
        raise ValueError(
            f"Every line of {path} must have a column {word} of words and {tag} of "
            f"tags. Received: {len(fields)} columns in line {number}: {fields!r:.80}. "
            "Pass the numbers of the two columns."
        )
    found = fields[wanted[0]], fields[wanted[1]]
    if not all(field.strip() for field in found):
        raise ValueError(
            f"Every line of {path} must have a word and a tag. Received: one without "
            f"in line {number}: {fields!r:.80}. Fill it in, or remove the line."
        )
    return found


def write_conll(path, words, *columns):
    """Writes tagged sentences in the format that `conlleval` reads.

    If writing fails, an existing file does not change. A first word "#" is followed by
    tabs, since `read_conll` takes "# " for a comment; `conlleval` refuses such a line.

    Args:
        path: str or path, file to write, plain, `.gz` or `.xz`.
        words: list of lists of str, the words of each sentence.
        *columns: lists of lists of str of the same lengths, such as the true and the
            predicted tags.

    Raises:
        ValueError: if the columns of a sentence differ in length, or a field is empty
            or contains a space, a tab or a line break.
    """
    lines = []
    for row, sentence in enumerate(zip(words, *columns, strict=True)):
        if len({len(column) for column in sentence}) > 1:
            raise ValueError(
                "Every column must have a field for every word. Received: lengths "
                f"{[len(column) for column in sentence]} in sentence {row}."
            )
        for number, fields in enumerate(zip(*sentence, strict=True)):
            if any(not field.strip() or SPACES.search(field) for field in fields):
                raise ValueError(
                    "A field must not be empty or contain spaces or tabs. Received: "
                    f"{fields} in sentence {row}."
                )
            remark = number == 0 and fields[0] == "#"
            lines.append(("\t" if remark else " ").join(fields))
        lines.append("")
    with replacing(path) as temporary:
        with open_any(temporary, "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
