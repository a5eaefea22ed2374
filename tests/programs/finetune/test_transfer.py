"""ULMFiT's recipe on a tiny causal BERT."""

import json

import keras
import numpy as np
import pytest
import tiny
from command_line import run
from report_runs import write_table

import zoo
from zoo.programs.finetune import transfer
from zoo.registry import build_backbone
from zoo.text import WordPieceTokenizer
from zoo.training import SlantedTriangle

TEXTS, LABELS = tiny.make_texts(32)
UNLABELED = tiny.make_texts(16, seed=9)[0]


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    """The directory of a tiny causal language model."""
    directory = tmp_path_factory.mktemp("transfer") / "causal"
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, "causal": True})
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    # With rates for large models, a tiny one would not learn.
    backbone.defaults = {
        "learning_rate": 0.05,
        "pooling": "mean",
        "tasks": {"causal_lm": {"learning_rate": 0.01}},
    }
    zoo.CausalLM(backbone, backbone.tokenizer).save_to_preset(directory)
    return directory


@pytest.fixture
def calls(monkeypatch):
    """Notes each `fit`: the task, the optimizer, the rows and the callbacks."""
    found, fit = [], zoo.tasks.Task.fit

    def noted(self, x, *args, **kwargs):
        found.append((self, self.optimizer, x, kwargs))
        return fit(self, x, *args, **kwargs)

    monkeypatch.setattr(zoo.tasks.Task, "fit", noted)
    return found


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("epochs", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_the_recipe_trains_a_language_model_and_then_a_classifier(
    epochs, causal, calls, tmp_path
):
    model = zoo.finetune_ulmfit(
        causal, TEXTS, LABELS, UNLABELED, (TEXTS[:8], LABELS[:8]), epochs=epochs,
        language_model_epochs=2, batch_size=8, output=tmp_path / "model.keras",
    )  # fmt: skip
    (first, *_), (second, *_) = calls
    assert isinstance(first, zoo.CausalLM) and second is model
    assert calls[0][2] == [*TEXTS, *UNLABELED] and calls[1][2] == TEXTS
    assert [call[3]["epochs"] for call in calls] == [2, epochs]
    # The token vectors make the logits, so they learn as fast as a head.
    for (task, optimizer, _, _), words in zip(calls, (1.0, 2.6**-3), strict=True):
        schedule = optimizer._learning_rate
        assert isinstance(schedule, SlantedTriangle) and schedule.steps is None
        assert schedule.peak == task.default_learning_rate
        assert optimizer.rate_scale("block_1/kernel") == pytest.approx(1 / 2.6)
        assert optimizer.rate_scale("token_embedding/x") == pytest.approx(words)
        assert (optimizer.beta_1, optimizer.beta_2) == (0.7, 0.99)
    assert [call[1].global_clipnorm for call in calls] == [0.3, 25.0]
    losses = first.history.history["loss"]
    assert losses[-1] < losses[0]
    assert model.backbone is first.backbone
    history = model.history.history
    assert len(history["val_loss"]) == epochs
    assert history["accuracy"][-1] > 0.8 or epochs < 10
    assert model.labels == ("bad", "good") and model.options["pooling"] == "mean"
    loaded = zoo.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(TEXTS), model.predict(TEXTS))


@pytest.mark.slow
def test_a_seed_gives_the_same_classifier(causal):
    options = {"epochs": 1, "batch_size": 16, "seed": 5}
    first, second = (
        zoo.finetune_ulmfit(causal, TEXTS[:16], LABELS[:16], **options).get_weights()
        for _ in range(2)
    )
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("epochs, last", [(1, 0), (2, 0), (3, 1), (4, None), (9, None)])
def test_the_last_epoch_trains_all_layers(causal, epochs, last):
    model = zoo.from_preset(causal, "text_classifier", labels=tiny.LABELS)
    callback = transfer.unfreezing_for(model, epochs)
    assert callback.last == last
    stages = [callback.trained(epoch, 3)[1] for epoch in range(epochs)]
    assert len(stages[0]) == 0 and (epochs == 1 or len(stages[-1]) == 3)
    assert transfer.default_epochs(model) == 7


@pytest.mark.slow
def test_without_epochs_the_language_model_stays(causal, calls):
    options = {"language_model_epochs": 0, "epochs": 1}
    zoo.finetune_ulmfit(causal, TEXTS[:8], LABELS[:8], **options)
    assert len(calls) == 1


