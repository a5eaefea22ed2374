"""The parser: from sentences to trees, in Python and in an exported graph."""

import concurrent.futures
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.registry import build_backbone
from zoo.text import (
    ParsingTokenizer,
    find_leaves,
    linearize,
    list_tokens,
    read_tree,
    to_tree,
    train_sentencepiece,
    write_tree,
)
from zoo.visualize import spans_page

TREES = [
    "(S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .))",
    "( (S (NP-SBJ (DT A) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))) (. .)))",
    "(S (NP (PRP She)) (VP (VBZ runs) (PRN (-LRB- -LRB-) (NP (NN home)) "
    "(-RRB- -RRB-))))",
    "(TOP (NP (NN Home)) (. !))",
    "(S (NP (DT The) (NN dog)) (VP (VBZ runs) (PP (IN to) (NP (NN home)))) (. .))",
    "(S (NP (PRP She)) (VP (VBZ sees) (NP (-NONE- *)) (NP (DT a) (NN home))) (. .))",
]
CLEAN = [read_tree(tree, clean=True) for tree in TREES]
SENTENCES = [[word for _, word in find_leaves(tree)] for tree in CLEAN]
TEXTS = [" ".join(words) for words in SENTENCES]
OTHERS = ["", "   ", "cat", "( ( )", "The\u00a0caf\u00e9 sits :-) ,"]
OTHERS += ["A dog sees the cat . " * 6]
CONFIG = {
    **tiny.TRANSFORMER_CONFIG,
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers"), 1),
    **{"vocabulary_size": 362, "max_sequence_length": 64},
}
KINDS = ["tensor2tensor", "vinyals", "numbered"]


@pytest.fixture(scope="module")
def model_file():
    """A small SentencePiece model."""
    return train_sentencepiece(TEXTS * 3, 330)


@pytest.fixture(scope="module")
def make_parser(model_file):
    """Function of options: a tiny parser, the same at every call."""

    def make(kind="tensor2tensor", seed=3, **options):
        tokenizer = ParsingTokenizer(model_file, list_tokens(CLEAN, kind), kind)
        size = tokenizer.target_vocabulary_size
        keras.utils.set_random_seed(seed)
        config = {**CONFIG, "target_vocabulary_size": size}
        backbone = build_backbone("transformer", config)
        for variable in backbone.variables:
            if "kernel" in variable.path or "embeddings" in variable.path:
                drawn = keras.random.normal(variable.shape, 0.0, 0.3, seed=seed)
                variable.assign(drawn)
        return zoo.Parser(backbone, tokenizer, **options)

    return make


@pytest.fixture(scope="module")
def parser(make_parser):
    """A parser with random weights."""
    return make_parser()


def words_of(text):
    return [word for _, word in find_leaves(read_tree(text))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("tensor2tensor", {}),
        ("tensor2tensor", {"num_beams": 3, "num_return": 3}),
        ("tensor2tensor", {"temperature": 5.0, "num_return": 2}),
        ("vinyals", {"num_beams": 2}),
    ],
    ids=str,
)
def test_every_answer_is_a_tree_over_the_words(make_parser, kind, options):
    parser = make_parser(kind, generation={"max_new_tokens": 40})
    texts = [*TEXTS, *OTHERS]
    for text, found in zip(texts, parser.parse(texts, **options), strict=True):
        for tree in found if "num_return" in options else [found]:
            assert words_of(tree) == text.split(), tree
            assert write_tree(read_tree(tree)) == tree
            if not text.split():
                assert tree == "(TOP)"


@pytest.mark.slow
def test_brackets_close_before_the_limit(parser):
    for limit in (8, 11):
        (tree,) = parser.parse(["The cat sits on it ."], max_new_tokens=limit)
        assert "(XX " not in tree
        assert len(linearize(read_tree(tree))) < limit
    (flat,) = parser.parse(["The cat sits on it ."], max_new_tokens=4)
    assert flat.startswith("(TOP (") and flat.count("(XX ") == 2


