"""Reading the files of `users_files`, and what writers of such files write."""

import csv
import io
import random

import pytest
from users_files import READ, REFUSED

from zoo.data import read_glue, read_labelled


def write(directory, name, content):
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path, **options):
    """The rows of a file, tuples of a text, perhaps a second one, and a label."""
    texts, labels = read_labelled(path, **options)
    columns = texts if isinstance(texts, tuple) else (texts,)
    return list(zip(*columns, labels, strict=True))


@pytest.mark.parametrize("case", list(READ))
def test_a_file_is_read(case, tmp_path):
    name, content, options, expected = READ[case]
    expected = [tuple(row.split("|")) for row in expected.split(" / ")]
    assert rows(write(tmp_path, name, content), **options) == expected


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_file_is_refused(case, tmp_path):
    name, content, options, message = REFUSED[case]
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=f"(?s){message}") as caught:
        rows(path, **options)
    assert str(path) in str(caught.value) or "pair_column" in options


def test_empty_texts_are_kept_with_a_warning(tmp_path):
    path = write(tmp_path, "a.csv", "text,label\na,x\n,x\n ,y\n")
    message = r"a\.csv has rows with an empty text: 2, the first in line 3"
    with pytest.warns(UserWarning, match=message):
        assert rows(path) == [("a", "x"), ("", "x"), (" ", "y")]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "suffix, delimiter", [("csv", ","), ("csv", ";"), ("tsv", "\t")]
)
def test_what_a_csv_writer_wrote_is_read(seed, suffix, delimiter, tmp_path):
    """Python's and pandas' writers quote only the fields that need it."""
    draw = random.Random(seed)
    texts = ["".join(draw.choices('ab"\t,;\n', k=6)) + "." for _ in range(30)]
    expected = [(text, draw.choice("xy")) for text in texts]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows([("text", "label"), *expected])
    path = write(tmp_path, f"a.{suffix}", file.getvalue())
    assert rows(path) == expected


@pytest.mark.parametrize("seed", range(20))
def test_what_was_written_without_quoting_is_read(seed, tmp_path):
    """As GLUE's files; some quotes are inside of a text."""
    draw = random.Random(seed)
    texts = ["".join(draw.choices('ab", ', k=6)) for _ in range(30)]
    expected = [(text, draw.choice("xy")) for text in [*texts, 'a 5" disk']]
    lines = ["text\tlabel", *map("\t".join, expected)]
    path = write(tmp_path, "a.tsv", "\n".join(lines) + "\n")
    assert rows(path) == expected


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"idx": [1, 2], "sentence": ["a", "b"], "label": [0, 1]}
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    assert rows(tmp_path / "a.parquet") == [("a", "0"), ("b", "1")]
    table["label"][1] = None
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="must have a label.* None in row 2"):
        rows(tmp_path / "a.parquet")


def test_the_limit_of_the_csv_module_does_not_change(tmp_path):
    limit = 131_072  # the default
    csv.field_size_limit(limit)
    rows(write(tmp_path, "a.csv", f"text,label\n{'b' * 200_000},x\n"))
    assert csv.field_size_limit() == limit


@pytest.mark.external
@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize(
    "task, folder, options",
    [
        ("sst2", "SST-2", {}),
        ("mrpc", "MRPC", {}),
        ("stsb", "STS-B", {"numbers": True}),
        ("rte", "RTE", {}),
        ("wnli", "WNLI", {}),
        ("cola", "CoLA", {"text_column": 3, "label_column": 1}),
    ],
)
def test_glue_is_read_as_by_its_own_reader(task, folder, options, split, shared):
    path = shared / "data" / "glue" / folder / f"{split}.tsv.gz"
    texts, labels = read_glue(shared / "data" / "glue", task, split)
    found = read_labelled(path, **options)
    assert found[0] == texts
    assert found[1] == (labels if "numbers" in options else [*map(str, labels)])
