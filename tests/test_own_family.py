"""A user's own family and task: what is not in the contract table."""

import json
import pathlib
import subprocess
import sys

import own_family
import pytest
import tensorflow as tf
import tiny
from command_line import run

import zoo

HERE = pathlib.Path(__file__).parent
VOCABULARY = [*tiny.PLAIN, *tiny.GOOD, *tiny.BAD]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """The directory of a bag of embeddings with its tokenizer."""
    directory = tmp_path_factory.mktemp("bag") / "preset"
    tokenizer = own_family.BagTokenizer(VOCABULARY)
    backbone = own_family.Bag(own_family.BagConfig(tokenizer.vocabulary_size))
    backbone.tokenizer = tokenizer
    backbone.save_to_preset(directory)
    return directory


def test_files_fine_tune_evaluate_and_predict(preset, tmp_path):
    queries, _ = tiny.make_texts(40, seed=1)
    texts, labels = tiny.make_texts(40, seed=2)
    lines = ["query\tfirst\tsecond\tbetter"]
    for query, text, label in zip(queries, texts, labels, strict=True):
        other = tiny.BAD[0] if label == "good" else tiny.GOOD[0]
        better = "first" if label == "good" else "second"
        lines.append("\t".join([query, text, other, better]))
    data, model = tmp_path / "pairs.tsv", tmp_path / "ranker.keras"
    data.write_text("\n".join(lines) + "\n", "utf-8")
    options = ["--data", data, "--task", "pair_ranker", "--output", model]
    run("finetune", preset, *options, "--epochs", 10, "--batch-size", 8)
    scores = json.loads(run("evaluate", model, "--data", data).splitlines()[-1])
    assert scores["accuracy"] > 0.8
    ranker = zoo.load_model(model)
    assert isinstance(ranker, own_family.PairRanker)
    (answer,) = ranker.files.answer_rows(ranker, (["film"], ["good"], ["bad"]))
    assert answer["better"] == "first" and answer["margin"] > 0
    # The learning rate is that of the family.
    assert ranker.optimizer.get_config()["learning_rate"]


@pytest.mark.usefixtures("eagerly")
def test_a_head_of_a_user_is_an_option_of_every_task_that_has_heads(preset, tmp_path):
    options = {"labels": ["bad", "good"], "scale": 3.0}
    model = zoo.from_preset(preset, task="text_classifier", head="max", **options)
    same = zoo.TextClassifier(
        model.backbone,
        model.tokenizer,
        options["labels"],
        own_family.MaxHead(scale=3.0),
    )
    assert model.head == same.head and model.options["scale"] == 3.0
    expected = model.predict(["a good film"], verbose=0)
    model.save(tmp_path / "max.keras")
    loaded = zoo.load_model(tmp_path / "max.keras")
    assert loaded.head == model.head
    assert (loaded.predict(["a good film"], verbose=0) == expected).all()
    with pytest.raises(ValueError, match="`scale` needs `head='max'`"):
        zoo.TextClassifier(model.backbone, model.tokenizer, scale=2.0)
    with pytest.raises(ValueError, match="A head has its own options"):
        zoo.TextRegressor(model.backbone, head=own_family.MaxHead(), scale=2.0)


@pytest.mark.slow
def test_an_export_passes_the_doctor(preset, tmp_path):
    ranker = zoo.from_preset(preset, task="pair_ranker")
    version = ranker.export(tmp_path / "ranker")
    found = zoo.serving.ask(
        version, {"query": ["a"], "first": ["good"], "second": ["bad film"]}
    )
    expected = ranker.answer((["a"], ["good"], ["bad film"]))
    assert found["margin"] == pytest.approx(expected["margin"], abs=1e-6)
    assert "passed" in run("doctor", version)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_dataset_has_names_and_rows_are_truncated_once(preset):
    ranker = zoo.from_preset(preset, task="pair_ranker", sequence_length=4)
    columns = [["a good film"], ["it was good"], ["it was bad"]]
    dataset = tf.data.Dataset.from_tensor_slices((tuple(columns), ["first"]))
    scores = ranker.evaluate(dataset.batch(1), return_dict=True, verbose=0)
    assert scores["accuracy"] in (0.0, 1.0)
    rows, cut = ranker.preprocessor.pack(tuple(map(tf.constant, columns)))
    assert int(cut) == 1 and {*rows} >= {"tokens", "other_tokens"}
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels of the model"):
        ranker.evaluate(dataset.map(lambda x, y: (x, "third")).batch(1), verbose=0)


def test_columns_are_checked(preset):
    ranker = zoo.from_preset(preset, task="pair_ranker")
    with pytest.raises(ValueError, match="`query`, `first`, `second`. Received: 2"):
        ranker.predict((["a"], ["b"]))


def test_the_first_word_has_a_place_without_markers(preset):
    tagger = zoo.from_preset(preset, task="token_classifier", labels=["x", "y"])
    (words,) = tagger.tag(["good film !"])
    assert [word["word"] for word in words] == ["good", "film", "!"]


def test_layers_learn_at_rates_by_their_groups(preset):
    backbone = zoo.from_preset(preset, task=None)
    depths = zoo.training.layer_depths(backbone)
    assert depths == {"word_embedding": 0, "mean": 0, "bag_0": 1, "bag_1": 2}


def test_a_name_is_taken_once():
    class Other(own_family.Bag):
        pass

    with pytest.raises(ValueError, match="a family 'bag', of Bag. Received: Other"):
        zoo.register_family(zoo.Family(backbone=Other, tokenizers=()))
    with pytest.raises(TypeError, match="must be a zoo.Family"):
        zoo.register_family(Other)
    with pytest.raises(TypeError, match="subclass of Task"):
        zoo.register_task(Other)
    assert zoo.register_task(own_family.PairRanker) is own_family.PairRanker


@pytest.mark.slow
def test_a_process_that_does_not_know_the_family_says_so(preset):
    code = f"import zoo; zoo.from_preset({str(preset)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=HERE.parent
    )
    assert "`family` must be one of" in done.stderr and "'bag'" in done.stderr
