"""Text files to documents, sentences and token ids."""

import gzip
import lzma

import numpy as np
import pytest

from zoo.data import read_documents, split_sentences, tokenize_documents

TEXT = "first line\n  second line \n\n\nother document\n"
DOCUMENTS = [["first line", "second line"], ["other document"]]


@pytest.mark.parametrize(
    "suffix, opener", [("", open), (".gz", gzip.open), (".xz", lzma.open)]
)
def test_documents_are_separated_by_blank_lines(tmp_path, suffix, opener):
    path = tmp_path / f"a.txt{suffix}"
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(TEXT)
    assert list(read_documents(path)) == DOCUMENTS
    assert list(read_documents([path, str(path)])) == DOCUMENTS * 2


def test_wikitext_is_read_as_articles_of_running_text(tmp_path):
    path = tmp_path / "wiki.valid.tokens.gz"
    text = (
        " \n = Title of one = \n \n A first @-@ class <unk> of 1 @,@ 000 at 0 @.@ 5 "
        "= 1 . \n \n = = Section = = \n \n Its end . \n = Another = \n Short . "
    )
    path.write_bytes(gzip.compress(text.encode()))
    first = ["A first-class [UNK] of 1,000 at 0.5 = 1 .", "Its end ."]
    assert list(read_documents(path)) == [first, ["Short ."]]


@pytest.mark.parametrize("lines_per_call", [1, 3, 2048])
def test_documents_keep_the_bounds_of_their_lines(tokenizer, lines_per_call):
    documents = [["good film", "", "bad"], [""], ["dull plot end"]]
    found = list(tokenize_documents(documents, tokenizer, lines_per_call))
    ids = [[tokenizer.token_to_id(w) for w in " ".join(d).split()] for d in documents]
    assert [tokens.tolist() for tokens, _ in found] == ids
    assert [offsets.tolist() for _, offsets in found] == [[0, 2, 3], [0], [0, 3]]
    assert all(tokens.dtype == np.uint16 for tokens, _ in found)


@pytest.mark.parametrize(
    "line, sentences",
    [
        ("", []),
        ("  one only ", ["one only"]),
        ("He slept. She woke!  Why?", ["He slept.", "She woke!", "Why?"]),
        ('"Go." He went.', ['"Go."', "He went."]),
        (
            "Mr. J. Bunce of St. Ives, Esq. Yes.",
            ["Mr. J. Bunce of St. Ives, Esq. Yes."],
        ),
        ("No capital. so no end. 7 is one.", ["No capital. so no end.", "7 is one."]),
        ("What?! (He said.) Ébloui.", ["What?!", "(He said.)", "Ébloui."]),
        ("A" * 10_000 + ". B", ["A" * 10_000 + ".", "B"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(line, sentences):
    assert split_sentences(line) == sentences
