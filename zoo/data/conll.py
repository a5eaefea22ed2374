"""Tagged sentences in columns, as CoNLL's shared tasks and Universal Dependencies."""

import itertools
import pathlib
import re

from zoo.files import open_any, replacing

DOCUMENT = "-DOCSTART-"
REMARKS = ("# ", "#begin document", "#end document")
_NO_WORD = re.compile(r"\d+[-.]\d+(\t[^\t]*){9}")  # of CoNLL-U


def read_conll(path, word=0, tag=-1):
    """Reads words and tags from a file of one word per line.

    Columns are parted by tabs if the line has any, else by spaces; an empty line ends a
    sentence, and so does one of `-DOCSTART-`. Left out are lines of `# ` and a remark
    before a sentence, OntoNotes' lines of documents, and in CoNLL-U's ten columns the
    lines of several words (1-2) and of words that are not there (8.1).

    Args:
        path: str or path, plain, `.gz` or `.xz`, in UTF-8.
        word, tag: int, numbers of the columns; negative ones count from the last. Of
            CoNLL-U, 1 and 3 are words and universal parts of speech.

    Returns:
        sentences of words and sentences of tags, two lists of lists of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a line has too few columns, no word or no tag, or is no UTF-8.
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
    """A line's fields; an empty line has one, which is empty."""
    line = line.rstrip("\r\n")
    if "\t" in line:
        return [field.strip(" ") for field in line.split("\t")]
    return re.split(" +", line.strip(" "))


def _chosen(path, number, fields, word, tag):
    wanted = [column if column >= 0 else len(fields) + column for column in (word, tag)]
    if min(wanted) < 0 or max(wanted) >= len(fields) or wanted[0] == wanted[1]:
        raise ValueError(
            f"Every line of {path} must have a column {word} of words and {tag} of "
            f"tags. Received: {len(fields)} columns in line {number}: {fields!r:.80}."
        )
    found = fields[wanted[0]], fields[wanted[1]]
    if not all(field.strip() for field in found):
        raise ValueError(
            f"Every line of {path} must have a word and a tag. Received: one without "
            f"in line {number}: {fields!r:.80}. Fill it in, or remove the line."
        )
    return found


def write_conll(path, words, *columns):
    """Writes sentences as `conlleval` reads them, whole or not at all.

    Args:
        path: where to write.
        words: sentences of words, list of lists of str.
        *columns: the same of tags, such as the true and the predicted ones.

    Raises:
        ValueError: if sentences differ in length, or a field is empty or has a space.
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
