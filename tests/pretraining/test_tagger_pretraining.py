"""Pretraining of taggers: files of different schemes, and vectors from text."""

import gzip
import json

import numpy as np
import pytest
import tiny
from eager import without_graphs

import zoo
from zoo import pretraining
from zoo.checkpoint import read_vectors
from zoo.data import write_conll
from zoo.evaluation import convert_tags
from zoo.pretraining import Recipe
from zoo.pretraining import learned_vectors as module
from zoo.pretraining.learned_vectors import split_texts
from zoo.pretraining.tagger import TaggerTraining

VECTORS = {"texts": ["text.*"], "embedding_dim": 3, "minimum": 2, "epochs": 1}


def recipe(tagger=(), vectors=VECTORS, **fields):
    objective = {"name": "token_classifier", "vectors": vectors}
    return {
        "family": "taglm",
        "objective": {**objective, "tagger": {"scheme": "BIOES", **dict(tagger)}},
        "config": {"filters": [[2, 3]], "lstm_dim": 4, "num_layers": 1},
        "train": ["names/[ab].conll"],
        "valid": ["names/c.conll"],
        "stages": [[20, 8, 4]],
        "warmup_steps": 1,
        **fields,
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Tagged sentences in two schemes, with more types in one, and texts."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "names").mkdir()
    for seed, (name, scheme) in enumerate(
        [("a", "IOB1"), ("b", "IOB2"), ("c", "IOB1")]
    ):
        texts, _ = tiny.make_texts(20, seed)
        tags = [convert_tags(row, scheme) for row in tiny.make_tags(texts)]
        words = [text.split() for text in texts]
        if name == "a":
            words, tags = [*words, ["it", "it"]], [*tags, ["I-MORE", "B-MORE"]]
        write_conll(folder / "names" / f"{name}.conll", words, tags)
    lines = [f"{text}, (seen)\tvu\n" for text in tiny.make_texts(300)[0]]
    (folder / "text.txt").write_text("".join(lines) + "\n")
    with gzip.open(folder / "text.tsv.gz", "wt") as file:
        file.write("rare rare\trouge rouge\n")
    return folder


@pytest.fixture(scope="module")
def finished(data):
    """The folder of a run to its end."""
    with without_graphs():
        pretraining.run(Recipe(**recipe()), data, data / "run", every=2)
    return data / "run"


def test_tags_of_all_files_are_converted_to_the_scheme(data, tmp_path):
    run = TaggerTraining(Recipe(**recipe()), data, tmp_path)
    assert run.train[0][20] == ["it", "it"]
    assert run.train[1][20] == ["S-MORE", "S-MORE"]
    tags = {tag for row in run.train[1] for tag in row}
    assert {"O", "S-GOOD", "S-MORE"} <= tags
    assert not {"B-MORE", "I-MORE"} & tags
    assert {t for row in run.valid["c.conll"][1] for t in row} <= tags
    plain = TaggerTraining(Recipe(**recipe({"scheme": None})), data, tmp_path)
    assert plain.train[1][20] == ["I-MORE", "B-MORE"]


@pytest.mark.slow
def test_a_run_ends_in_a_preset_with_spans(finished):
    model = zoo.from_preset(finished / "preset")
    assert model.options["scheme"] == "BIOES"
    assert {"O", "S-GOOD", "S-MORE"} <= {*model.labels}
    scores = json.loads((finished / "preset" / "preset.json").read_text())["valid"]
    assert {"precision", "recall", "f1"} <= {*scores["c.conll"]}


def test_vectors_are_learned_from_the_first_column_of_the_text(finished):
    words, vectors = read_vectors(finished / "vectors.txt")
    assert vectors.shape == (len(words), 3)
    assert {"rare", "seen", "(", ")", ",", "film"} <= {*words}
    assert not {"vu", "rouge", "(seen)"} & {*words}


def test_the_tagger_reads_the_vectors_that_it_does_not_train(finished):
    words, vectors = read_vectors(finished / "vectors.txt")
    model = zoo.from_preset(finished / "preset")
    assert "rare" in model.tokenizer.words.vocabulary
    layer = model.backbone.named_layers["word_embedding"]
    assert layer.num_frozen > 0
    ids = model.tokenizer.words.ids(["rare"]).numpy()
    expected = vectors[words.index("rare")]
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(layer(ids)[0], expected, rtol=1e-3, atol=1e-4)


def test_vectors_are_learned_once(data, finished, monkeypatch):
    monkeypatch.setattr(module, "train_word_vectors", None)
    run = TaggerTraining(Recipe(**recipe()), data, finished)
    assert run.build().backbone.config.embedding_dim == 3


def test_a_tagger_without_vectors(data, tmp_path):
    run = TaggerTraining(Recipe(**recipe(vectors={})), data, tmp_path)
    assert run.build().backbone.config.num_frozen == 0
    assert not (tmp_path / "vectors.txt").exists()


@pytest.mark.slow
def test_a_tagger_that_starts_from_a_preset(data, finished, tmp_path):
    start = {"start": str(finished / "preset"), "config": {}}
    options = {"scheme": "BIOES", "decoder": "crf", "head_dropout": 0.3}
    run = TaggerTraining(Recipe(**recipe(options, {}, **start)), data, tmp_path)
    model = run.build()
    assert model.options.items() >= options.items()
    assert len(list(run.batches(model, 1).take(5))) == 5
    with pytest.raises(ValueError, match="with `from` no `vectors`. .*'vectors'"):
        TaggerTraining(Recipe(**recipe(**start)), data, tmp_path)


def test_options_without_effect_are_refused(data, tmp_path):
    wrong = recipe(vectors={}, finetuning_config={"dropout": 0.5})
    with pytest.raises(ValueError, match="Received: .'finetuning_config'"):
        TaggerTraining(Recipe(**wrong), data, tmp_path)


def test_vectors_need_texts():
    with pytest.raises(ValueError, match="must have `texts`.*Received: {'epochs': 1}"):
        Recipe(**recipe(vectors={"epochs": 1}))


def test_texts_are_split_into_words(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('He said: "Go!"\t(fr)\n\n Don\'t\n', encoding="utf-8")
    assert [*split_texts([path])] == [b'He said : " Go ! "', b"Don't"]
