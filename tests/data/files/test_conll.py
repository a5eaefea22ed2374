"""Columns of words and tags."""

import pytest

from zoo.data import read_conll, read_texts, write_conll
from zoo.evaluation import find_spans

BLANK = ("", " ", "\u00a0")  # tags that are none
WRONG_FIELDS = ("a b", "a\tb", "", "\u00a0")
NER = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O


Peter NNP I-NP I-PER"""
ONTONOTES = (
    "#begin document (x); part 000\nEU B\nis O\n-DOCSTART- -X- O O\na O\n\n"
    "#end document\n\n-DOCSTART-\nb O"
)
NEW = "# newdoc id = x\na\tX\n\n# newdoc\nb\tX\n"
NEW_COLUMNS = {"word": 0, "tag": 1, "documents": True}
TABS = "# sent_id = 1\n# text = a b\na b\tNOUN\r\n#\tSYM\n\n"
COLUMNS = [("1-2", "don't", "_"), ("1", "do", "AUX"), ("2", "n't", "PART")]
COLUMNS += [("2.1", "go", "VERB"), ("3", "1-2", "NUM")]
LINES = ["\t".join([n, word, "_", tag, *"_" * 6]) for n, word, tag in COLUMNS]
UNIVERSAL = "\n".join(["# text = x", "#text = y z", *LINES])
# Name: content, suffix, options, sentences of words and tags.
READ = {
    "CoNLL 2003": (NER, ".txt", {}, ["EU/I-ORG, rejects/O", "Peter/I-PER"]),
    "another column": (NER, ".txt", {"tag": 1}, ["EU/NNP, rejects/VBZ", "Peter/NNP"]),
    "known columns": ("a X O\nb X\n", ".txt", {"tag": 1}, ["a/X, b/X"]),
    "columns of each sentence": ("a O\n\nb X O\n", ".txt", {}, ["a/O", "b/O"]),
    "tabs and remarks": (TABS, ".tsv", {}, ["a b/NOUN, #/SYM"]),
    "empty": ("", ".tsv", {}, []),
    "lines of documents": (ONTONOTES, ".txt", {}, ["EU/B, is/O", "a/O", "b/O"]),
    "universal": (UNIVERSAL, ".conllu", {}, ["do/AUX, n't/PART, 1-2/NUM"]),
    "universal, a column": (UNIVERSAL, ".conllu", {"tag": "0"}, ["do/1, n't/2, 1-2/3"]),
    "universal documents": (NEW, ".conllu", NEW_COLUMNS, ["a/X", "b/X"]),
    "other spaces": ("10\u00a0000  CD O \n", ".txt", {}, ["10\u00a0000/O"]),
    "spaces in fields": ("a b\tNN \n", ".tsv", {}, ["a b/NN"]),
}


@pytest.mark.parametrize("case", READ)
def test_a_file_is_read(tmp_path, case):
    content, suffix, options, expected = READ[case]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content.encode())
    words, tags = read_conll(path, **options)
    rows = (zip(*row, strict=True) for row in zip(words, tags, strict=True))
    assert [", ".join(map("/".join, row)) for row in rows] == expected


DOCUMENTS = """-DOCSTART- -X- O

EU I-ORG

UN I-ORG
in O
-DOCSTART-

Rome I-LOC

Paris B-PER

Paris I-LOC
"""


def test_sentences_of_a_document_are_joined(tmp_path):
    """At the end of a sentence a span ends, also in the tags of IOB1."""
    path = tmp_path / "a.txt"
    path.write_text(DOCUMENTS)
    words, tags = read_conll(path, documents=True)
    assert words == [["EU", "UN", "in"], ["Rome", "Paris", "Paris"]]
    assert tags == [["I-ORG", "B-ORG", "O"], ["I-LOC", "B-PER", "I-LOC"]]
    apart = read_conll(path)[1]
    joined, spans = (sum(map(len, map(find_spans, rows))) for rows in (tags, apart))
    assert joined == spans == 5
    path.write_text("b O\n\n" + DOCUMENTS)
    assert read_conll(path, documents=True)[0][0] == ["b"]
    path.write_text("a O\n")
    with pytest.raises(ValueError, match="lines such as -DOCSTART-"):
        read_conll(path, documents=True)


@pytest.mark.parametrize("name", ["a.conll", "a.conll.gz", "a.conll.xz"])
def test_any_word_and_any_compression(tmp_path, name):
    words = [["#", "1", "seed"], ["#"], ["10\u00a0000"]]
    tags = [["O"] * 3, ["O"], ["B-X"]]
    write_conll(tmp_path / name, words, tags)
    assert read_conll(tmp_path / name) == (words, tags)


def test_what_is_written_is_read_back(tmp_path):
    words, tags = [["EU", "rejects"], ["Peter"]], [["I-ORG", "O"], ["I-PER"]]
    found = [["O", "O"], ["I-PER"]]
    write_conll(tmp_path / "a.txt", words, tags, found)
    assert read_conll(tmp_path / "a.txt") == (words, found)
    assert read_conll(tmp_path / "a.txt", tag=1) == (words, tags)
    assert (tmp_path / "a.txt").read_text().endswith("Peter I-PER I-PER\n\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a O\nb\n", "1 columns in line 2.*and 2 in the first"),
        ("a X O\nb X\n", "2 columns in line 2.*and 3 in the first"),
        ("a O\nNew York O\n", "3 columns in line 2.*and 2 in the first"),
        ("b\n", "1 columns in line 1"),
        *((f"b\tO\na\t{tag}\n", "a tag.* without in line 2") for tag in BLANK),
    ],
)
def test_bad_lines_are_refused(tmp_path, content, message):
    (tmp_path / "a.txt").write_text(content, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_conll(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["a"], ["O", "O"], r"lengths \[1, 2\] in sentence 0"),
        *(([word], ["O"], "not be empty or contain spaces") for word in WRONG_FIELDS),
    ],
)
def test_bad_fields_are_not_written(tmp_path, words, tags, message):
    with pytest.raises(ValueError, match=message):
        write_conll(tmp_path / "b.txt", [words], [tags])
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize(
    "lines",
    [
        ("a\tO", "\tO", " \tO", "\u00a0\tO", "b\tI-X"),
        ("a O", " O", "  O", "\u2028 O", "b I-X"),
        ("a NN B-NP O", " NN B-NP O", "  . O O", "\u00a0 NN O O", "b NN O I-X"),
    ],
)
def test_lines_without_a_word_are_listed_or_skipped(tmp_path, lines):
    path = tmp_path / "a.txt"
    path.write_text("\n".join([*lines, "", lines[0], *lines[1:2] * 30]), "utf-8")
    with pytest.raises(ValueError) as error:
        read_conll(path)
    assert "a.txt has 33 lines without a word: 2, 3, 4, 8, 9, " in str(error.value)
    assert ", 24, .... Fill them in, or use `skip_empty" in str(error.value)
    with pytest.warns(UserWarning, match="has 33 lines without a word: 2, 3.* skipped"):
        found = read_conll(path, skip_empty_words=True)
    assert found == ([["a", "b"], ["a"]], [["O", "I-X"], ["O"]])
    path.write_text("\n".join([lines[0], "", *lines[1:2] * 2]), "utf-8")
    with pytest.warns(UserWarning, match="has 2 lines"):
        assert list(read_texts(path, "words")) == ["a"]
