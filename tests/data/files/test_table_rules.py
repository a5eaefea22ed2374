"""One table of the rules of tables, which hold for all programs that read one."""

import gzip
import io
import json

import pytest

from zoo.data import open_table, read_choices, read_classes, read_labelled
from zoo.data.files.table_columns import choose_text_columns, text_of


def texts_to_answer(path):
    """The texts of a table for `Task.answer_file`."""
    table = open_table(path)
    (column,) = choose_text_columns(table, ("text",))
    assert table.count - (not table.header) == len([*table.body()])
    return [text_of(table, place, row, column) for place, row in table.body()]


READERS = {
    "labels": lambda path: read_labelled(path)[0],
    "sets of labels": lambda path: read_classes(path, separator="|")[0],
    "choices": lambda path: read_choices(path)[0][0],
    "answers": texts_to_answer,
}
HEADER = ["text", "choice0", "choice1", "label"]
ENDS = ["b", "c", "0"]


def table(texts, mark=",", end="\n", quoted=(), header=HEADER):
    """A table of the texts; those of `quoted` have quotes."""
    cells = ['"' + text.replace('"', '""') + '"' if text in quoted else text
             for text in texts]  # fmt: skip
    rows = [header, *([cell, *ENDS] for cell in cells)]
    return "".join(mark.join(row) + end for row in rows)


def objects(texts):
    return [dict(zip(HEADER, [text, *ENDS], strict=True)) for text in texts]


TWO = ["a film", "é 電影"]
BREAKS = ["one\nline, two", "\r\nthree", 'a "quote"']
LONG = ["word " * 40_000, "a"]  # longer than what is read of a list at once
SPACES = " " * 70_000
BREAK_IN_NAME = ["text", '"a\nchoice\n0"', "achoice1", "label"]
# The name of a file, its content, and the texts.
READ = {
    "CSV": ("a.csv", table(TWO), TWO),
    "no end of the last line": ("a.csv", table(TWO)[:-1], TWO),
    "byte order mark": ("a.csv", "\ufeff" + table(TWO), TWO),
    "UTF-16": ("a.csv", table(TWO).encode("utf-16"), TWO),
    "UTF-16, big end first": (
        "a.tsv", ("\ufeff" + table(TWO, "\t")).encode("utf-16-be"), TWO),
    "UTF-16 of JSON": ("a.jsonl", json.dumps(objects(TWO)).encode("utf-16"), TWO),
    "gzip": ("a.csv.gz", gzip.compress(table(TWO).encode("utf-16")), TWO),
    "semicolons": ("a.csv", table(["a, b", "c"], ";"), ["a, b", "c"]),
    "tabs": ("a.csv", table(["a, b;", "c"], "\t"), ["a, b;", "c"]),
    "a delimiter in a name": (
        "a.csv", table(TWO, header=['"text"', *HEADER[1:3], '"label;"']), TWO),
    "CRLF": ("a.csv", table(TWO, end="\r\n"), TWO),
    "CR": ("a.csv", table(TWO, end="\r"), TWO),
    "CR in TSV": ("a.tsv", table(TWO, "\t", "\r"), TWO),
    "blank rows": ("a.csv", "\n\n" + table(TWO).replace("\n", "\n\n,, ,\n"), TWO),
    "empty columns": ("a.csv", table(TWO, end=",,\n"), TWO),
    "zero byte": ("a.csv", table(["a\0b"]), ["a\0b"]),
    "line breaks": ("a.csv", table(BREAKS, quoted=BREAKS), BREAKS),
    "line breaks in TSV": ("a.tsv", table(BREAKS, "\t", quoted=BREAKS), BREAKS),
    "line breaks in a name": ("a.csv", table(TWO, header=BREAK_IN_NAME), TWO),
    "quotes of TSV": ("a.tsv", table(['"a', 'b "c"'], "\t"), ['"a', 'b "c"']),
    "pairs of quotes": ("a.tsv", table(['"a"', 'b "c"'], "\t"), ['"a"', 'b "c"']),
    "a CR in a text of TSV": ("a.tsv", table(["a\rb"], "\t"), ["a\rb"]),
    "other line breaks": ("a.tsv", table(["a\u2028\x85b"], "\t"), ["a\u2028\x85b"]),
    "a long text": ("a.csv", table(LONG), LONG),
    "JSON lines": (
        "a.jsonl", "\r\n\r\n".join(map(json.dumps, objects(BREAKS))), BREAKS),
    "JSON lines of JSON": ("a.json", "\n".join(map(json.dumps, objects(TWO))), TWO),
    "a list": ("a.json", json.dumps(objects(BREAKS)), BREAKS),
    "a list in lines": ("a.jsonl", "\n \n" + json.dumps(objects(TWO), indent=2), TWO),
    "a long list": ("a.json", json.dumps(objects(LONG)), LONG),
    "a long list with spaces": (
        "a.json", SPACES + json.dumps(objects(["a"])).replace(" ", SPACES), ["a"]),
    "a name twice": ("a.csv", ",".join([*HEADER, "x,x\na,b,c,0,1,2"]), ["a"]),
}  # fmt: skip
LIST = "one list of objects. Received: "
ZERO = "0x00 at position 1, in line 1. .* -f UTF-16 "
LATIN = "0xe9 at position 40, in line 3. .* -f WINDOWS-1252"
# The name of a file, its content, and the error.
REFUSED = {
    "nothing": ("a.csv", "\n \n", "must have rows"),
    "nothing in a list": ("a.json", " [ ] ", "must have rows"),
    "two delimiters": (
        "a.csv", "text;,choice0;,choice1;,label\na;,b;,c;,0\n", "one kind of delimit"),
    "a short row": ("a.csv", table(TWO) + "a,b\n", "first, 4. Received: 2 in line 4"),
    "a long row": ("a.tsv", table(TWO, "\t") + "a\tb\tc\t0\t1\n", "5 in line 4"),
    "an open quote": ("a.csv", table(['"a']), "row that begins in line 2"),
    "text after a quote": ("a.csv", table(['"a" b']), "row that begins in line 2"),
    "unclear quotes": (
        "a.tsv", table([], "\t") + '"a\tb\tc\t0\nb"\tb\tc\t0\n', "quotes .* clear"),
    "Windows": ("a.csv", table(["a film", "é"]).encode("cp1252"), LATIN),
    "UTF-16 without a mark": ("a.csv", table(TWO).encode("utf-16-le"), ZERO),
    "half of UTF-16": ("a.csv", table(TWO).encode("utf-16")[:-1], "line 3. .*UTF-16"),
    "other kind of file": ("a.xlsx", "", "file that ends in .csv, .tsv"),
    "a name twice": ("a.csv", table(TWO, header=["text", "text", *HEADER[2:]]), "text"),
    "null": ("a.json", json.dumps(objects([None])), "None in object 1, column 'text'"),
    "half of a character": ("a.json", json.dumps(objects(["a", "\ud83d"])), "object 2"),
    "no object": ("a.json", "[{}, 5]", LIST + "int in object 2"),
    "an open list": ("a.json", "[{}", LIST + "no ',' before object 2"),
    "an open object": ("a.json", '[{}, {"a": 1', LIST + "an error in object 2"),
    "no comma": ("a.json", "[{} {}]", LIST + "no ',' before object 2"),
    "a comma at the end": ("a.json", "[{},]", LIST + "an error in object 2"),
    "two lists": ("a.json", "[{}]\n[{}]", LIST + "more text after the list"),
    "deep lists": ("a.json", "[" * 10**5, LIST + "an error in object 1"),
    "damaged lines": ("a.jsonl", "{}\n\n{]", LIST + "an error in line 3"),
}  # fmt: skip


