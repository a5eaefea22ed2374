"""Tagged sentences in columns, as CoNLL's shared tasks and Universal Dependencies."""

import pathlib

from zoo.files import open_any, replacing

DOCUMENT = "-DOCSTART-"


def read_conll(path, word=0, tag=-1):
    """Reads words and tags from a file of one word per line.

    Columns are parted by tabs if the line has any, else by white space; an empty line
    ends a sentence; sentences of `-DOCSTART-` alone and lines of `# ` and a remark
    before a sentence are left out.

    Args:
        path: str or path, plain, `.gz` or `.xz`.
        word, tag: int, numbers of the columns; negative ones count from the last.

    Returns:
        sentences of words and sentences of tags, two lists of lists of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a line has too few columns.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No such file: {path}.")
    sentences, rows = [], []
    with open_any(path, "rt", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            line = line.rstrip("\r\n")
            if not line.strip():
                sentences.append(rows)
                rows = []
            elif rows or not line.startswith("# "):
                rows.append(_fields(path, number, line, word, tag))
    sentences.append(rows)
    sentences = [rows for rows in sentences if rows and rows[0][0] != DOCUMENT]
    words = [[row[0] for row in rows] for rows in sentences]
    return words, [[row[1] for row in rows] for rows in sentences]


def _fields(path, number, line, word, tag):
    fields = line.split("\t") if "\t" in line else line.split()
    wanted = [column if column >= 0 else len(fields) + column for column in (word, tag)]
    if min(wanted) < 0 or max(wanted) >= len(fields) or wanted[0] == wanted[1]:
        raise ValueError(
            f"Every line of {path} must have a column {word} of words and {tag} of "
            f"tags. Received: {len(fields)} columns in line {number}: {line[:80]!r}."
        )
    return fields[wanted[0]], fields[wanted[1]]


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