def test_a_row_does_not_depend_on_the_others(parser):
    texts = [*TEXTS, *OTHERS]
    options = {"num_beams": 2, "return_scores": True, "max_new_tokens": 50}
    expected, scores = parser.parse(texts, **options)
    found, others = parser.parse(texts, 1, **options)
    assert found == expected
    assert [words_of(tree) for tree in found] == [text.split() for text in texts]
    np.testing.assert_allclose(others, scores, atol=1e-4)
    assert parser.parse([]) == []
    rows = [*parser.files.answer_rows(parser, texts)]
    marked, spans = parser.files.marked_texts(parser, texts, rows)
    assert marked == [" ".join(text.split()) for text in texts]
    ends = [own[0]["end"] if own else 0 for own in spans]
    assert ends == list(map(len, marked))
    assert spans_page(marked, spans)


@pytest.mark.usefixtures("eagerly")
def test_sentences_are_strings_or_lists_of_words(parser):
    words = [[*SENTENCES[0], "of\u00a0it"], ["(", ")"]]
    found = [words_of(tree) for tree in parser.parse(words, max_new_tokens=12)]
    assert found == [[*SENTENCES[0], "of_it"], ["(", ")"]]
    with pytest.raises(TypeError, match="one string"):
        parser.parse("The cat sits .")


@pytest.mark.slow
def test_long_sentences_have_trees(make_parser):
    parser = make_parser(sequence_length=64)
    text = "the cat ( " * 170
    with pytest.warns(UserWarning, match="1 of 1 texts are longer than 64 tokens"):
        (tree,) = parser.parse([text])
    assert words_of(tree) == text.split()


def test_targets_are_linear_trees(parser):
    x, y, weight = next(iter(parser.batches(TEXTS, TREES, batch_size=6)))
    read = x["decoder_token_ids"].numpy()
    tokenizer = parser.tokenizer
    assert (read[:, 0] == tokenizer.start_id).all()
    np.testing.assert_array_equal(
        np.where(y[:, :-1] == tokenizer.end_id, tokenizer.pad_id, y[:, :-1]),
        read[:, 1:],
    )
    found = [row.decode().split() for row in tokenizer.detokenize(y).numpy()]
    expected = [linearize(tree) for tree in CLEAN]
    assert sorted(found) == sorted(expected)
    lengths = sorted(len(tokens) + 1 for tokens in expected)
    assert sorted(weight.numpy().sum(axis=1).tolist()) == lengths


def test_a_dataset_has_the_same_batches(parser):
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, TREES)).batch(6)
    ((x, y, weight),) = parser.batches(dataset)
    found = [row.decode().split() for row in parser.tokenizer.detokenize(y).numpy()]
    assert found == [linearize(tree) for tree in CLEAN]
    assert weight.numpy().sum() == sum(len(tokens) + 1 for tokens in found)


@pytest.mark.slow
def test_training_finds_the_trees(make_parser, tmp_path):
    parser = make_parser(label_smoothing=0.0)
    parser.compile(zoo.training.AdamW(1e-2))
    parser.fit(SENTENCES, TREES, epochs=60, batch_size=6, verbose=0)
    expected = [write_tree(tree) for tree in CLEAN]
    assert parser.parse(TEXTS, num_beams=4) == expected
    scores = parser.files.measure(parser, TEXTS, TREES)
    assert scores["f1"] == scores["exact_match"] == 1.0 and scores["errors"] == 0
    assert scores["accuracy"] == 1.0
    parser.save_to_preset(tmp_path / "preset")
    copy = zoo.from_preset(tmp_path / "preset")
    assert type(copy) is zoo.Parser and copy.parse(TEXTS) == expected
    assert copy.tokenizer.get_config() == parser.tokenizer.get_config()


@pytest.mark.slow
def test_an_export_passes_the_doctor_and_answers_as_the_parser_does(
    make_parser, tmp_path
):
    parser = make_parser(generation={"num_beams": 2, "max_new_tokens": 40})
    version = parser.export(tmp_path / "model")
    texts = np.array([*TEXTS, *OTHERS], object)
    answer = zoo.serving.ask(version, texts)
    expected, scores = parser.parse(texts.tolist(), return_scores=True)
    assert answer["tree"].tolist() == expected
    np.testing.assert_allclose(answer["score"], scores, atol=1e-4)
    assert parser.answer(texts.tolist())["tree"].tolist() == expected
    failed = [found for found in zoo.serving.diagnose(version) if not found.passed]
    assert not failed, zoo.serving.format_findings(failed)
    signature = tf.saved_model.load(str(version)).signatures["serving_default"]
    batches = [texts[i % 5 :][: 1 + i % 4].tolist() for i in range(16)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda rows: signature(tf.constant(rows)), batches)]
    for batch, answer in zip(batches, found, strict=True):
        trees = [tree.decode() for tree in answer["tree"].numpy()]
        assert trees == parser.parse(batch)


