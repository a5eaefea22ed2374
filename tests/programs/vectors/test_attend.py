"""From a preset and a text to the page of its attention."""

import keras
import numpy as np
import pytest
import tiny
from command_line import run
from tiny_translator import make_translator

import zoo
from zoo.registry import build_backbone
from zoo.text import (
    ParsingTokenizer,
    linearize,
    list_tokens,
    read_tree,
    train_sentencepiece,
)
from zoo.visualize.pages import escape

TEXT = "a good film ."


@pytest.fixture(scope="module")
def translator():
    """A tiny Transformer whose sides have pieces of their own."""
    config = {"num_decoder_layers": 3, "num_heads": 4}
    options = {"config": config, "generation": {"num_beams": 3}}
    return make_translator(2, separate=True, **options)  # beams differ from greedy


def pieces(tokenizer, ids, target=False):
    """The pieces of ids."""
    return tuple(tokenizer.id_to_token(id, target) for id in ids)


def test_bert_attends_to_its_own_tokens(bert):
    found = zoo.attend(bert, TEXT)
    assert [*found] == ["self"]
    weights, tokens, attended = found["self"]
    assert tokens == attended == ("[CLS]", "a", "good", "film", ".", "[SEP]")
    ids = np.array([[bert.tokenizer.token_to_id(token) for token in tokens]])
    expected = bert.with_outputs("attention_scores")(bert.complete({"token_ids": ids}))
    np.testing.assert_allclose(weights, expected["attention_scores"][0], atol=1e-6)
    task = zoo.TextClassifier(bert, bert.tokenizer, labels=tiny.LABELS)
    found = zoo.visualize.attention(task, TEXT)
    np.testing.assert_array_equal(found["self"].weights, weights)


def test_an_encoder_decoder_has_three_kinds(translator):
    found = zoo.attend(translator, TEXT, "A BAD PLOT")
    tokenizer = translator.tokenizer
    source = pieces(tokenizer, tokenizer([TEXT])[0].numpy()) + ("</s>",)
    written = tokenizer.targets(["A BAD PLOT"])[0].numpy()
    target = ("<s>", *pieces(tokenizer, written, target=True))
    assert "".join(source) == "▁a▁good▁film▁.</s>"
    assert "".join(target) == "<s>▁A▁BAD▁PLOT"
    sides = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    assert {kind: part[1:] for kind, part in found.items()} == sides
    for kind, (weights, rows, columns) in found.items():
        layers = 2 if kind == "encoder" else 3
        assert weights.shape == (layers, 4, len(rows), len(columns))
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    decoder = found["decoder"].weights
    assert not np.triu(decoder, 1).any() and np.triu(found["encoder"].weights, 1).any()


@pytest.mark.slow
def test_the_target_is_by_default_the_greedy_translation(translator):
    found = zoo.attend(translator, TEXT)
    tokenizer, tokens = translator.tokenizer, found["cross"].tokens
    numbers = {tokenizer.id_to_token(i, target=True): i for i in range(320)}
    read = np.array([[numbers[token] for token in tokens]])
    assert tokens[0] == "<s>" and 1 < read.size <= 48
    inputs = translator.preprocessor(([TEXT],))
    logits = np.asarray(translator({**inputs, "decoder_token_ids": read}))[0]
    np.testing.assert_array_equal(logits.argmax(-1)[:-1], read[0, 1:])
    writer = translator.writer
    beams = writer.generate_tokens(inputs, writer.generation_options())
    beams = np.asarray(beams[0])[0, 0, : read.size - 1]  # the default of this task
    assert not np.array_equal(beams, read[0, 1:])


@pytest.mark.slow
def test_the_command_writes_the_page(bert, translator, tmp_path):
    bert.save_to_preset(tmp_path / "bert")
    translator.backbone.save_to_preset(tmp_path / "backbone")
    translator.save(tmp_path / "translator.keras")
    page = tmp_path / "page.html"
    for arguments, kinds in (
        (["bert", TEXT], {"self"}),
        (["backbone", TEXT, "a plot"], {"encoder", "decoder", "cross"}),
        (["backbone", TEXT], {"encoder", "decoder", "cross"}),
        (["translator.keras", TEXT], {"encoder", "decoder", "cross"}),
    ):
        preset = tmp_path / arguments[0]
        output = run("attend", preset, *arguments[1:], "--output", page)
        assert output.strip().endswith(str(page))
        text = page.read_text("utf-8")
        assert "<title>Attention: a good film .</title>" in text
        assert f">{arguments[0]}</p>" in text
        for kind in ("self", "encoder", "decoder", "cross"):
            assert (f'"name": "{kind}"' in text) == (kind in kinds)
        page.unlink()


