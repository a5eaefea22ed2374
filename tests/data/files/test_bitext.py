"""Pairs of texts from one file or two, plain and compressed, good and bad."""

import gzip
import lzma

import pytest

from zoo.data import read_bitext


def test_one_file_has_columns(tmp_path):
    path = tmp_path / "a.tsv.gz"
    with gzip.open(path, "wb") as file:
        file.write("\ufeffa b\t é \tx\r\n\n \nc\td\n".encode())
    assert read_bitext(path) == (["a b", "c"], ["é", "d"])
    assert read_bitext(path, columns=("1", 0)) == (["é", "d"], ["a b", "c"])
    with pytest.raises(ValueError, match="at least 3 columns.* 2 in line 4: 'c"):
        read_bitext(path, columns=(0, 2))


def test_two_files_have_lines(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.fr.xz"
    source.write_text("a\tb\u2028c\n\nd")
    with lzma.open(target, "wt") as file:
        file.write("x\ny\nz\n")
    assert read_bitext(source, target) == (["a\tb\u2028c", "", "d"], ["x", "y", "z"])
    source.write_text("a\n")
    with pytest.raises(ValueError, match="same number of lines. Received: 1 in .*3 in"):
        read_bitext(source, target)


@pytest.mark.parametrize("column", ["fr", -1, "1.0"])
def test_columns_are_numbers(tmp_path, column):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match="must be numbers from 0. Received"):
        read_bitext(tmp_path / "a.tsv", columns=(0, column))
