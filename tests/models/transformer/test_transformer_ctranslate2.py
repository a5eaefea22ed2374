"""Directories of CTranslate2: its own outputs, and files that the tests write."""

import dataclasses
import json
import struct

import numpy as np
import pytest
from foreign_files import assert_equal, change_json, draw_weights, write_json
from transformer_golden import build

import zoo
from zoo.checkpoint import revert
from zoo.models.transformer import TransformerConfig, weights
from zoo.models.transformer.tables import FUSED, NAMINGS, shapes

SPECIALS = ["<blank>", "<s>", "</s>"]
SOURCE = [*SPECIALS, "a", "b", "\u2581c", "<unk>"]
TARGET = [*SPECIALS, "d", "e", "f", "g", "<unk>"]
CONFIG = TransformerConfig(
    vocabulary_size=len(SOURCE),
    target_vocabulary_size=len(TARGET),
    hidden_dim=8,
    num_encoder_layers=2,
    num_decoder_layers=1,
    num_heads=2,
    intermediate_dim=12,
    norm_first=True,
    attention_bias=True,
    positions="tensor2tensor",
    first_position=1,
    tied_output=False,
    output_bias=True,
    layer_norm_epsilon=1e-5,
)


def draw(config=CONFIG):
    return draw_weights(shapes(config), 24)


def fused(drawn, config=CONFIG):
    """The arrays of CTranslate2: projections stand below each other."""
    rows = NAMINGS["ctranslate2"].rows(config, drawn)
    arrays = revert(drawn, rows)
    for side in ("encoder", "decoder"):
        for i in range(2):
            for name, parts in FUSED.items():
                begin = f"{side}/layer_{i}/{name.split('/')[0]}"
                for leaf in ("weight", "bias"):
                    names = [f"{begin}/{part}/{leaf}" for part in parts]
                    if names[0] in arrays:
                        joined = np.concatenate([arrays.pop(n) for n in names])
                        arrays[f"{side}/layer_{i}/{name}/{leaf}"] = joined
    return arrays


def write(
    directory,
    arrays=None,
    version=2,
    options=(),
    lists=(SOURCE, TARGET),
    name="TransformerSpec",
    names=(),
):
    """Writes a directory.

    `arrays` are the drawn weights by default, `options` further arrays, of which None
    leaves one out, and `names` pairs of another name of an array and its own.
    """
    arrays = {**(fused(draw()) if arrays is None else arrays)}
    arrays |= {"encoder/num_heads": np.int8(2), "decoder/num_heads": np.int8(2)}
    arrays = {k: v for k, v in {**arrays, **dict(options)}.items() if v is not None}

    def string(text):
        raw = text.encode() + b"\0"
        return struct.pack("<H", len(raw)) + raw

    content = struct.pack("<I", version) + string(name)
    content += struct.pack("<II", 1, len(arrays))
    for name, array in arrays.items():
        array = np.asarray(array)
        content += string(name) + struct.pack("<B", array.ndim)
        content += struct.pack(f"<{array.ndim}I", *array.shape)
        if version < 4:
            content += struct.pack("<BI", array.itemsize, array.size)
        else:
            codes = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}
            content += struct.pack("<BI", codes[array.dtype.name], array.nbytes)
        content += array.tobytes()
    if version >= 3:
        content += struct.pack("<I", len(names))
        content += b"".join(string(text) for pair in names for text in pair)
    directory.mkdir(exist_ok=True)
    (directory / "model.bin").write_bytes(content)
    if version >= 6 and not (directory / "config.json").is_file():
        (directory / "config.json").write_text("{}")
    for side, tokens in zip(("source", "target"), lists, strict=False):
        if version < 4:
            text = "".join(f"{token}\n" for token in tokens)
            (directory / f"{side}_vocabulary.txt").write_bytes(text.encode())
        else:
            path = directory / f"{side}_vocabulary.json"
            path.write_text(json.dumps(tokens))
    return directory


@pytest.mark.parametrize("version", [2, 6])
def test_files_become_our_weights(tmp_path, version):
    found = weights.read(write(tmp_path, version=version))
    assert found.layout == "ctranslate2" and found.config == CONFIG
    assert_equal(found.weights, draw())


