"""Tagged sentences in columns: CoNLL's shared tasks and Universal Dependencies."""

import itertools
import re

from zoo.checks.user_warnings import warn_user
from zoo.files.buckets import local_path
from zoo.files.lines import read_lines
from zoo.files.whole_files import open_any, replacing

DOCUMENT = "-DOCSTART-"
REMARKS = ("# ", "#begin document", "#end document")
DOCUMENT_BEGINS = (DOCUMENT, "#begin document", "# newdoc")  # of a document
SPACES = re.compile(r"[ \t\r\n]")  # what separates columns and lines
# In CoNLL-U: a line of several words (1-2) or of an empty word (8.1).
_NO_WORD = re.compile(r"\d+[-.]\d+(\t[^\t]*){9}")


def read_conll(path, word=None, tag=None, documents=False, skip_empty_words=False):
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
            last column; in a `.conllu` file 1 and 3, the universal part of speech.
        documents: bool, whether the sentences of a document are joined. A document
            begins with `-DOCSTART-`, `#begin document` or `# newdoc`. If a sentence
            begins with a tag I-X of IOB1 after a tag of the same X, it becomes B-X, a
            label that the sentences may not have.
        skip_empty_words: bool, whether lines are skipped whose word is empty or white
            space, as some published files have them. A warning counts them.

    Returns:
        The words and the tags of all sentences or documents, two lists of lists of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a line has too few columns, no word or tag, or other columns than
            its sentence while they are counted from the last one, the file is not
            UTF-8, `word` or `tag` is not a number, or no document begins in the file.
    """
    path = local_path(path)
    universal = ".conllu" in path.suffixes
    remarks = (*REMARKS, "#") if universal else REMARKS
    word = _column_number(word, 1 if universal else 0)
    tag = _column_number(tag, 3 if universal else -1)
    if not path.exists():
        raise FileNotFoundError(f"No such file: {path}.")
    sentences, rows, begins, width, wordless = [], [], [], 0, []
    for number, line in enumerate(itertools.chain(read_lines(path), [""]), start=1):
        fields = _split(line, max(width, 2))
        if line.startswith(DOCUMENT_BEGINS) and (line.startswith(DOCUMENT) or not rows):
            begins.append(len(sentences) + bool(rows))
        if not any(fields) or fields[0] == DOCUMENT:
            sentences.append(rows)
            rows = []
        elif not (_NO_WORD.match(line) or line.startswith(remarks) and not rows):
            width = width if rows else len(fields)
            row = _chosen(path, number, fields, word, tag, width)
            if row[0].strip():
                rows.append(row)
            else:
                wordless.append(number)
    _report_empty_words(path, wordless, skip_empty_words)
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


def _column_number(column, default):
    try:
        return default if column is None else int(column)
    except ValueError as error:
        raise ValueError(
            "Columns of words and tags must be numbers from 0. Received: "
            f"{column!r}. The last column is -1."
        ) from error


def _report_empty_words(path, lines, skip):
    """Warns of the numbers of lines without a word, or raises ValueError."""
    if not lines:
        return
    shown = [*map(str, lines[:20]), *(["..."] if len(lines) > 20 else [])]
    noun = "line" if len(lines) == 1 else "lines"
    received = f"{path} has {len(lines)} {noun} without a word: {', '.join(shown)}."
    if not skip:
        raise ValueError(
            f"Every line with a tag must have a word. Received: {received} Fill them "
            "in, or use `skip_empty_words=True`, `--skip-empty-words` of a command."
        )
    warn_user(f"{received} They are skipped, with their tags.")


def _split(line, width):
    """Splits a line into fields; an empty line has one empty field.

    After a space at its start, a line with one field less than `width` has no word.
    """
    if "\t" in line:
        return [field.strip(" ") for field in line.split("\t")]
    fields = re.split(" +", line.strip(" "))
    return ["", *fields] if line[:1] == " " and 0 < len(fields) == width - 1 else fields


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
    if not found[1].strip():
        raise ValueError(
            f"Every line of {path} must have a tag. Received: one without "
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
