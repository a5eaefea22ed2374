"""The workloads of recurrent layers, at tiny sizes: what they read, and equal work."""

import contextlib
import gzip
import importlib
import importlib.util

import numpy as np
import pytest

LIBRARIES = {"allennlp": ("allennlp", "torch"), "bilm_tf": ("bilm", "tf_keras")}
SHORT = "Too short for this ."
LINES = [" = A Heading of enough words to be taken = ", "", f"{SHORT} One two three ."]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """Makes `benchmarks` importable, which it is from the checkout only."""
    for name in ("elmo_forward", "lstm"):
        module = importlib.import_module(f"benchmarks.{name}")
        # TensorFlow has run already, when its threads cannot be set any more.
        monkeypatch.setattr(module, "limit_tensorflow", lambda threads: None)


@pytest.fixture
def elmo(monkeypatch, tmp_path):
    """The workload, on four sentences and a tiny model, and the corpus' directory."""
    from benchmarks import elmo_forward
    from zoo.models.elmo import ELMo, ELMoConfig

    monkeypatch.setattr(elmo_forward, "SENTENCES", 4)
    config = ELMoConfig(
        embedding_dim=4, filters=((1, 4), (2, 8)), lstm_dim=10, projection_dim=6
    )
    monkeypatch.setattr(elmo_forward, "build_zoo", lambda: ELMo(config))
    corpus = tmp_path / "corpus"
    (corpus / "wikitext2").mkdir(parents=True)
    sentences = [" ".join(["Ça", "va"] * n) + " ?" for n in (10, 13, 15, 16, 11, 12)]
    with gzip.open(corpus / "wikitext2" / "wiki.valid.tokens.gz", "wt") as file:
        file.write("\n".join([*LINES, " ".join(sentences)]) + "\n")

    @contextlib.contextmanager
    def prepared(data):
        elmo_forward.prepare(data, tmp_path)
        with np.load(tmp_path / "arrays.npz") as arrays:
            yield tmp_path / "model", dict(arrays)

    monkeypatch.setattr(elmo_forward, "prepared", prepared)
    return elmo_forward, str(corpus)


def test_sentences_of_a_length_are_read(elmo):
    workload, data = elmo
    found = [len(words) for words in workload.read_sentences(data)]
    assert found == [21, 27, 31, 23]


@pytest.mark.external
def test_the_sentences_are_those_that_were_described(shared):
    from benchmarks.elmo_forward import read_sentences

    sentences = read_sentences(shared / "data")
    words = [word for words in sentences for word in words]
    assert (len(sentences), len(words), len({*words})) == (32, 798, 351)
    assert max(map(len, sentences)) == 31


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["zoo", "allennlp", "bilm_tf", "zoo_bfloat16"])
def test_elmo_forward(elmo, monkeypatch, peer):
    workload, data = elmo
    for library in LIBRARIES.get(peer, ()):
        if not importlib.util.find_spec(library):
            pytest.skip(f"{library} is not installed")
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "0")  # and back at the end
    call, facts = workload.PEERS[peer](data, threads=1)
    _, ours = workload.make_zoo(data, threads=1)
    assert facts["lengths"] == [23, 29, 33, 25] and facts["items"] == 4
    assert facts["parameters"] == ours["parameters"]
    markers = 2 if peer.startswith("zoo") else 0
    assert list(call().shape) == facts["shape"] == [4, 31 + markers, 12]
    assert ("from" in facts["note"]) == (peer != "zoo")


def test_absent_peers_are_skipped_before_anything_is_prepared(elmo, monkeypatch):
    from benchmarks import worker

    workload, data = elmo
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(workload, "prepared", None)
    for peer, library in (("allennlp", "allennlp"), ("bilm_tf", "bilm")):
        _, facts = worker.build(workload, peer, {"data": data, "threads": 1})
        assert facts == {"skipped": f"{library} is not installed"}


def test_only_the_words_are_compared(elmo):
    workload, _ = elmo
    lengths = np.array([4, 3])
    ours = np.arange(16.0).reshape(2, 4, 2)
    theirs = ours[:, 1:3].copy()
    theirs[1, 1] = np.nan  # where the second row has its end
    arrays = {"vectors": ours, "lengths": lengths}
    assert workload.difference(ours, theirs, lengths) == (0, 0, 11)
    assert workload.difference(ours, ours + 1, lengths, markers=True) == (1, 1, 11)
    assert workload.note_of("peer", arrays, theirs).startswith("0.0e+00 from ours")
    for wrong in (np.nan, 99.0):
        theirs[0, 0, 0] = wrong
        with pytest.raises(ValueError, match="vectors of 'peer' must be within 1e-05"):
            workload.note_of("peer", arrays, theirs)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("peer", ["keras", "torch"])
def test_lstms_do_the_same(monkeypatch, peer, training):
    from benchmarks import lstm

    pytest.importorskip(peer)
    for name, size in {"ROWS": 2, "LENGTH": 5, "WIDTH": 8}.items():
        monkeypatch.setattr(lstm, name, size)
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
    call, facts = lstm.PEERS[peer](1, training)
    assert list(call().shape) == facts["shape"] == [2, 5, 8]
    assert facts["lengths"] == [5, 5] and facts["parameters"] == parameters
