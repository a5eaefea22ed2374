"""Distillation: what the student reads, learns and keeps, and that it resumes."""

import json

import keras
import numpy as np
import pytest
import tiny
from runs import assert_killing_changes_nothing

import zoo
from zoo import pretraining, registry
from zoo.presets import sha256
from zoo.pretraining import Recipe
from zoo.pretraining.distillation import Distillation
from zoo.pretraining.distillation import teacher as teachers
from zoo.pretraining.distillation.cosine_loss import DistillationLoss, TextCosine
from zoo.pretraining.distillation.teacher import Teacher, principal_axes, project

KILLED = 2


@pytest.fixture(scope="module")
def teacher(tmp_path_factory, tokenizer):
    """The directory of an embedder of 24 numbers."""
    keras.utils.set_random_seed(1)
    backbone = registry.build_backbone("bert", {**tiny.CONFIG, "hidden_dim": 24})
    directory = tmp_path_factory.mktemp("teacher") / "preset"
    zoo.TextEmbedder(backbone, tokenizer, normalize=True).save_to_preset(directory)
    return directory


def recipe(teacher, options=(), **fields):
    """A recipe of twelve updates on `*.txt`, as JSON holds it."""
    objective = {"name": "distillation", "teacher": str(teacher), **dict(options)}
    return tiny.recipe(
        **{
            "objective": objective,
            "stages": [[8, 8, 6], [16, 8, 6]],
            "learning_rate": 1e-2,
            **fields,
        }
    )


@pytest.fixture
def folder(tmp_path):
    """A directory with a corpus."""
    tiny.write_corpus(tmp_path / "a.txt")
    return tmp_path


@pytest.mark.slow
def test_student_of_another_width_and_vocabulary_learns(teacher, folder):
    fields = {"stages": [[8, 16, 30], [16, 16, 90]], "warmup_steps": 5}
    student = Recipe(**recipe(teacher, **fields, defaults={"epochs": 2}))
    trained = pretraining.run(student, folder, folder / "run", every=30)
    report = json.loads((folder / "run" / "report.json").read_text())
    before = Distillation(student, folder, folder / "run")
    untrained = before.evaluate(before.build())["valid.txt"]["cosine"]
    assert report["valid"]["valid.txt"]["cosine"] > max(0.9, untrained + 0.1)
    found = zoo.from_preset(folder / "run" / "preset")
    assert isinstance(found, zoo.TextEmbedder) and found.options["normalize"]
    assert found.tokenizer.vocabulary != zoo.from_preset(teacher).tokenizer.vocabulary
    texts = ["good film", "a bad film"]
    vectors = found.predict(texts, verbose=0)
    assert vectors.shape == (2, 16)
    np.testing.assert_allclose(
        vectors, trained.predict(texts, verbose=0), atol=5e-3
    )  # the preset is in float16
    record = json.loads((folder / "run" / "preset" / "preset.json").read_text())
    weights = sha256(teacher / "weights.safetensors")
    assert record["teacher"]["sha256"] == weights != record["weights"]["sha256"]
    assert record["defaults"] == found.backbone.defaults == {"epochs": 2}


def test_the_loss_is_its_formula():
    draw = np.random.default_rng(0)
    found, wanted = draw.normal(size=(2, 5, 7)).astype("float32")
    found, wanted = normalized(found), normalized(wanted)
    distance = np.square(found - wanted).sum(1) / 2
    pairs = np.square(found @ found.T - wanted @ wanted.T).mean(1)
    for weight in (0.0, 2.0):
        loss = DistillationLoss(weight)
        expected = distance + weight * pairs
        rows = loss.call(keras.ops.array(wanted), keras.ops.array(found))
        np.testing.assert_allclose(rows, expected, atol=1e-6)
        np.testing.assert_allclose(loss(wanted, found), expected.mean(), atol=1e-6)
    copy = DistillationLoss.from_config(loss.get_config())
    assert copy.pairs == 2.0


def test_the_loss_of_words_counts_those_with_a_target():
    draw = np.random.default_rng(0)
    found, wanted = map(normalized, draw.normal(size=(2, 5, 4, 7)).astype("float32"))
    wanted[0, 1:] = wanted[1, 2] = 0  # the words of text 0, and one of text 1
    distance = np.square(found - wanted).sum(-1)[:, 1:] / 2
    words = [0.0, distance[1, [0, 2]].mean(), *distance[2:].mean(1)]
    loss = DistillationLoss(2.0, words=0.5)
    texts = DistillationLoss(2.0).call(wanted[:, 0], found[:, 0])
    expected = texts + 0.5 * np.array(words)
    np.testing.assert_allclose(loss.call(wanted, found), expected, atol=1e-6)
    assert DistillationLoss.from_config(loss.get_config()).words == 0.5
    cosine = TextCosine()
    cosine.update_state(wanted, found)
    expected = (wanted[:, 0] * found[:, 0]).sum(-1).mean()
    np.testing.assert_allclose(cosine.result(), expected, atol=1e-6)


