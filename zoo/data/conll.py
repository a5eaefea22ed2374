"""Files of tagged sentences in columns: CoNLL shared tasks, Universal Dependencies."""

import itertools
import pathlib
import re

from zoo.files import open_any, replacing

DOCUMENT = "-DOCSTART-"
REMARKS = ("# ", "#begin document", "#end document")
# Lines of CoNLL-U for several words (1-2) and for words that are not in the text (8.1).
_NO_WORD = re.compile(r"\d+[-.]\d+(\t[^\t]*){9}")


def read_conll(path, word=0, tag=-1):
    """Reads words and tags from a file with one word per line.

    Columns are separated by tabs if the line has a tab, or else by spaces. An empty
    line or a `-DOCSTART-` line ends a sentence. These lines are ignored:

    - comments before a sentence, which begin with `# `;
    - OntoNotes' lines `#begin document` and `#end document`;
    - lines of CoNLL-U's ten columns for several words (1-2) or for words that are not
      in the text (8.1).

    Args:
        path: str or path of a UTF-8 file, plain, `.gz` or `.xz`.
        word, tag: int, numbers of the columns; negative numbers count from the last
            one. In CoNLL-U, 1 is the column of words and 3 that of universal parts of
            speech.

    Returns:
        Words and tags, two lists of lists of str, one list for each sentence.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if a line has too few columns, or if the file is not UTF-8.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No such file: {path}.")
    sentences, rows = [], []
    try:
        with open_any(path, "rt", encoding="utf-8-sig") as file:
            for number, line in enumerate(itertools.chain(file, [""]), start=1):
                fields = _split(line)
                if not any(fields) or fields[0] == DOCUMENT:
                    sentences.append(rows)
                    rows = []
                elif not (
                    _NO_WORD.match(line) or line.startswith(REMARKS) and not rows
                ):
                    rows.append(_chosen(path, number, fields, word, tag))
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}` must be UTF-8. Received: {error}.") from error
    sentences = [rows for rows in sentences if rows]
    words = [[row[0] for row in rows] for rows in sentences]
    return words, [[row[1] for row in rows] for rows in sentences]


def _split(line):
    """Returns the fields of a line; an empty line has one empty field."""
    line = line.rstrip("\r\n")
    if "\t" in line:
        return [field.strip(" ") for field in line.split("\t")]
    return re.split(" +", line.strip(" "))


def _chosen(path, number, fields, word, tag):
    wanted = [column if column >= 0 else len(fields) + column for column in (word, tag)]
    if min(wanted) < 0 or max(wanted) >= len(fields) or wanted[0] == wanted[1]:
        raise ValueError(
            f"Every line of {path} must have words in column {word} and tags in column "
            f"{tag}. Received: {len(fields)} columns in line {number}: {fields!r:.80}."
        )
    return fields[wanted[0]], fields[wanted[1]]


def write_conll(path, words, *columns):
    """Writes sentences in the format that `conlleval` reads.

    The file appears complete or not at all.

    Args:
        path: path of the file.
        words: list of lists of str, the words of each sentence.
        *columns: lists of lists of str of the same lengths, e.g. true and predicted
            tags.

    Raises:
        ValueError: if columns differ in length, or if a field is empty or has white
            space.
    """
    lines = []
    for row, sentence in enumerate(zip(words, *columns, strict=True)):
        if len({len(column) for column in sentence}) > 1:
            raise ValueError(
                "Every column must have a field for every word. Received: lengths "
                f"{[len(column) for column in sentence]} in sentence {row}."
            )
        for fields in zip(*sentence, strict=True):
            if any(len(field.split()) != 1 for field in fields):
                raise ValueError(
                    "A field must have no white space and not be empty. Received: "
                    f"{fields} in sentence {row}."
                )
            lines.append(" ".join(fields))
        lines.append("")
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8")
