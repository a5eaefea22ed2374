"""Text files to documents, blocks and an endless, resumable dataset."""

import gzip
import itertools
import lzma

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import (
    block_dataset,
    read_documents,
    split_sentences,
    tokenize_documents,
)
from zoo.data.corpus import tokenize_blocks

TEXT = "first line\n  second line \n\n\nother document\n"
DOCUMENTS = [["first line", "second line"], ["other document"]]


@pytest.mark.parametrize(
    "suffix, opener", [("", open), (".gz", gzip.open), (".xz", lzma.open)]
)
def test_documents_are_parted_by_blank_lines(tmp_path, suffix, opener):
    path = tmp_path / f"a.txt{suffix}"
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(TEXT)
    assert list(read_documents(path)) == DOCUMENTS
    assert list(read_documents([path, str(path)])) == DOCUMENTS * 2


def test_a_corpus_must_be_utf_8(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("caf\xe9".encode("latin-1"))
    with pytest.raises(ValueError, match="UTF-8 text. Received: .*latin.txt"):
        list(read_documents(path))
    with pytest.raises(FileNotFoundError):
        list(read_documents(tmp_path / "absent.txt"))


@pytest.mark.parametrize("lines_per_call", [1, 2, 2048])
def test_documents_are_cut_into_blocks(tokenizer, lines_per_call):
    words = ["good", "bad", "fine", "dull", "film", "plot", "end"]
    ids = [tokenizer.token_to_id(word) for word in words]
    documents = [
        ["good bad fine", "dull film"],  # 5 tokens: a block, and 1 of 4 is dropped
        ["good bad", "fine dull film plot end"],  # 7: a block, and 3 are padded
        ["end"],  # dropped
    ]
    blocks = tokenize_blocks(documents, tokenizer, 4, lines_per_call)
    assert blocks.dtype == np.uint16
    assert blocks.tolist() == [ids[:4], ids[:4], [*ids[4:], tokenizer.pad_id]]


def test_no_documents_are_no_blocks(tokenizer):
    assert tokenize_blocks([], tokenizer, 4).shape == (0, 4)


def make_dataset(tokenizer, start=0, seed=3, blocks=10):
    table = np.arange(5, 5 + blocks)[:, None] + np.zeros((1, 4), int)
    table[0, 2:] = tokenizer.pad_id

    def make_example(x, seed):
        return {**x, "draw": tf.random.stateless_uniform((), seed), "seed": seed}

    return block_dataset(
        table.astype("uint16"), tokenizer, 3, seed, make_example, start
    )


def take(dataset, count):
    return list(itertools.islice(dataset.as_numpy_iterator(), count))


@pytest.mark.parametrize("start", [1, 3, 5, 6])
def test_a_run_that_resumes_sees_what_it_would_have_seen(tokenizer, start):
    whole = take(make_dataset(tokenizer), 8)
    tail = take(make_dataset(tokenizer, start), 8 - start)
    for expected, actual in zip(whole[start:], tail, strict=True):
        for key in expected:
            np.testing.assert_array_equal(actual[key], expected[key], err_msg=key)


def test_epochs_shuffle_all_blocks_and_drop_the_rest(tokenizer):
    steps = take(make_dataset(tokenizer), 6)
    epochs = [
        [row[1] for step in part for row in step["token_ids"]]
        for part in (steps[:3], steps[3:])
    ]
    assert all(len(set(rows)) == 9 for rows in epochs)
    assert epochs[0] != epochs[1]
    assert len({float(step["draw"]) for step in steps}) == 6
    other = take(make_dataset(tokenizer, seed=4), 3)
    assert [row[1] for step in other for row in step["token_ids"]] != epochs[0]


def test_a_block_stands_between_special_tokens(tokenizer):
    rows = np.concatenate([s["token_ids"] for s in take(make_dataset(tokenizer), 9)])
    cls_id, sep_id, pad_id = tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id
    (short, *_) = [row.tolist() for row in rows if row[1] == 5]
    assert short == [cls_id, 5, 5, sep_id, pad_id, pad_id]
    (full, *_) = [row.tolist() for row in rows if row[1] == 6]
    assert full == [cls_id, 6, 6, 6, 6, sep_id]
    first = take(make_dataset(tokenizer), 1)[0]
    np.testing.assert_array_equal(
        first["padding_mask"], first["token_ids"] != tokenizer.pad_id
    )
    assert (first["segment_ids"] == 0).all()


def test_a_corpus_must_fill_a_batch(tokenizer):
    with pytest.raises(ValueError, match="holds 2 blocks, less than one batch of 3"):
        make_dataset(tokenizer, blocks=2)


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