def write(directory, name, content):
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", READ)
def test_a_table_is_read(case, reader, tmp_path):
    name, content, texts = READ[case]
    assert READERS[reader](write(tmp_path, name, content)) == texts


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", REFUSED)
def test_a_table_is_refused(case, reader, tmp_path):
    name, content, message = REFUSED[case]
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=f"(?s){message}") as caught:
        READERS[reader](path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_parquet_is_read(reader, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    values = pyarrow.Table.from_pylist(objects(BREAKS * 200))
    parquet.write_table(values, tmp_path / "a.parquet")
    assert READERS[reader](tmp_path / "a.parquet") == BREAKS * 200


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json"])
def test_only_a_part_of_a_table_is_in_memory(name, tmp_path, monkeypatch):
    """What is read ahead of a row is bounded, whatever the size of the file."""
    mark = "\t" if name == "a.tsv" else ","
    rows = objects(["word " * 20] * 20_000)
    texts = {"a.jsonl": "\n".join(map(json.dumps, rows)), "a.json": json.dumps(rows)}
    content = texts.get(name) or table([row["text"] for row in rows], mark)
    path, positions = write(tmp_path, name, content), []

    class Counted(io.FileIO):
        def readinto(self, buffer):
            positions.append(self.tell())
            return super().readinto(buffer)

    def opened(path, mode="rb"):
        return io.BufferedReader(Counted(path))

    opened_table = open_table(path)
    monkeypatch.setattr("zoo.files.whole_files.open_any", opened)
    body = opened_table.body()
    for _ in range(10):
        next(body)
    assert len(content) > 2_000_000 and max(positions) < 300_000


@pytest.mark.parametrize(
    "content, options, found",
    [
        ("a,x\nb,y\n", {}, "must have 1 columns of texts"),
        ("a,x\nb,y\n", {"text": 0}, "name the column: `--text-column a`"),
        (
            "a\nb\n",
            {},
            "`--text-column a`, .* If it is not, insert one, such as `text`",
        ),
        ("a,x\nb,y\n", {"text": "a"}, [0]),
        ("review,x\nb,y\n", {"text": "1"}, [1]),
        ("text,text\nb,y\n", {}, "which is 2 of them"),
        ("text,title\nb,y\n", {}, [0]),
    ],
)
def test_the_first_line_of_a_table_to_answer_is_a_header(
    content, options, found, tmp_path
):
    opened = open_table(write(tmp_path, "a.csv", content))
    if isinstance(found, list):
        assert choose_text_columns(opened, ("text",), **options) == found
        return
    with pytest.raises(ValueError, match=found):
        choose_text_columns(opened, ("text",), **options)