def test_a_dataset_of_trees_of_other_sentences(make_parser):
    parser = make_parser()
    parser.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    right, wrong = (
        tf.data.Dataset.from_tensor_slices((TEXTS, trees)).batch(3)
        for trees in (TREES, TREES[1:] + TREES[:1])
    )
    parser.evaluate(right, verbose=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a leaf for every word"):
        parser.evaluate(wrong, verbose=0)


def test_wrong_arguments_raise_errors(parser, model_file):
    few = ParsingTokenizer(model_file, ["S", "/S", "NN"])
    fit, make = parser.fit, functools.partial(ParsingTokenizer, model_file)
    for call, message in (
        (lambda: fit(["The cat"], TREES[:1]), "for every word. Received: 4 leaves "),
        (lambda: fit(TEXTS[:1], ["(S (NN a)"]), "Every bracket of a tree must close"),
        (lambda: fit(TEXTS[:1], [3]), "`y` must be a list with one text for each"),
        (lambda: zoo.Parser(parser.backbone, few), "the tokens of the tokenizer's"),
        (lambda: make(["S", "/S"]), "must have the tag of a leaf. Received: "),
        (lambda: make(["S"], "other"), "`kind` must be one of"),
        (lambda: make(["S", "/S", "NN", "#0"], "numbered"), "numbers from #0 to #31"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.shown("tensor2tensor-200")
@pytest.mark.parametrize("rows", [200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_tokens_give_the_tree_of_the_repair(make_parser, kind, rows):
    """Random ids: the graph and `zoo.text.to_tree` make the same tree."""
    tokenizer = make_parser(kind).tokenizer
    draw = np.random.default_rng(5)
    size = tokenizer.target_vocabulary_size
    ids = draw.integers(0, size, (rows, 16)).astype("int32")
    ids = np.where(draw.random(ids.shape) < 0.05, tokenizer.end_id, ids)
    words = np.array(["a", "(", ":-)", "\u00e9"])
    texts = [" ".join(draw.choice(words, draw.integers(0, 9))) for _ in range(rows)]
    write = tf.function(tokenizer.write_trees)
    found = write(tf.constant(ids), tf.constant(texts)).numpy()
    linear = tokenizer.detokenize(tf.constant(ids)).numpy()
    for text, tokens, tree in zip(texts, linear, found, strict=True):
        tokens = tokens.decode().split()
        expected = to_tree(tokens, text.split(), kind, tokenizer.labels)
        assert tree.decode() == write_tree(expected), tokens


def test_random_walks_in_the_grammar_are_trees(make_parser):
    tokenizer = make_parser().tokenizer
    grammar, rows = tokenizer.grammar, 300
    words = np.random.default_rng(1).integers(0, 14, rows).astype("int32")

    def step(tokens, states):
        shape, n = (len(tokens), tokenizer.target_vocabulary_size), states["n"]
        return tf.random.stateless_normal(shape, (n, 7)), {"n": n + 1}

    for limit in (16, 60):
        limits = tf.fill([rows], limit)
        walk, states = grammar.constrain(step, {"n": 0}, tf.constant(words), limits)
        last, written = tf.fill([rows], tokenizer.start_id), []
        for _ in range(limit):
            logits, states = walk(last[:, None], states)
            last = tf.argmax(logits, axis=1, output_type=tf.int32)
            written.append(last)
        ids = tf.stack(written, axis=1)
        assert (ids == tokenizer.end_id).numpy().any(axis=1).all()
        for count, text in zip(words, tokenizer.detokenize(ids).numpy(), strict=True):
            tokens = text.decode().split()
            tree = to_tree(tokens, ["w"] * count, labels=tokenizer.labels)
            assert linearize(tree) == tokens
