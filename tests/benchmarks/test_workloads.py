"""The workloads of benchmarks, at tiny sizes: what their peers do and report."""

import importlib
import inspect
import subprocess
import sys
import types

import numpy as np
import pytest
from places import ROOT
from tiny_workloads import WORKLOADS

from benchmarks import run, worker
from benchmarks.same_work import apart, check_same_work, check_shape

FLOAT32, BFLOAT16 = {"dtype": "float32"}, {"dtype": "bfloat16"}
# Peers of a workload, and options other than those above.
DEFAULT = [("dense_forward", "zoo", {}), ("dense_forward", "matmul", FLOAT32)]
DEFAULT += [("awd_lstm_step", "fastai", {}), ("awd_lstm_classify", "fastai", {})]
DEFAULT += [("lstm", peer, {}) for peer in ("zoo", "keras", "torch")]
SLOW = [
    *(("finetune_step", "zoo", dtype) for dtype in (FLOAT32, BFLOAT16)),
    *(("finetune_step", "keras_nlp", dtype) for dtype in (FLOAT32, BFLOAT16)),
    *(("translation_step", "zoo", dtype) for dtype in (FLOAT32, BFLOAT16)),
    *(("awd_lstm_step", "zoo", dtype) for dtype in (FLOAT32, BFLOAT16)),
    ("awd_lstm_step", "fastai", BFLOAT16),
    *(("dense_forward", peer, BFLOAT16) for peer in ("matmul", "keras_nlp")),
    *(("decode", "zoo", {"beams": beams}) for beams in (1, 4)),
    *(("decode", "keras_nlp", {"beams": beams}) for beams in (1, 4)),
    ("decode", "matmul", {}),
    *(("masked_batch", peer, {}) for peer in ("zoo", "keras_nlp", "transformers")),
    *(("elmo_forward", peer, {}) for peer in ("zoo", "allennlp", "bilm_tf")),
    ("elmo_forward", "zoo_bfloat16", {}),
    *(("awd_lstm_classify", peer, {}) for peer in ("zoo", "fastai_predict")),
    ("lstm", "keras", {"training": True}),
    ("lstm", "torch", {"training": True}),
    ("question_answers", "transformers", {}),
    ("sentence_embedding", "sentence_transformers", {}),
]


def cases():
    """The rows above as parameters; the ids are workload, peer and options."""
    for slow, rows in ((False, DEFAULT), (True, SLOW)):
        for workload, peer, options in rows:
            values = (str(value) for value in options.values())
            marks = [pytest.mark.slow] if slow else []
            if "bfloat16" in (*options.values(), *peer.split("_")):
                marks.append(pytest.mark.half_precision)
            name = "-".join([workload, peer, *values])
            yield pytest.param(workload, peer, options, id=name, marks=marks)


def make_peer(module, name, data, options):
    """The call and the facts of a peer; skips without its library."""
    given = {name: str(data) for name in module.NEEDS if name == "data"}
    if "vocabulary" in module.NEEDS:
        given["vocabulary"] = str(data / "vocab.txt")
    call, facts = worker.build(module, name, {**given, **options, "threads": 1})
    if "skipped" in facts:
        pytest.skip(facts["skipped"])
    return call, facts


@pytest.mark.parametrize("name, peer, options", [*cases()])
def test_peers_do_the_same_work(
    shrink, workload_files, monkeypatch, name, peer, options
):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "0")  # and back at the end
    _, given, lengths, shape, training = WORKLOADS[name]
    module, given = shrink(name), {**given, **options}
    call, facts = make_peer(module, peer, workload_files, given)
    ours = facts
    if peer != "zoo":
        _, ours = make_peer(module, "zoo", workload_files, given)
    check_same_work({"zoo": ours, peer: facts})
    assert ours["shape"] == shape and ours["lengths"] == (lengths or ours["lengths"])
    counted = sum if name == "masked_batch" else len
    assert ours["items"] == counted(ours["lengths"])
    output = call()
    check_shape(peer, list(output.shape), facts["shape"])
    if peer == "matmul":
        assert output.seconds > 0 and "GFLOP" in facts["note"]
        assert facts["lengths"] is None and facts["items"] == ours["items"]
        return
    assert len(facts["lengths"]) == len(ours["lengths"]) // (
        2 if (name, peer) == ("masked_batch", "keras_nlp") else 1
    )
    assert facts["parameters"] == ours["parameters"]
    if training:
        updates, factor = training
        losses = [float(output), *(float(call()) for _ in range(updates - 1))]
        assert losses[-1] < factor * losses[0]
    if name == "sentence_embedding":
        assert (apart(ours, facts) or 0) < 1e-5
    check_details(name, peer, given, facts, output)