def test_the_command_draws_a_picture(bert, tmp_path):
    bert.save_to_preset(tmp_path / "bert")
    command = ["attend", tmp_path / "bert", TEXT, "--output"]
    picture = tmp_path / "a.svg"
    run(*command, picture, "--layer", 1, "--head", 0)
    text = picture.read_text("utf-8")
    assert ">Attention: a good film ., layer 1, head 0</text>" in text
    for name, options, message in (
        ("a.svg", ("--kind", "x"), "must be one of 'self'. Received"),
        ("page", (), "must end in .html, .svg"),
        ("a.html", ("--layer", 0), "Only a picture has one kind"),
    ):
        output = run(*command, tmp_path / name, *options, code=1)
        assert message in " ".join(output.split())


def test_models_and_texts_that_do_not_fit(bert, translator):
    elmo = build_backbone("elmo", tiny.ELMO_CONFIG)
    bare = build_backbone("bert", tiny.CONFIG)
    for model, texts, message in (
        (elmo, [TEXT], "must have attention. Received: .* 'elmo'"),
        (bare, [TEXT], "must have a tokenizer"),
        (bert, [TEXT, TEXT], "`target` needs a model with an encoder and a decoder"),
        (bert, ["a " * 31], "`text` must have at most 32 tokens"),
        (translator, [TEXT, "A " * 48], "at most 47 tokens. Received: 48"),
        (translator.backbone, [TEXT], "Give a target, or load .* task='translator'"),
    ):
        with pytest.raises(ValueError, match=message):
            zoo.attend(model, *texts)
    with pytest.raises(ValueError, match=r"`id` must be in \[0, 320\)"):
        translator.tokenizer.id_to_token(320, target=True)


@pytest.mark.slow
def test_a_parser_shows_the_tokens_of_its_trees():
    trees = ["(S (NP (DT the) (NN film)) (VP (VBD was) (ADJP (JJ good))))"]
    parsed = [read_tree(tree, clean=True) for tree in trees]
    model = train_sentencepiece(["the film was good"] * 8, 290)
    tokenizer = ParsingTokenizer(model, list_tokens(parsed, "numbered"), "numbered")
    keras.utils.set_random_seed(1)
    sizes = {
        "vocabulary_size": tokenizer.vocabulary_size,
        "target_vocabulary_size": tokenizer.target_vocabulary_size,
        "max_sequence_length": 64,
    }
    backbone = build_backbone("transformer", {**tiny.TRANSFORMER_CONFIG, **sizes})
    parser = zoo.Parser(backbone, tokenizer)
    text = "the film was good"
    linear = linearize(parsed[0], "numbered")
    found = zoo.attend(parser, text, trees[0])["cross"]
    assert found.tokens == ("<s>", *linear)
    tree = parser.parse([text], num_beams=1)[0]
    found = zoo.attend(parser, text)["cross"]
    written = tuple(linearize(read_tree(tree), "numbered"))
    assert found.tokens[1:] == written[: len(found.tokens) - 1]


def test_long_titles_are_cut(bert, tmp_path):
    page = tmp_path / "a.html"
    for text, expected in (
        ("好" * 20, "Attention: " + "好" * 20),
        ("x" * 90 + " \n end", "Attention: " + "x" * 68 + "…"),
    ):
        zoo.attend(bert, text, output=page)
        assert f"<title>{escape(expected)}</title>" in page.read_text("utf-8")


def test_a_file_must_hold_one_model(tmp_path):
    x = keras.Input((2,))
    keras.Model(x, x).save(tmp_path / "a.keras")
    with pytest.raises(ValueError, match="one backbone or task. Received: Functional"):
        zoo.attend(tmp_path / "a.keras", "a film")
