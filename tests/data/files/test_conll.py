"""Columns of words and tags."""

import gzip

import pytest

from zoo.data import read_conll, read_texts, write_conll
from zoo.evaluation import find_spans

NER = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O


Peter NNP I-NP I-PER"""


def test_conll_2003(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.write(NER)
    words, tags = read_conll(tmp_path / "a.gz")
    assert words == [["EU", "rejects"], ["Peter"]]
    assert tags == [["I-ORG", "O"], ["I-PER"]]
    assert read_conll(tmp_path / "a.gz", tag=1)[1] == [["NNP", "VBZ"], ["NNP"]]


def test_tabs_remarks_and_words_with_spaces(tmp_path):
    text = "# sent_id = 1\n# text = a b\na b\tNOUN\r\n#\tSYM\n\n"
    (tmp_path / "a.tsv").write_text(text)
    assert read_conll(tmp_path / "a.tsv") == ([["a b", "#"]], [["NOUN", "SYM"]])
    (tmp_path / "empty.tsv").write_text("")
    assert read_conll(tmp_path / "empty.tsv") == ([], [])


def test_document_lines_end_sentences(tmp_path):
    text = "#begin document (x); part 000\nEU B\nis O\n-DOCSTART- -X- O O\na O\n"
    (tmp_path / "a.txt").write_text(text + "\n#end document\n\n-DOCSTART-\nb O")
    words, tags = read_conll(tmp_path / "a.txt")
    assert words == [["EU", "is"], ["a"], ["b"]] and tags[0] == ["B", "O"]


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
    (tmp_path / "a.txt").write_text(DOCUMENTS)
    words, tags = read_conll(tmp_path / "a.txt", documents=True)
    assert words == [["EU", "UN", "in"], ["Rome", "Paris", "Paris"]]
    assert tags == [["I-ORG", "B-ORG", "O"], ["I-LOC", "B-PER", "I-LOC"]]
    _, apart = read_conll(tmp_path / "a.txt")
    spans = [span for row in apart for span in find_spans(row)]
    assert len(spans) == sum(len(find_spans(row)) for row in tags) == 5
    (tmp_path / "a.conllu").write_text("# newdoc id = x\na\tX\n\n# newdoc\nb\tX\n")
    found = read_conll(tmp_path / "a.conllu", 0, 1, documents=True)
    assert found == ([["a"], ["b"]], [["X"], ["X"]])
    before = "b O\n\n" + DOCUMENTS
    (tmp_path / "a.txt").write_text(before)
    assert read_conll(tmp_path / "a.txt", documents=True)[0][0] == ["b"]
    (tmp_path / "a.txt").write_text("a O\n")
    with pytest.raises(ValueError, match="lines such as -DOCSTART-"):
        read_conll(tmp_path / "a.txt", documents=True)


def test_universal_dependencies(tmp_path):
    rows = [("1-2", "don't", "_"), ("1", "do", "AUX"), ("2", "n't", "PART")]
    rows += [("2.1", "go", "VERB"), ("3", "1-2", "NUM")]
    lines = ["\t".join([n, word, "_", tag, *"_" * 6]) for n, word, tag in rows]
    (tmp_path / "a.conllu").write_text("# text = x\n#text = y z\n" + "\n".join(lines))
    found = read_conll(tmp_path / "a.conllu", word=1, tag=3)
    assert read_conll(tmp_path / "a.conllu") == found
    assert read_conll(tmp_path / "a.conllu", tag=0)[0] == found[0]
    assert found == ([["do", "n't", "1-2"]], [["AUX", "PART", "NUM"]])


def test_other_space_characters_belong_to_words(tmp_path):
    (tmp_path / "a.txt").write_text("10\u00a0000  CD O \n", "utf-8")
    assert read_conll(tmp_path / "a.txt") == ([["10\u00a0000"]], [["O"]])
    (tmp_path / "a.tsv").write_text("a b\tNN \n", "utf-8")
    assert read_conll(tmp_path / "a.tsv") == ([["a b"]], [["NN"]])
    (tmp_path / "a.txt").write_bytes("a\u00f1o NC O\n".encode("latin-1"))
    with pytest.raises(ValueError, match="a.txt must be a complete file of text"):
        read_conll(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.conll", "a.conll.gz", "a.conll.xz"])
def test_any_word_and_any_compression(tmp_path, name):
    words, tags = [["#", "1", "seed"], ["#"], ["a"]], [["O"] * 3, ["O"], ["B-X"]]
    write_conll(tmp_path / name, words, tags)
    assert read_conll(tmp_path / name) == (words, tags)
    content = (tmp_path / name).read_bytes()
    if name.endswith("z"):
        (tmp_path / name).write_bytes(content[:-6])
        with pytest.raises(ValueError, match=f"{name} must be a complete file"):
            read_conll(tmp_path / name)
        (tmp_path / name).write_bytes(b"no archive")
        with pytest.raises(ValueError, match=f"{name} must be a complete file"):
            read_conll(tmp_path / name)


def test_what_is_written_is_read_back(tmp_path):
    words, tags = [["EU", "rejects"], ["Peter"]], [["I-ORG", "O"], ["I-PER"]]
    found = [["O", "O"], ["I-PER"]]
    write_conll(tmp_path / "a.txt", words, tags, found)
    assert read_conll(tmp_path / "a.txt") == (words, found)
    assert read_conll(tmp_path / "a.txt", tag=1) == (words, tags)
    assert (tmp_path / "a.txt").read_text().endswith("Peter I-PER I-PER\n\n")


def test_bad_lines_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        read_conll(tmp_path / "none")
    for lines in ("a O\nb\n", "a X O\nb X\n", "a O\nNew York O\n"):
        (tmp_path / "a.txt").write_text(lines)
        with pytest.raises(ValueError, match="[123] columns in line 2.*in the first"):
            read_conll(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("a X O\nb X\n")  # the columns 0 and 1 are known
    assert read_conll(tmp_path / "a.txt", tag=1) == ([["a", "b"]], [["X", "X"]])
    (tmp_path / "a.txt").write_text("a O\n\nb X O\n")  # another sentence
    assert read_conll(tmp_path / "a.txt")[1] == [["O"], ["O"]]
    with pytest.raises(ValueError, match="1 columns in line 1"):
        (tmp_path / "a.txt").write_text("b\n")
        read_conll(tmp_path / "a.txt")
    for line in ("a\t", "a\t\u00a0", "a\t "):
        (tmp_path / "a.txt").write_text(f"b\tO\n{line}\n", "utf-8")
        with pytest.raises(ValueError, match="have a tag.* without in line 2"):
            read_conll(tmp_path / "a.txt")
    for words, tags in (([["a b"]], [["O"]]), ([[""]], [["O"]])):
        with pytest.raises(ValueError, match="contain spaces"):
            write_conll(tmp_path / "b.txt", words, tags)
    with pytest.raises(ValueError, match="lengths \\[1, 2\\] in sentence 0"):
        write_conll(tmp_path / "b.txt", [["a"]], [["O", "O"]])
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


def test_words_with_other_spaces_are_written_as_they_were_read(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("10\u00a0000 B-X\n", "utf-8")
    words, tags = read_conll(path)
    write_conll(tmp_path / "b.conll", words, tags)
    assert (words, tags) == ([["10\u00a0000"]], [["B-X"]])
    assert read_conll(tmp_path / "b.conll") == (words, tags)
    for field in ("a b", "a\tb", "", "\u00a0"):
        with pytest.raises(ValueError, match="must not be empty or contain spaces"):
            write_conll(tmp_path / "c.conll", [[field]], [["O"]])
