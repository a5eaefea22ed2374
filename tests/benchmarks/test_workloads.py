"""The workloads of benchmarks, at tiny sizes: what their peers do and report."""

import functools
import gzip
import importlib
import inspect
import subprocess
import sys
import types

import numpy as np
import pytest
from places import ROOT

from zoo.models.transformer import TransformerConfig

LIMITED = (
    "text_to_label",
    "dense_forward",
    "finetune_step",
    "masked_batch",
    "decode",
    "gpt_generation",
    "translation_step",
)
SLOW_PEERS = [
    pytest.param(peer, marks=pytest.mark.slow) for peer in ("keras_nlp", "transformers")
]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """Makes `benchmarks` importable, which it is from the checkout only."""
    peers = importlib.import_module("benchmarks.peers")
    monkeypatch.setattr(peers, "SQUARE", 16)
    for name in LIMITED:
        module = importlib.import_module(f"benchmarks.{name}")
        # TensorFlow has run already, when its threads cannot be set any more.
        monkeypatch.setattr(module, "limit_tensorflow", lambda threads: None)
    return peers


def shrink(monkeypatch, module, **sizes):
    for name, size in sizes.items():
        monkeypatch.setattr(module, name, size)


@pytest.fixture
def dense(monkeypatch):
    from benchmarks import dense_forward
    from zoo.models.bert import BERT, BERTConfig

    sizes = {"VOCABULARY": 50, "LAYERS": 2, "WIDTH": 16, "HEADS": 2, "INNER": 32}
    shrink(monkeypatch, dense_forward, ROWS=2, LENGTH=8, **sizes)
    config = BERTConfig(50, 16, 2, 2, 32)
    monkeypatch.setattr(
        dense_forward, "build_zoo", lambda dtype: BERT(config, dtype=dtype)
    )
    return dense_forward


def test_every_workload_is_described_and_has_what_the_runner_asks_for():
    from benchmarks import run

    readme = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    for workload, (name, fixed) in run.WORKLOADS.items():
        module = run.module_of(workload)
        assert f"`{name}" in readme, name
        assert next(iter(module.PEERS)) == "zoo"
        optional = getattr(module, "OPTIONAL", ())
        given = {*module.NEEDS, *optional, *fixed, "threads"}
        for peer, make in module.PEERS.items():
            assert set(inspect.signature(make).parameters) == given, (name, peer)
            assert make.__doc__, (name, peer)


def test_the_bound_is_that_of_bert_base():
    from benchmarks import dense_forward as d

    found = d.operations(d.ROWS, d.LENGTH, d.LAYERS, d.WIDTH, d.INNER)
    assert round(found / 1e9, 1) == 178.8


@pytest.mark.half_precision
def test_dense_forward(dense):
    call, facts = dense.make_zoo(1, "float32")
    assert list(call().shape) == facts["shape"] == [2, 8, 16]
    assert facts["lengths"] == [8, 8] and facts["note"] == ""
    call, bound = dense.make_matmul(1, "bfloat16")
    measured = call()
    assert list(measured.shape) == bound["shape"] and measured.seconds > 0
    assert bound["lengths"] is None and bound["items"] == facts["items"]


@pytest.mark.slow
def test_dense_forward_beside_keras_nlp(dense):
    pytest.importorskip("keras_nlp")
    call, facts = dense.make_keras_nlp(1, "bfloat16")
    _, ours = dense.make_zoo(1, "float32")
    assert facts["parameters"] == ours["parameters"]
    assert call().dtype == "bfloat16"


def test_sixteen_bits_stay_near_float32(dense):
    found = dense.compare_with_float32("bfloat16")
    assert 0 < found["typical"] < 2e-2
    assert found["typical"] < found["largest"] < found["scale"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"]
)
def test_finetune_step_trains(monkeypatch, dtype):
    from benchmarks import finetune_step

    sizes = {"VOCABULARY": 50, "SIZES": (50, 1, 16, 2, 32)}
    sizes |= {"DROPOUT": 0.0, "LEARNING_RATE": 1e-2}
    shrink(monkeypatch, finetune_step, ROWS=4, LENGTH=8, **sizes)
    call, facts = finetune_step.make_zoo(1, dtype)
    losses = [float(call()) for _ in range(12)]
    assert losses[-1] < losses[0] / 2
    assert facts["shape"] == [] and call().shape == ()
    pytest.importorskip("keras_nlp")
    call, theirs = finetune_step.make_keras_nlp(1, dtype)
    assert theirs["parameters"] == facts["parameters"]
    assert np.isfinite(call())


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 4])
def test_decode_writes_as_many_tokens_as_all(monkeypatch, beams):
    from benchmarks import decode

    sizes = {"VOCABULARY": 50, "BLOCKS": 1, "WIDTH": 16, "HEADS": 2, "INNER": 32}
    shrink(monkeypatch, decode, ROWS=3, LENGTH=6, NEW=5, **sizes)
    call, facts = decode.make_zoo(1, "float32", beams)
    words = call()  # the last token may be the end
    assert words.shape == (3, 5) and {*words.ravel()} <= {4, 5}
    assert facts["shape"] == [3, 5]
    bound, facts = decode.make_matmul(1, "float32", beams)
    assert bound().seconds > 0 and "GFLOP" in facts["note"]
    pytest.importorskip("keras_nlp")
    assert decode.make_keras_nlp(1, "float32", beams)[0]().shape == (3, 5)


class Brief:
    """Ours, whose texts end too early."""

    def __init__(self, backbone, tokenizer):
        pass

    def translate(self, texts, **options):
        return ["1 2 3"] * len(texts)

    def generate(self, texts, **options):
        return [f"{text} 1 2 3" for text in texts]