NO_HEADS = dict.fromkeys(("encoder/num_heads", "decoder/num_heads"))


def test_the_name_of_older_models_says_the_number_of_heads(tmp_path):
    for name, heads in (("", 8), ("TransformerBase", 8)):
        found = weights.read(write(tmp_path, options=NO_HEADS, name=name))
        assert found.config.num_heads == heads
    with pytest.raises(ValueError, match="num_heads=16, hidden_dim=8"):
        weights.read(write(tmp_path, options=NO_HEADS, name="TransformerBig"))
    with pytest.raises(ValueError, match="must hold `num_heads`. Received: none"):
        weights.read(write(tmp_path, options=NO_HEADS))


def test_an_array_has_few_names(tmp_path):
    """Many names of one array would be many layers of a small file."""
    names = [("decoder/other", "encoder/embeddings/weight")] * 3
    with pytest.raises(ValueError, match="unused: 'decoder/other'"):
        weights.read(write(tmp_path, version=6, names=names))
    arrays = {**fused(draw()), "large": np.zeros(10**5, "float32")}
    many = [(f"encoder/layer_{i}/x", "large") for i in range(50)]
    with pytest.raises(ValueError, match=r"model\.bin` must .* too many names"):
        weights.read(write(tmp_path, arrays, version=6, names=many))


FLAGS = ("alibi", "alibi_use_positive_positions", "scale_alibi")


def test_files_of_current_converters(tmp_path):
    """Their tables are numbered, and there are more flags and a norm of embeddings."""
    config = dataclasses.replace(CONFIG, embeddings_layer_norm=True)
    drawn = draw(config)
    arrays = fused(drawn, config)
    arrays["encoder/embeddings_0/weight"] = arrays.pop("encoder/embeddings/weight")
    assert "decoder/layernorm_embedding/beta" in arrays
    options = {f"decoder/{name}": np.int8(0) for name in FLAGS}
    found = weights.read(write(tmp_path, arrays, 6, options))
    assert found.config == config
    assert_equal(found.weights, drawn)
    more = {"encoder/embeddings_1/weight": np.zeros((2, 8), "float32")}
    for name, value, message in (
        ("decoder/alibi", np.int8(1), "must be 0. Received: .* decoder/alibi in"),
        ("decoder/scale_outputs", np.float32(2), "of decoder/scale_outputs in"),
        ("encoder/activation", np.int8(4), "`activation` must be one of 0, 1"),
        (*more, *more.values(), "must have one table of emb.*embeddings_1"),
    ):
        write(tmp_path, arrays, 6, {**options, name: value})
        with pytest.raises(ValueError, match=message):
            weights.read(tmp_path)


@pytest.mark.slow
def test_a_directory_becomes_a_translator(tmp_path):
    model = zoo.from_preset(write(tmp_path))
    assert isinstance(model, zoo.Translator)
    assert model.options["generation"]["penalty"] == "ctranslate2"
    assert model.options["generation"]["min_new_tokens"] == 2  # one, and the end
    tokenizer = model.tokenizer
    assert tokenizer(["a \u2581c x", ""]).to_list() == [[3, 5, 6], []]
    assert tokenizer.targets(["d x g"]).to_list() == [[3, 7, 6]]
    written = tokenizer.detokenize([[3, 0, 6, 2, 3], [7, 9, 2, 2, 2]])
    assert written.numpy().tolist() == [b"d g", b"<unk> <unk>"]
    texts = model.translate(["a b", "b"], max_new_tokens=5)
    assert model.translate(["", "a b"], max_new_tokens=5) == ["", texts[0]]
    assert len(model.translate(["a b"], max_new_tokens=1)) == 1


