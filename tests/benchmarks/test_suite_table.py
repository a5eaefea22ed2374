"""The tables of the tasks: training with transformers, cells and rows."""

import itertools
import json

import numpy as np
import pytest
import tiny
from places import ROOT

import zoo
from benchmarks.tables import suite
from zoo.text import WordPieceTokenizer

TEXTS, LABELS = tiny.make_texts(40, seed=5)
NUMBERS = [float(label == "good") for label in LABELS]
ORDERS = [" ".join(words) for words in itertools.permutations(tiny.GOOD[:4])]
PLACES = np.array([[0, len(text.split()[0])] for text in ORDERS], "int32")
PLACES[::3] = -1
TAGS = [["B-A" if w in tiny.GOOD else "O" for w in text.split()] for text in TEXTS]
CLASS_NAMES = {"id2label": {0: "bad", 1: "good"}}
TAG_NAMES = {"id2label": {0: "B-A", 1: "O"}}
CHOICES = (TEXTS, ["good"] * 40, ["bad"] * 40)
RIGHT = [int(number) for number in NUMBERS]
# A name to the class of transformers, texts, labels, and options of both libraries.
CASES = {
    "classes": ("SequenceClassification", TEXTS, LABELS, CLASS_NAMES, {}),
    "numbers": ("SequenceClassification", TEXTS, NUMBERS, {"num_labels": 1}, {}),
    "tags": ("TokenClassification", TEXTS, TAGS, TAG_NAMES, {}),
    "choices": ("MultipleChoice", CHOICES, RIGHT, {}, {"num_choices": 2}),
    # Equally long texts: the loss of transformers also counts padding.
    "answers": ("QuestionAnswering", (["how was it"] * 24, ORDERS), PLACES, {}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_both_libraries_learn_the_same(case, tmp_path):
    """Without dropout, and from one head, only rounding differs."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from benchmarks.tables.transformers_training import fit_with_transformers

    kind, x, y, labels, options = CASES[case]
    if case != "answers":  # whose head has no dropout
        options = {"head_dropout": 0.0, **options}
    torch.manual_seed(0)
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    options_of_theirs = {
        "max_position_embeddings": 64,
        "initializer_range": 0.1,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    config = tiny.transformers_config(**options_of_theirs, **labels)
    getattr(transformers, f"BertFor{kind}")(config).save_pretrained(tmp_path)
    tokenizer.save_vocabulary(tmp_path / "vocab.txt")
    sizes = {"epochs": 5, "batch_size": 8, "seed": 3, "verbose": 0}
    first, second = (zoo.from_preset(tmp_path, **options) for _ in range(2))
    before = first.get_weights()
    for model in (first, second):
        model.compile(learning_rate=0.003)
    first.fit(x, y, **sizes)
    fit_with_transformers(second, x, y, directory=tmp_path, **sizes)
    weights = zip(first.weights, before, second.get_weights(), strict=True)
    for variable, old, theirs in weights:
        ours = variable.numpy()
        # A bias before a softmax has no gradient: AdamW follows its rounding.
        free = {"choices": "classifier/bias", "answers": "spans/bias"}.get(case)
        if variable.path != free and ours.dtype.kind == "f":
            np.testing.assert_allclose(theirs, ours, atol=1e-4, err_msg=variable.path)
            assert not np.array_equal(ours, old)


STORED = ROOT / "benchmarks/suite/results/rte-minilm_zoo-0.json"


@pytest.fixture
def run(make_run):
    """A run that reads results."""
    return make_run(suite, reading=True)


def change(run, model, seed, **fields):
    """Stores a result of a model, or changes fields of the stored one."""
    path = run.folder / f"results/rte-{model}-{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads((path if path.exists() else STORED).read_text())
    path.write_text(json.dumps({**known, **fields}))


def store(run, model, *scores):
    """Results of seeds, of which all but the first are of a GPU."""
    for seed, score in enumerate(scores):
        own = {"scores": {"dev.tsv": {"accuracy": score}}, "hardware": "a processor"}
        own |= {"seconds": 60 - 30 * seed, "test_seconds": 5.0, "files": None}
        own["accelerator"] = "a GPU" if seed else None
        change(run, model, seed, **own)


def row_of(run):
    """The cells of the only row of the only table."""
    (table,) = run.render().values()
    (row,) = [line for line in table.splitlines() if line.startswith("| RTE")]
    return [cell.strip() for cell in row[1:-1].split("|")]


def test_a_row_compares_both_libraries(run):
    assert run.render() == {}
    store(run, suite.ZOO, 0.62, 0.66)
    assert row_of(run)[5:] == ["", "", "2", "66.4", "1.0", ""]
    assert "; a processor; a GPU; " in run.render()["minilm"]
    store(run, suite.TRANSFORMERS, 0.61)
    # The difference is that of the seed that both have.
    assert row_of(run)[5:] == ["61.0", "+1.0", "2 and 1", "66.4", "1.0", "1.0"]
    # Minutes are shown only if the tests took equally long.
    for slower, minutes in ((1.14, "1.0"), (1.16, "")):
        change(run, suite.TRANSFORMERS, 0, test_seconds=5.0 * slower)
        assert row_of(run)[-2:] == [minutes, minutes]


def test_a_result_of_another_recipe_is_refused(run, monkeypatch):
    recipe = suite.settings(run, "rte", suite.ZOO)
    assert recipe["epochs"] == 3 and suite.settings(run, "rte", "x") == {"rows": 4000}
    assert "seeds" not in suite.settings(run, "squad2.0", suite.ZOO)
    store(run, suite.ZOO, 0.62)
    change(run, suite.ZOO, 0, options=recipe)
    assert row_of(run)[4] == "62.0"
    monkeypatch.setitem(suite.RECIPES, "rte", {**recipe, "epochs": 4})
    with pytest.raises(ValueError, match=r"must have the options.*rte-minilm_zoo-0"):
        run.render()


def test_results_of_other_files_are_refused(run):
    store(run, suite.ZOO, 0.62, 0.63, 0.64)
    for seed, checksum in ((1, "a"), (2, "b")):
        row_of(run)
        change(run, suite.ZOO, seed, files={"dev.tsv": checksum})
    with pytest.raises(ValueError, match="checksums in rte-minilm_zoo-2 than in .*-1"):
        run.render()


def test_cells_have_every_task_model_and_seed(run):
    cells = suite.cells(run)
    assert len(cells) == 9 * 2 * 3 + 2 * 2 + 11 * 8  # SQuAD has one seed
    assert "squad2.0-minilm_transformers-0" in cells
    assert "squad2.0-minilm_transformers-1" not in cells
    assert [*cells][:2] == ["cola-minilm_zoo-0", "cola-minilm_transformers-0"]
    assert cells["rte-gpt_mini_en_books-0"] == ("rte", "gpt_mini_en_books", 0)
    shipped = {
        name for name in zoo.list_presets() if "weights" in zoo.preset_info(name)
    }
    assert {*suite.SHIPPED} <= shipped


@pytest.mark.slow
@pytest.mark.parametrize("task", ["token_classifier", "question_answerer"])
def test_a_pooler_that_transformers_leaves_out_is_kept(task, tmp_path):
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from benchmarks.tables.transformers_training import fit_with_transformers

    config = tiny.transformers_config(max_position_embeddings=64)
    transformers.BertModel(config).save_pretrained(tmp_path)
    WordPieceTokenizer(tiny.VOCABULARY).save_vocabulary(tmp_path / "vocab.txt")
    options, x, y = {"labels": ["O", "B-X"]}, ["good film"], [["B-X", "O"]]
    if task == "question_answerer":
        options, x, y = {}, (["how"], ["good film"]), [[("good", 0)]]
    model = zoo.from_preset(tmp_path, task, **options)
    before = {weight.path: weight.numpy() for weight in model.weights}
    sizes = {"epochs": 2, "batch_size": 1, "seed": 3}
    fit_with_transformers(model, x, y, directory=tmp_path, **sizes)
    changed = {w.path for w in model.weights if (w.numpy() != before[w.path]).any()}
    assert any("classifier" in path or "spans" in path for path in changed)
    assert any("block" in path for path in changed)
    assert not any("pooler" in path for path in changed)