@pytest.mark.parametrize("name", ["decode", "gpt_generation"])
def test_all_peers_write_all_tokens(monkeypatch, name):
    module = importlib.import_module(f"benchmarks.{name}")
    backbone = types.SimpleNamespace(count_params=lambda: 7)
    for place in ("transformer.Transformer", "gpt.GPT"):
        monkeypatch.setattr(f"zoo.models.{place}", lambda config, dtype: backbone)
    for task in ("Translator", "CausalLM"):
        monkeypatch.setattr(f"zoo.{task}", Brief)
    end, given = (1, {"beams": 1}) if name == "decode" else (49, {})
    shrink(monkeypatch, module, VOCABULARY=50, END=end)
    for new, fits in ((3, True), (4, True), (5, False), (2, False)):
        monkeypatch.setattr(module, "NEW", new)
        call, facts = module.make_zoo(1, "float32", **given)
        if fits:
            assert [*call().shape] == facts["shape"] == [module.ROWS, new]
        else:
            with pytest.raises(ValueError, match=f"have {new} new .* Received: 3 tok"):
                call()


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"]
)
def test_translation_step_trains(monkeypatch, dtype):
    from benchmarks import decode, translation_step

    for module in (decode, translation_step):
        monkeypatch.setattr(module, "VOCABULARY", 50)
    sizes = {"hidden_dim": 16, "num_heads": 2, "intermediate_dim": 32}
    config = functools.partial(TransformerConfig, **sizes, num_encoder_layers=1)
    monkeypatch.setattr("zoo.models.transformer.TransformerConfig", config)
    rates = {"DROPOUT": 0.0, "LEARNING_RATE": 1e-2}
    shrink(monkeypatch, translation_step, ROWS=4, LENGTH=8, **rates)
    call, facts = translation_step.make_zoo(1, dtype)
    losses = [float(call()) for _ in range(25)]
    assert losses[-1] < 0.7 * losses[0]
    assert facts["shape"] == [] and facts["lengths"] == [16] * 4


@pytest.fixture
def corpus(monkeypatch, tmp_path):
    """Directory with a corpus of 70 words, and a vocabulary."""
    from benchmarks import masked_batch

    shrink(monkeypatch, masked_batch, WORDS=10, CHUNKS=6, BATCH_SIZE=4, LENGTH=16)
    directory = tmp_path / "wikitext2"
    directory.mkdir()
    text = "\n = A Title = \n" + " ".join(["good", "film"] * 33) + "\n"
    with gzip.open(directory / "wiki.train.tokens.gz", "wt") as file:
        file.write(text)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join([*SPECIALS, "=", "a", "title", "good", "film", ""]))
    return str(tmp_path), str(vocabulary)


def test_chunks_are_read(corpus):
    from benchmarks.masked_batch import read_chunks

    chunks = read_chunks(corpus[0], 8)
    assert [len(chunk.split()) for chunk in chunks] == [10] * 7
    assert chunks[0].startswith("= A Title = good film")


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["zoo", *SLOW_PEERS])
def test_masked_batches(corpus, peer):
    from benchmarks import masked_batch

    if peer == "transformers":
        pytest.importorskip("torch")
    if peer != "zoo":
        pytest.importorskip(peer)
    call, facts = masked_batch.PEERS[peer](*corpus, threads=1)
    rows = 3 if peer == "keras_nlp" else 6
    assert facts["lengths"] == [12] * rows and facts["items"] == 12 * rows
    assert list(call().shape) == facts["shape"] == [rows, 16]


def test_our_masks_change_from_pass_to_pass(corpus, monkeypatch):
    from benchmarks import masked_batch

    seen = []
    monkeypatch.setattr(
        masked_batch,
        "count_rows",
        lambda batches: seen.append(np.concatenate([*batches])),
    )
    call, _ = masked_batch.make_zoo(*corpus, threads=1)
    call(), call()
    first, second = seen
    assert (first != second).any() and ((first == 4).sum(axis=1) <= 2).all()
    assert (first[:, 0] == 2).all() and (first[:, 11] == 3).all()
    assert (first[:, 12:] == 0).all()


FRESH = """
import sys
from benchmarks.cold_start import run_fresh
big = run_fresh("x = bytearray(80 * 2**20)\\nprint('noise')\\nprint([1, 2])", (), 1)
small = run_fresh("import sys\\nprint(sys.argv[1])", ("[3]",), 1)
assert (big.shape, small.shape) == ([1, 2], [3])
assert big.peak_mib > small.peak_mib + 60
assert not {"tensorflow", "numpy"} & set(sys.modules)
run_fresh("raise SystemExit(3)", (), 1)
"""


def test_a_fresh_process_is_measured_alone():
    done = subprocess.run(
        [sys.executable, "-c", FRESH], cwd=ROOT, capture_output=True, text=True
    )
    error = done.stderr.splitlines()[-1]
    assert "A program must answer. Received: code 3 of raise SystemExit" in error


def test_what_cannot_be_imported_is_named(benchmarks):
    benchmarks.require("json", "zoo")
    with pytest.raises(ModuleNotFoundError, match="no_such_library") as caught:
        benchmarks.require("json", "no_such_library")
    assert caught.value.name == "no_such_library"


def test_a_saved_model_is_sized(tmp_path):
    from benchmarks.export_load import size_mib

    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "a").write_bytes(bytes(2**19))
    (tmp_path / "b").write_bytes(bytes(2**20))
    assert size_mib(tmp_path) == 1.5
