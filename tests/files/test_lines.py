"""What ends a line, and what is left out."""

import gzip
import io

import pytest

from zoo.files.lines import corpus_lines, read_lines

CONTENT = "\ufeffa\r\n b\rc\u2028d\n\nlast"


@pytest.mark.parametrize(
    ("newline", "lines"),
    [
        (None, ["a", " b", "c\u2028d", "", "last"]),
        ("\n", ["a", " b\rc\u2028d", "", "last"]),
    ],
)
def test_lines_have_no_ends(tmp_path, newline, lines):
    plain, compressed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(CONTENT.encode())
    compressed.write_bytes(gzip.compress(CONTENT.encode()))
    for source in (plain, str(plain), compressed, io.StringIO(CONTENT, newline)):
        assert [*read_lines(source, newline)] == lines


def test_lines_of_a_corpus_have_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(CONTENT.encode())
    texts = ["a\nb", b"c\xff", path]
    lines = ["a\n", " b\n", "c\u2028d\n", "\n", "last"]
    assert [*corpus_lines(texts)] == ["a\nb", "c", *lines]
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a\.txt must be text in UTF-8"):
        [*read_lines(path)]