def test_config_says_which_special_tokens_there_are(tmp_path):
    source = ["</s>", "<unk>", "a", "<pad>", "b", "c", "d"]
    target = ["</s>", "<unk>", "x", "<pad>", "y", "z", "w", "v"]
    write(tmp_path, lists=(source, target))
    write_json(
        tmp_path / "config.json",
        bos_token="a",
        eos_token="</s>",
        unk_token="<unk>",
        decoder_start_token="<pad>",
        add_source_eos=True,
        add_source_bos=False,
        layer_norm_epsilon=1e-6,
    )
    found = weights.read(tmp_path)
    assert found.config.pad_id == 3 and found.config.layer_norm_epsilon == 1e-6
    tokenizer = zoo.from_preset(tmp_path).tokenizer
    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id) == (3, 3, 0)
    assert tokenizer.framing == ((), (0,), (0,))
    change_json(tmp_path / "config.json", add_source_bos=True)
    with pytest.raises(ValueError, match="`decoder_start_token` must be `bos_token`"):
        weights.read(tmp_path)


def test_a_shared_vocabulary(tmp_path):
    drawn = draw()
    drawn["token_embedding/embeddings"] = drawn["target_token_embedding/embeddings"]
    arrays = fused(drawn)
    write(tmp_path, arrays, lists=())
    (tmp_path / "shared_vocabulary.json").write_text(json.dumps(TARGET))
    found = weights.read(tmp_path)
    assert found.config.target_vocabulary_size is None
    assert found.tokenizer["tokens"] == (*TARGET,)
    assert "target_tokens" not in found.tokenizer
    assert zoo.from_preset(tmp_path).tokenizer.target_vocabulary_size is None


def test_the_unknown_token_is_appended(tmp_path):
    found = weights.read(write(tmp_path, lists=(SOURCE[:-1], TARGET[:-1])))
    assert found.tokenizer["tokens"] == (*SOURCE,)
    assert found.tokenizer["target_tokens"] == (*TARGET,)


def test_without_vocabularies_there_is_a_backbone(tmp_path):
    model = zoo.from_preset(write(tmp_path, lists=()))
    assert type(model).__name__ == "Transformer" and model.tokenizer is None


@pytest.fixture(scope="module")
def aren(shared):
    """The directory of the trained model, and what CTranslate2 wrote with it."""
    directory = shared / "oracles" / "ctranslate2_aren"
    cases = json.loads((directory / "ct2_aren_reference.json").read_text("utf-8"))
    return directory, cases["cases"]


@pytest.mark.slow
@pytest.mark.external
def test_log_probabilities_are_those_of_ctranslate2(aren):
    directory, cases = aren
    converted = weights.read(directory)
    model, head = build(converted)
    task = zoo.from_preset(directory)
    for case in cases:
        words = task.tokenizer.targets([" ".join(case["beam4"][0])]).numpy()[0]
        inputs = {
            "encoder_token_ids": task.tokenizer([" ".join(case["source"])]).to_tensor(),
            "decoder_token_ids": np.concatenate([[1], words])[None].astype("int32"),
        }
        logits = head(model(inputs)["decoder_sequence_output"])[0].numpy()
        logits = logits.astype("float64")
        logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        found = logits[np.arange(len(words) + 1), [*words, 2]]
        np.testing.assert_allclose(found, case["token_log_probs_of_best"], 0, 1e-5)


@pytest.mark.external
@pytest.mark.usefixtures("eagerly")
def test_translations_are_those_of_ctranslate2(aren):
    directory, cases = aren
    model = zoo.from_preset(directory)
    sources = [" ".join(case["source"]) for case in cases]
    texts, scores = model.translate(sources, return_scores=True, num_beams=1)
    for case, text, score in zip(cases, texts, scores, strict=True):
        assert text.split() == case["greedy"]
        # The score of a greedy search is not divided by the number of tokens.
        mean = score / (len(case["greedy"]) + 1)
        assert mean == pytest.approx(case["greedy_score"], abs=3e-5)
    options = {"num_beams": 4, "num_return": 4, "return_scores": True}
    texts, scores = model.translate(sources, **options)
    for case, several, score in zip(cases, texts, scores, strict=True):
        assert [text.split() for text in several] == case["beam4"]
        # CTranslate2's own scores differ by 2e-5 from the mean of its own
        # log-probabilities.
        np.testing.assert_allclose(score, case["beam4_scores"], 0, 3e-5)