def normalized(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_axes_keep_cosines_of_a_subspace_and_of_more_numbers():
    draw = np.random.default_rng(0)
    low = normalized(draw.normal(size=(50, 4)) @ draw.normal(size=(4, 9)))
    cosines = low @ low.T
    for width in (4, 9, 12):
        found = project(low, principal_axes(low, width))
        assert found.shape == (50, width) and found.dtype == "float32"
        np.testing.assert_allclose(found @ found.T, cosines, atol=1e-5)
    assert np.abs(project(low, principal_axes(low, 2))).max() <= 1


@pytest.mark.slow
def test_a_student_is_trained_further_in_its_own_axes(teacher, folder):
    fields = {"stages": [[16, 16, 60]], "warmup_steps": 5}
    pretraining.run(Recipe(**recipe(teacher, **fields)), folder, folder / "run", 30)
    first = Distillation(Recipe(**recipe(teacher, **fields)), folder, folder / "run")
    cosine = json.loads((folder / "run" / "report.json").read_text())
    cosine = cosine["valid"]["valid.txt"]["cosine"]
    start = {"config": {"max_sequence_length": 40}, "start": folder / "run" / "preset"}
    further = Recipe(**recipe(teacher, **fields, **start))
    second = Distillation(further, folder, folder / "more")
    found = second.build()
    assert found.tokenizer.vocabulary == first.tokenizer.vocabulary
    assert found.backbone.config.max_sequence_length == 40
    assert second.evaluate(found)["valid.txt"]["cosine"] > cosine - 0.01
    np.testing.assert_allclose(second.axes.T @ second.axes, np.eye(16), atol=1e-5)


@pytest.mark.slow
def test_a_text_is_asked_of_the_teacher_once(teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(teachers, "TEXTS_PER_FILE", 3)
    asked = []
    predict = zoo.TextEmbedder.predict

    def counted(self, x, *args, **kwargs):
        asked.extend(x)
        return predict(self, x, *args, **kwargs)

    monkeypatch.setattr(zoo.TextEmbedder, "predict", counted)
    texts = [f"good film {number}" for number in range(5)]
    vectors = Teacher(str(teacher), tmp_path).embed(texts)
    assert asked == texts and len(list(tmp_path.iterdir())) == 2
    expected = zoo.from_preset(teacher).predict(texts, verbose=0)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)  # they are float16
    asked.clear()
    first, second = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    first.unlink()  # as if a run had been stopped before it was written
    again = Teacher(str(teacher), tmp_path).embed(texts)
    assert asked == texts[3:]
    np.testing.assert_array_equal(again, vectors)
    assert np.array_equal(Teacher(str(teacher), tmp_path).embed(texts[:3]), vectors[:3])


@pytest.mark.slow
def test_stages_have_texts_of_their_length_and_repeats(teacher, folder):
    (folder / "b.tsv").write_text("0\ta lovely film\n1\tan awful film\n")
    files = {"fields": {"b.tsv": [1]}, "repeats": {"b.tsv": 9}}
    student = Recipe(**recipe(teacher, files, train=["*.txt", "b.tsv"], valid=[]))
    run = Distillation(student, folder, folder)
    assert run.texts.count("an awful film") == 9
    assert len(set(run.texts)) < len(run.texts) == len(run.order)
    whole = list(run.batches(run.build(), 0).as_numpy_iterator())
    lengths = [int(x["padding_mask"].sum(1).max()) for x, _ in whole]
    assert len(whole) == 12 and max(lengths[:6]) <= 8 < max(lengths[6:]) <= 16
    assert {len(y) for _, y in whole} == {8}
    for start in (1, 6, 7):
        rest = list(run.batches(run.build(), start).as_numpy_iterator())
        assert len(rest) == 12 - start
        for (x, y), (wanted, target) in zip(rest, whole[start:], strict=True):
            np.testing.assert_array_equal(x["token_ids"], wanted["token_ids"])
            np.testing.assert_array_equal(y, target)
    assert run.tokens() == sum(run.sizes)


@pytest.mark.slow
def test_the_table_starts_from_the_vectors_of_tokens(teacher, folder):
    student = Recipe(**recipe(teacher))
    run = Distillation(student, folder, folder)
    table = run.build().backbone.named_layers["token_embedding"].embeddings.numpy()
    tokens = [run.tokenizer.vocabulary[-1].removeprefix("##"), "a", "t"]
    of_tokens = project(run.teacher.embed(tokens), run.axes)
    places = [-1, *map(run.tokenizer.vocabulary.index, tokens[1:])]
    np.testing.assert_allclose(normalized(table[places]), of_tokens, atol=1e-5)
    other = Distillation(Recipe(**recipe(teacher, {"table": False})), folder, folder)
    other = other.build().backbone.named_layers["token_embedding"].embeddings.numpy()
    np.testing.assert_allclose(table.std(), other.std(), rtol=0.2)
    assert np.abs(normalized(other[places]) - of_tokens).max() > 0.1


def test_a_stage_needs_texts_for_one_update(teacher, folder):
    student = Recipe(**recipe(teacher, stages=[[8, 9999, 12]]))
    with pytest.raises(ValueError, match="must have texts for one update. Received"):
        Distillation(student, folder, folder)


WITH_WORDS = {"words": 1.0, "word_texts": 60}


@pytest.mark.slow
def test_vectors_of_words_are_the_teachers_where_the_pieces_agree(teacher, folder):
    config = {**tiny.CONFIG, "vocabulary_size": 140}
    student = Recipe(**recipe(teacher, WITH_WORDS, config=config))
    run = Distillation(student, folder, folder)
    texts = list(dict.fromkeys(run.texts))
    learned = run.words.row_lengths().numpy() > 0
    assert 30 < learned.sum() <= 60 < len(texts)
    model = zoo.from_preset(teacher)
    sizes = run.tokenizer.vocabulary, model.tokenizer.vocabulary
    agreed = disagreed = 0
    for row in np.flatnonzero(learned):
        x = model.preprocessor(([texts[row]],))
        tokens = model.backbone(x)["sequence_output"][0].numpy()
        pieces = [
            [tokenizer(word).numpy() for word in texts[row].split()]
            for tokenizer in (run.tokenizer, model.tokenizer)
        ]
        place = 1
        for number, (ours, theirs) in enumerate(zip(*pieces, strict=True)):
            vector = run.words[row, number].numpy()
            spelled = [
                [vocabulary[i] for i in ids]
                for vocabulary, ids in zip(sizes, (ours, theirs), strict=True)
            ]
            if spelled[0] == spelled[1]:
                expected = project(tokens[place][None], run.axes)[0]
                np.testing.assert_allclose(vector, expected, atol=5e-3)
                agreed += 1
            else:
                assert not vector.any()
                disagreed += 1
            place += len(theirs)
    assert agreed > 20 and disagreed > 5


@pytest.mark.slow
def test_student_learns_the_vectors_of_words(teacher, folder):
    config = {**tiny.CONFIG, "vocabulary_size": 140}
    fields = {"stages": [[16, 16, 60]], "warmup_steps": 5, "config": config}
    student = Recipe(**recipe(teacher, WITH_WORDS, **fields))
    trained = pretraining.run(student, folder, folder / "run", every=30)
    run = Distillation(student, folder, folder / "run")

    def cosine(model):
        x, wanted = next(run.batches(model, 59).as_numpy_iterator())
        cosines = (wanted * model(x).numpy()).sum(-1)[:, 1:]
        return cosines[wanted[:, 1:].any(-1)].mean()

    assert cosine(trained) > max(0.5, cosine(run.build()) + 0.2)
    report = json.loads((folder / "run" / "report.json").read_text())
    assert 0 < report["valid"]["valid.txt"]["cosine"] <= 1
    found = zoo.from_preset(folder / "run" / "preset")
    assert type(found) is zoo.TextEmbedder
    text = "good film"
    expected = trained.predict([text], verbose=0)[:, 0]
    np.testing.assert_allclose(found.predict([text], verbose=0), expected, atol=5e-3)


def test_a_teacher_is_found_before_the_texts_are_read(tmp_path):
    with pytest.raises((KeyError, FileNotFoundError), match="no_such_teacher"):
        Distillation(Recipe(**recipe("no_such_teacher")), tmp_path, tmp_path / "run")


@pytest.mark.slow
def test_vectors_of_words_need_word_pieces(folder):
    backbone = registry.build_backbone("elmo", tiny.ELMO_CONFIG)
    tokenizer = zoo.text.CharacterTokenizer(max_characters=12)
    zoo.TextEmbedder(backbone, tokenizer).save_to_preset(folder / "elmo")
    student = Recipe(**recipe(folder / "elmo", WITH_WORDS))
    with pytest.raises(ValueError, match="needs a teacher with word pieces. Received"):
        Distillation(student, folder, folder)


def test_a_held_out_file_needs_a_text_that_fits(teacher, folder):
    (folder / "long.txt").write_text("good " * 99)
    student = Recipe(**recipe(teacher, valid=["long.txt"]))
    with pytest.raises(ValueError, match="at most 16 tokens. Received: none in long.t"):
        Distillation(student, folder, folder)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, WITH_WORDS], ids=["texts", "words"])
def test_kill_9_changes_no_bit(teacher, folder, options):
    """Killed at random moments of its training, it ends as if undisturbed."""
    fields = {"stages": [[8, 8, 100], [16, 8, 100]]}
    config = {**tiny.CONFIG, "vocabulary_size": 140, "dropout": 0.1}
    fields = recipe(teacher, options, config=config, **fields)
    (folder / "r.json").write_text(json.dumps(fields))
    assert_killing_changes_nothing(folder, KILLED)
