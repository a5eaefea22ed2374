"""What the workloads read and compute before their peers are measured."""

import importlib
import importlib.util
import json

import numpy as np
import pytest
from tiny_inputs import write

from benchmarks import elmo_forward, generation_lengths, peers, worker
from benchmarks.export_load import size_mib
from benchmarks.question_answers import LONGEST, best_span
from benchmarks.tables.labelled_sets import choose


def test_what_cannot_be_imported_is_named():
    peers.require("json", "zoo")
    with pytest.raises(ModuleNotFoundError, match="no_such_library") as caught:
        peers.require("json", "no_such_library")
    assert caught.value.name == "no_such_library"


def test_a_saved_model_is_sized(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "a").write_bytes(bytes(2**19))
    (tmp_path / "b").write_bytes(bytes(2**20))
    assert size_mib(tmp_path) == 1.5


@pytest.mark.parametrize(
    "name, peer, library, options",
    [
        ("awd_lstm_step", "fastai", "fastai", {"dtype": "float32"}),
        ("awd_lstm_classify", "fastai", "fastai", {"data": None}),
        ("elmo_forward", "allennlp", "allennlp", {"data": "."}),
        ("elmo_forward", "bilm_tf", "bilm", {"data": "."}),
    ],
)
def test_absent_peers_are_skipped_before_anything_is_prepared(
    monkeypatch, name, peer, library, options
):
    workload = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(workload, "prepared_files", None, raising=False)
    _, facts = worker.build(workload, peer, options)
    assert facts == {"skipped": f"{library} is not installed"}


def test_chunks_are_read(shrink, workload_files):
    chunks = shrink("masked_batch").read_chunks(workload_files, 8)
    assert [len(chunk.split()) for chunk in chunks] == [10] * 7
    assert chunks[0].startswith("= A Title = good film")


def test_our_masks_change_from_pass_to_pass(shrink, workload_files, monkeypatch):
    masked_batch, seen = shrink("masked_batch"), []

    def count_rows(batches):
        seen.append(np.concatenate([*batches]))

    monkeypatch.setattr(masked_batch, "count_rows", count_rows)
    call, _ = masked_batch.make_zoo(workload_files, str(workload_files / "vocab.txt"))
    call(), call()
    first, second = seen
    assert (first != second).any() and ((first == 4).sum(axis=1) <= 2).all()
    assert (first[:, 0] == 2).all() and (first[:, 11] == 3).all()
    assert (first[:, 12:] == 0).all()


def test_sentences_of_a_length_are_read(shrink, workload_files):
    found = shrink("elmo_forward").read_sentences(workload_files)
    assert [len(words) for words in found] == [21, 27, 31, 23]


@pytest.mark.external
def test_the_sentences_are_those_that_were_described(shared):
    sentences = elmo_forward.read_sentences(shared / "data")
    words = [word for words in sentences for word in words]
    assert (len(sentences), len(words), len({*words})) == (32, 798, 351)
    assert max(map(len, sentences)) == 31


def test_only_the_words_are_compared():
    lengths = np.array([4, 3])
    ours = np.arange(16.0).reshape(2, 4, 2)
    theirs = ours[:, 1:3].copy()
    theirs[1, 1] = np.nan  # where the second row has its end
    arrays = {"vectors": ours, "lengths": lengths}
    difference, note_of = elmo_forward.difference, elmo_forward.note_of
    assert [*difference(ours, theirs, lengths).values()] == [0, 0, 11]
    found = difference(ours, ours + 1, lengths, markers=True)
    assert found == {"largest": 1, "typical": 1, "scale": 11}
    assert note_of("peer", arrays, theirs).startswith("0.0e+00 from ours")
    for wrong in (np.nan, 99.0):
        theirs[0, 0, 0] = wrong
        with pytest.raises(ValueError, match="vectors of 'peer' must be within 1e-05"):
            note_of("peer", arrays, theirs)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("peer", ["keras", "torch"])
def test_lstms_have_the_same_results(shrink, peer, training):
    pytest.importorskip(peer)
    lstm = shrink("lstm")
    ours, parameters = lstm.run_zoo(training)
    theirs, same = getattr(lstm, f"run_{peer}")(training)
    assert same == parameters == 2 * 8 * 32 + 32
    ours, theirs = ours(), theirs()
    assert len(ours) == (4 if training else 1)
    for our, their in zip(ours, theirs, strict=False):
        their = their.detach().numpy() if peer == "torch" else their.numpy()
        if their.shape != our.shape:
            their = their.T
        scale = np.abs(our).max()
        np.testing.assert_allclose(their, our, rtol=0, atol=1e-6 * scale)


def test_texts_are_those_of_imdb_if_there_are_any(shrink, tmp_path):
    classify = shrink("awd_lstm_classify")
    for part in ("train", "test"):
        lines = [f"{i % 2}\t{part} {i}\ttab" for i in range(9)]
        write(tmp_path / f"imdb/{part}.tsv.gz", lines)
    found = classify.read_texts(tmp_path, "train", 3)
    assert found == [f"train {i}\ttab" for i in range(3)]
    rows = [(f"test {i}\ttab", "") for i in range(9)]
    assert classify.read_texts(tmp_path, "test", 4) == [x for x, _ in choose(rows, 4)]


def test_random_texts_are_the_same_in_every_run(shrink):
    classify = shrink("awd_lstm_classify")
    texts = classify.read_texts(None, "test", 40)
    assert texts == classify.read_texts(None, "test", 40)
    assert texts[:5] != classify.read_texts(None, "train", 5)
    lengths = [len(text.split()) for text in texts]
    assert 40 < np.median(lengths) < 90 and "<br />" in " ".join(texts)


def test_the_best_span_is_that_of_all_spans():
    draw = np.random.default_rng(0)
    for _ in range(20):
        begins, ends = draw.normal(size=(2, 19))
        inside = np.arange(19) >= 7
        places = ((i, j) for i in range(7, 19) for j in range(i, min(19, i + LONGEST)))
        spans = [(begins[i] + ends[j], i, j) for i, j in places]
        assert best_span(begins, ends, inside) == max(spans)[1:]


def test_longer_texts_take_turns_at_every_length(monkeypatch, capsys):
    called = []

    def peer(name):
        return lambda dtype, new: (lambda: called.append((name, new)), None)

    makers = {name: peer(name) for name in ("zoo", "keras_nlp")}
    monkeypatch.setattr(generation_lengths, "MAKERS", makers)
    monkeypatch.setattr(generation_lengths, "read_rate", lambda: 1e9)
    limits = []
    monkeypatch.setattr(generation_lengths, "limit_tensorflow", limits.append)
    generation_lengths.main(["--threads", "1", "--repetitions", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["max_new_tokens"] for row in rows] == [32, 128, 512]
    assert rows[0]["zoo_growth_ms"] == rows[0]["attention_ms"] == 0
    assert called[:4] == [("zoo", 32), ("keras_nlp", 32)] * 2 and limits == [1]
    assert len(called) == 3 * 2 * 3  # with one call that is not measured


def test_attention_reads_the_keys_and_values_before_a_token():
    # 16 + 32 entries on average, 12 blocks, 4 rows, width 768, keys and values.
    assert generation_lengths.attention_ms(64, 1e9) == pytest.approx(
        48 * 12 * 4 * 768 * 2 * 4 / 1e6
    )