def check_details(name, peer, options, facts, output):
    """What a workload promises besides equal work."""
    if name == "dense_forward" and peer == "keras_nlp":
        assert output.dtype == "bfloat16"
    if name == "elmo_forward":
        # The other libraries return no sentence markers.
        markers = 2 if peer.startswith("zoo") else 0
        assert facts["shape"] == [4, 31 + markers, 12]
        assert ("from" in facts["note"]) == (peer != "zoo")
    if name == "awd_lstm_step":
        assert facts["near"] == {"float32": 1e-4, "bfloat16": 0.02}[options["dtype"]]
        # Of 60 tokens, with weights near 0.
        assert facts["result"][0] == pytest.approx(np.log(60), abs=0.1)
        parameters = 61 * 6 + 4 * 10 * (6 + 10 + 1 + 10 + 10 + 1) + 4 * 6 * (10 + 6 + 1)
        assert facts["parameters"] == parameters - 6 + 60
    if name == "awd_lstm_classify":
        assert ("texts differ in a batch" in facts["note"]) == (peer == "fastai")
        assert min(facts["lengths"]) > 5
        assert np.ptp(facts["result"]) > 1e-3  # the texts have an influence
        if peer != "fastai":
            np.testing.assert_allclose(output[:, 1], facts["result"], atol=1e-4)
    if name == "decode" and peer == "zoo":
        assert {*np.ravel(output)} <= {4, 5}  # the last token may be the end
    if name == "sentence_embedding":
        np.testing.assert_allclose(np.ravel(output[:, :8]), facts["result"], atol=1e-5)


def test_every_workload_is_described_and_has_what_the_runner_asks_for():
    readme = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    for workload, (name, fixed) in run.WORKLOADS.items():
        module = run.module_of(workload)
        assert f"`{name}" in readme, name
        assert next(iter(module.PEERS)) == "zoo"
        given = {*module.NEEDS, *getattr(module, "OPTIONAL", ()), *fixed}
        for peer, make in module.PEERS.items():
            names = {*inspect.signature(make).parameters}
            assert names - {"threads"} == given, (name, peer)
            assert make.__doc__, (name, peer)


def test_the_bound_is_that_of_bert_base():
    from benchmarks import dense_forward as d

    found = d.operations(d.ROWS, d.LENGTH, d.LAYERS, d.WIDTH, d.INNER)
    assert round(found / 1e9, 1) == 178.8


@pytest.mark.half_precision
def test_sixteen_bits_stay_near_float32(shrink):
    found = shrink("dense_forward").compare_with_float32("bfloat16")
    assert 0 < found["typical"] < 2e-2
    assert found["typical"] < found["largest"] < found["scale"]


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
    monkeypatch.setattr(module, "VOCABULARY", 50)
    monkeypatch.setattr(module, "END", end)
    for new, fits in ((3, True), (4, True), (5, False), (2, False)):
        monkeypatch.setattr(module, "NEW", new)
        call, facts = module.make_zoo("float32", **given)
        if fits:
            assert [*call().shape] == facts["shape"] == [module.ROWS, new]
        else:
            with pytest.raises(ValueError, match=f"have {new} new .* Received: 3 tok"):
                call()


FRESH = """
import sys
from benchmarks.cold_start import run_fresh
big = run_fresh("x = bytearray(80 * 2**20)\\nprint('noise')\\nprint([1, 2])", ())
small = run_fresh("import sys\\nprint(sys.argv[1])", ("[3]",))
assert (big.shape, small.shape) == ([1, 2], [3])
assert big.peak_mib > small.peak_mib + 60
assert not {"tensorflow", "numpy"} & set(sys.modules)
run_fresh("raise SystemExit(3)", ())
"""


def test_a_fresh_process_is_measured_alone():
    done = subprocess.run(
        [sys.executable, "-c", FRESH], cwd=ROOT, capture_output=True, text=True
    )
    error = done.stderr.splitlines()[-1]
    assert "A program must answer. Received: code 3 of raise SystemExit" in error