def test_a_backbone_that_does_not_predict_the_next_token_is_an_error(preset):
    with pytest.raises(ValueError, match="a backbone that predicts the next token"):
        zoo.finetune_ulmfit(preset, TEXTS, LABELS)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "train.tsv", TEXTS, LABELS)


@pytest.mark.slow
def test_the_command_line_has_the_recipe(causal, table, tmp_path):
    (tmp_path / "more.txt").write_text("\n\n".join(UNLABELED))
    output = run(
        "finetune", causal, "--data", table, "--recipe", "ulmfit", "--output",
        tmp_path / "m.keras", "--epochs", 4, "--language-model-epochs", 1,
        "--batch-size", 8, "--unlabeled", tmp_path / "more.txt",
    )  # fmt: skip
    assert "language model: 1 epochs" in output
    assert zoo.load_model(tmp_path / "m.keras").labels == ("bad", "good")
    report = json.loads((tmp_path / "m_report" / "report.json").read_text())
    settings = report["settings"]
    assert settings["recipe"] == "ULMFiT" and settings["epochs"] == 4


@pytest.mark.parametrize(
    "options, message, code",
    [
        (["--unlabeled", "TABLE"], "--unlabeled needs --recipe", 2),
        (["--language-model-epochs", 2], "needs --recipe", 2),
        (["--new-labels"], "--new-labels needs a .keras file", 2),
        (
            ["--new-labels", "--recipe", "ulmfit"],
            "--new-labels needs a .keras file",
            2,
        ),
        (["--recipe", "ulmfit", "--token-budget", 64], "Leave it out, or leave", 1),
        (["--recipe", "ulmfit", "--learning-rate", "auto"], "a number. Received", 1),
        (["--recipe", "ulmfit", "--task", "text_regressor"], "text classifiers", 1),
    ],
)
def test_options_that_exclude_each_other_are_errors(
    options, message, code, causal, table, tmp_path
):
    options = [table if option == "TABLE" else option for option in options]
    if "text_regressor" in options:
        numbers = tmp_path / "numbers.tsv"
        numbers.write_text("text\tlabel\n" + "a\t1\nb\t2\nc\t3\n" * 9)
        table = numbers
    common = ["--data", table, "--output", tmp_path / "m.keras"]
    assert message in run("finetune", causal, *common, *options, code=code)


def test_fields_of_the_config_are_options(causal, monkeypatch):
    trained = []

    def fit(self, *args, **kwargs):
        trained.append(self)
        return keras.callbacks.History()

    monkeypatch.setattr(zoo.tasks.Task, "fit", fit)
    options = {"epochs": 1, "language_model_epochs": 0, "dropout": 0.25}
    model = zoo.finetune_ulmfit(causal, TEXTS[:8], LABELS[:8], **options)
    assert model.backbone.config.dropout == 0.25 and trained == [model]
    trained.clear()
    with pytest.raises(ValueError, match="'dropuot'"):
        zoo.finetune_ulmfit(causal, TEXTS[:8], LABELS[:8], dropuot=0.25)
    assert not trained


def test_mistakes_are_found_before_the_language_model_is_trained(
    causal, table, tmp_path, monkeypatch
):
    monkeypatch.setattr(zoo.tasks.Task, "fit", None)
    with pytest.raises(ValueError, match=r"Received: \['new'\]"):
        zoo.finetune_ulmfit(causal, TEXTS, LABELS, None, (["a film"], ["new"]))
    with pytest.raises(ValueError, match="must be a number from 1e-12 .* Received: 0"):
        zoo.finetune_ulmfit(causal, TEXTS, LABELS, learning_rate=0)
    with pytest.raises(ValueError, match="The output must be a file. Received"):
        (tmp_path / "a.keras").mkdir()
        zoo.finetune_ulmfit(causal, TEXTS, LABELS, output=tmp_path / "a.keras")
    (tmp_path / "valid.tsv").write_text("text\tlabel\na film\tnew\n")
    command = ("finetune", causal, "--data", table, "--recipe", "ulmfit")
    command += ("--output", tmp_path / "m.keras")
    for option, value, message, code in (
        ("--valid", tmp_path / "valid.tsv", "Received: ['new']", 1),
        ("--learning-rate", 0, "must be a number from 1e-12", 2),
        ("--sequence-length", 0, "must be an integer from 1", 2),
    ):
        assert message in run(*command, option, value, code=code)
