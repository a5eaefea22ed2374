"""Marian's own files, judged by a reference in float64 and by Hugging Face's layout."""

import dataclasses
import json
import re

import marian_reference
import numpy as np
import pytest
from foreign_files import assert_equal, draw_weights, write_json
from marian_reference import OPTIONS, SIZE, Reference, draw, write_yaml
from transformer_golden import MARIAN, build

import zoo
from zoo.checkpoint import save_checkpoint
from zoo.models.transformer.weights import read, recognise

GOLDEN = MARIAN / "joint"
KINDS = {
    "shared, swish": {},
    "separate, relu, norms first": {
        "tied-embeddings-all": False,
        "tied-embeddings": True,
        "transformer-ffn-activation": "relu",
        "transformer-preprocess": "n",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
        "transformer-postprocess-emb": "nd",
    },
    "own kernel of the logits": {
        "tied-embeddings-all": False,
        "tied-embeddings-src": True,
        "transformer-postprocess-emb": "",
    },
}


def save(directory, options=None, arrays=None, text=None):
    """Writes a model as Marian does; returns its arrays and options."""
    directory.mkdir(exist_ok=True)
    options = {**OPTIONS, **(options or {})}
    arrays = draw(options) if arrays is None else arrays
    text = write_yaml(options) if text is None else text
    content = np.frombuffer(text.encode() + b"\0", "int8")
    path = directory / "model.npz"
    save_checkpoint(path, {**arrays, "special:model.yml": content})
    return arrays, options


@pytest.mark.parametrize("kind", KINDS)
def test_computes_what_marian_computes(tmp_path, kind):
    arrays, options = save(tmp_path / "model", KINDS[kind])
    assert recognise(tmp_path / "model") == "marian"
    found = read(tmp_path / "model")
    assert found.config.pad_id == SIZE and found.config.vocabulary_size == SIZE + 1
    model, head = build(found)
    source, target = np.array([3, 5, 1, 9, 0]), np.array([7, 2, 2, 11])
    expected = Reference(arrays, options).logits(source, target)
    # Padding of the source changes nothing.
    inputs = {
        "encoder_token_ids": np.append(source, [SIZE, SIZE])[None],
        "decoder_token_ids": np.append(SIZE, target)[None],
    }
    outputs = model(model.complete(inputs))
    logits = np.asarray(head(outputs["decoder_sequence_output"]))[0]
    np.testing.assert_allclose(logits[:, :SIZE], expected, 0, 5e-6)
    assert (logits[:, SIZE] == 0).all()


def their_name(name):
    """Hugging Face's name for one of Marian's, written down independently."""
    match = re.fullmatch(r"(encoder|decoder)_l(\d)_(\w+?)_(\w+)", name)
    if match is None:
        known = {"Wemb": "shared.weight", "decoder_ff_logit_out_b": ""}
        return "final_logits_bias" if not known[name] else f"model.{known[name]}"
    side, layer, part, rest = match.groups()
    begin = f"model.{side}.layers.{int(layer) - 1}."
    leaf = "bias" if rest.startswith("b") or rest.endswith("bias") else "weight"
    attention = {"self": "self_attn", "context": "encoder_attn"}.get(part)
    if "_ln_" in rest:
        return f"{begin}{attention or 'final'}_layer_norm.{leaf}"
    if part == "ffn":
        return f"{begin}fc{rest[-1]}.{leaf}"
    projection = {"o": "out"}.get(rest[-1], rest[-1])
    return f"{begin}{attention}.{projection}_proj.{leaf}"


def test_differs_from_transformers_conversion_only_as_expected(tmp_path):
    arrays, _ = save(tmp_path / "marian")
    theirs = {}
    for name, array in arrays.items():
        if name == "Wemb":
            array = np.concatenate([array, np.zeros((1, array.shape[1]), "float32")])
        elif name == "decoder_ff_logit_out_b":
            array = np.append(array, np.zeros((1, 1), "float32"), axis=1)
        else:
            array = array[0] if len(array) == 1 else array.T
        theirs[their_name(name)] = array
    directory = tmp_path / "hugging_face"
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("attention_heads", 2), ("ffn_dim", 10))
    }
    write_json(
        directory / "config.json",
        model_type="marian",
        vocab_size=SIZE + 1,
        d_model=marian_reference.WIDTH,
        encoder_layers=marian_reference.ENCODER,
        decoder_layers=marian_reference.DECODER,
        **sides,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=SIZE,
        decoder_start_token_id=SIZE,
    )
    save_checkpoint(directory / "model.safetensors", theirs)
    ours, converted = read(tmp_path / "marian"), read(directory)
    assert_equal(ours.weights, converted.weights)
    configs = [dataclasses.asdict(found.config) for found in (ours, converted)]
    different = {k for k, v in configs[0].items() if configs[1][k] != v}
    assert different == {"positions", "layer_norm_epsilon"}


def test_a_directory_of_opus_is_a_translator(tmp_path):
    vocabulary = json.loads((GOLDEN / "vocab.json").read_text("utf-8"))
    vocabulary.pop("<pad>")
    size = len(vocabulary)
    options = {**OPTIONS, "dim-vocabs": [size, size]}
    shapes = {"Wemb": (size, 8), "decoder_ff_logit_out_b": (1, size)}
    save(tmp_path, options, draw(options) | draw_weights(shapes, 1))
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes((GOLDEN / name).read_bytes())
    lines = [f"{json.dumps(k, ensure_ascii=False)}: {v}" for k, v in vocabulary.items()]
    (tmp_path / "opus.vocab.yml").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "decoder.yml").write_text("beam-size: 3\nnormalize: 0.6\n")
    task = zoo.from_preset(tmp_path)
    options = task.writer.generation_options()
    assert (options.num_beams, options.length_penalty) == (3, 0.6)
    assert options.suppressed == (size,) and options.renormalize
    assert task.tokenizer(["the cat"]).to_list() == [[2, 37, 1, 34, 8, 17]]


def test_damaged_files_raise_errors(tmp_path):
    arrays = draw(OPTIONS)
    save_checkpoint(tmp_path / "model.npz", arrays)
    with pytest.raises(ValueError, match="no 'special:model.yml' of"):
        read(tmp_path)
    save(tmp_path, text="type: transformer\n  inner: {a: 1}\n")
    with pytest.raises(ValueError, match="line 2, '  inner: {a: 1}'"):
        read(tmp_path)
    text = write_yaml({k: v for k, v in OPTIONS.items() if k != "dim-emb"})
    save(tmp_path, text=text)
    with pytest.raises(ValueError, match="must have the values dim-emb"):
        read(tmp_path)
    save(tmp_path)
    save_checkpoint(tmp_path / "other.npz", arrays)
    with pytest.raises(ValueError, match="one model of Marian. Received: model.npz,"):
        read(tmp_path)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "table.npz").write_bytes(b"no archive")
    assert recognise(tmp_path / "others") is None
