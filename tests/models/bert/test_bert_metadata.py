"""What beside a BERT's weights is translated, and what is refused with a reason."""

import json
import re

import numpy as np
import pytest
from bert_golden import CONVERTED, add_pooling, copy, rename, save_as_google
from foreign_files import change_arrays, change_json, write_json

import zoo
from zoo.models.bert.weights import read, recognise

VOCABULARY = CONVERTED.tokenizer["vocabulary"]
# The parts of a tokenizer.json.
MODEL = {"vocab": {token: i for i, token in enumerate(VOCABULARY)}}
FRAME = (("SpecialToken", "[CLS]"), ("Sequence", "A"), ("SpecialToken", "[SEP]"))
SINGLE = [{kind: {"id": name, "type_id": 0}} for kind, name in FRAME]
RULE = {"type": "TemplateProcessing", "single": SINGLE}


def test_two_checkpoints_in_a_directory_need_a_choice(tmp_path):
    google = save_as_google(tmp_path / "google")
    copy(google, "config.json", "model.safetensors")
    with pytest.raises(ValueError, match="Received: hugging_face, google in"):
        read(google)
    assert read(google, layout="google").layout == "google"


def test_files_of_other_programs_are_no_checkpoints(tmp_path):
    copy(tmp_path)
    for name in ("faiss.index", "damaged.npz"):
        (tmp_path / name).write_bytes(b"other")
    assert recognise(tmp_path) == "hugging_face"
    assert zoo.from_preset(tmp_path, task=None).family == "bert"


def test_a_directory_without_a_bert_is_described(tmp_path):
    assert recognise(tmp_path) is None
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert recognise(tmp_path) is None
    with pytest.raises(ValueError, match=r"'model.safetensors'\], of kind 'roberta'"):
        read(tmp_path)
    with pytest.raises(ValueError, match="`layout` must be one of.*'fairseq'"):
        read(tmp_path, layout="fairseq")
    (tmp_path / "config.json").write_text('{"class_name": "RobertaBackbone"}')
    (tmp_path / "model.weights.h5").write_bytes(b"")
    assert recognise(tmp_path) is None


def test_a_vocabulary_is_read_line_by_line(tmp_path):
    tokens = [*VOCABULARY]
    tokens[7], tokens[8] = "a\u2028b", "\u00e9"
    text = "\r\n".join(f"{token} " for token in tokens)
    (copy(tmp_path) / "vocab.txt").write_bytes(text.encode("utf-8"))
    assert read(tmp_path).tokenizer["vocabulary"] == tuple(tokens)


def test_the_vocabulary_may_be_in_tokenizer_json(tmp_path):
    config = copy(tmp_path) / "tokenizer_config.json"
    config.write_text('{"tokenizer_class": "DistilBertTokenizerFast"}')
    assert read(tmp_path).tokenizer == CONVERTED.tokenizer
    config.unlink()
    (tmp_path / "vocab.txt").unlink()
    assert read(tmp_path).tokenizer is None
    (last, number) = VOCABULARY[-1], len(VOCABULARY) - 1
    parts = {
        "model": {"type": "WordPiece", "vocab": {**MODEL["vocab"]}},
        "added_tokens": [
            {"content": "[PAD]", "id": 0},
            {"content": last, "id": number},
        ],
        "normalizer": {"type": "BertNormalizer", "lowercase": False},
        "post_processor": RULE,
    }
    del parts["model"]["vocab"][last]
    write_json(tmp_path / "tokenizer.json", **parts)
    with pytest.warns(UserWarning, match=f"the added tokens {re.escape(last)}. "):
        found = read(tmp_path).tokenizer
    assert found == {"vocabulary": VOCABULARY, "lowercase": False}
    write_json(config, do_lower_case=True, strip_accents=None)
    write_json(tmp_path / "tokenizer.json", model=MODEL)
    assert read(tmp_path).tokenizer == CONVERTED.tokenizer


@pytest.mark.parametrize(
    ("changes", "message"),
    (
        (
            {"model": {"vocab": {"a": 0}}},
            r"1 tokens, 17 rows.*tokenizer\.json`.*, and remove tokenizer.json",
        ),
        ({"model": {**MODEL, "type": "BPE"}}, "WordPiece vocabulary.*'BPE'"),
        ({"model": {**MODEL, "unk_token": "<unk>"}}, "'unk_token': '<unk>'"),
        ({"model": {**MODEL, "continuing_subword_prefix": "@"}}, "prefix': '@'"),
        ({"post_processor": None}, "'post_processor': None"),
        ({"post_processor": {**RULE, "single": SINGLE[:2]}}, r"': '\[CLS\] A'"),
        (
            {
                "normalizer": {"type": "BertNormalizer"},
                "pre_tokenizer": {"type": "Whitespace"},
            },
            "'pre_tokenizer': 'Whitespace'",
        ),
    ),
)
def test_what_tokenizer_json_does_otherwise_is_refused(tmp_path, changes, message):
    write_json(copy(tmp_path) / "tokenizer.json", **{"model": MODEL, **changes})
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_labels_come_in_the_order_of_the_outputs(tmp_path):
    path = copy(tmp_path)
    kernel = np.arange(24, dtype="float32").reshape(3, 8)
    head = {"classifier.weight": kernel, "classifier.bias": np.ones(3, "float32")}
    rename(path, lambda name: None if "cls." in name else name)
    change_arrays(path, lambda arrays: {**arrays, **head})
    kind = ["BertForSequenceClassification"]
    change_json(path / "config.json", architectures=kind)
    assert read(path).labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert zoo.from_preset(path).labels == read(path).labels
    named = zoo.from_preset(path, labels=["x", "y", "z"])  # the same classes
    np.testing.assert_array_equal(named.get_layer("classifier").kernel, kernel.T)
    named = zoo.from_preset(path, labels=["x", "y"])
    assert named.get_layer("classifier").kernel.shape == (8, 2)
    change_json(path / "config.json", id2label={"2": "c", "0": "a", "1": "b"})
    converted = read(path)
    assert converted.heads == ("classifier",)
    assert converted.labels == ("a", "b", "c")
    np.testing.assert_array_equal(converted.weights["classifier/kernel"], kernel.T)
    change_json(path / "config.json", id2label={"0": "a", "1": "b"})
    message = "`id2label` must name every output.*3 outputs"
    with pytest.raises(ValueError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("pooling", "mode"),
    (
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": "cls", "embedding_dimension": 8}, "cls"),
    ),
)
def test_sentence_transformers_say_how_they_pool(tmp_path, pooling, mode):
    add_pooling(copy(tmp_path), pooling)
    converted = read(tmp_path)
    assert converted.pooling == mode
    assert converted.normalize is False
    assert converted.sequence_length is None
    model = zoo.from_preset(tmp_path, "text_classifier", load_weights=False)
    assert model.options["pooling"] == {"mean": "compare", "cls": "cls"}[mode]
    assert model.default_learning_rate == 1e-4 and model.backbone.defaults["epochs"]
    tags = model.backbone.defaults_for("token_classifier")
    assert tags["learning_rate"] == 2e-4 and tags["epochs"] == 3
    add_pooling(tmp_path, pooling, ("2_Normalize", "models.Normalize"))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    assert read(tmp_path).normalize is True
    assert read(tmp_path).sequence_length == 6


@pytest.mark.parametrize(
    ("pooling", "more", "message"),
    (
        ({"pooling_mode_max_tokens": True}, (), "first token or the mean.*max_tokens"),
        (
            {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True},
            (),
            "first token or the mean.*max_tokens.*mean",
        ),
        ({"pooling_mode": "lasttoken"}, (), "first token or the mean.*lasttoken"),
        ({"pooling_mode": "mean"}, (("2", "models.Dense"),), "must be of.*Dense"),
    ),
)
def test_other_ways_to_pool_are_refused(tmp_path, pooling, more, message):
    add_pooling(copy(tmp_path), pooling, *more)
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_pooling_is_read_from_inside_of_the_directory_only(tmp_path):
    (tmp_path / "model").mkdir()
    add_pooling(tmp_path, {"pooling_mode": "cls"})
    modules = json.loads((tmp_path / "modules.json").read_text())
    modules[1]["path"] = "../1_Pooling"
    (copy(tmp_path / "model") / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="must be of .*Transformer.*1_Pooling"):
        read(tmp_path / "model")


def test_texts_that_sentence_transformers_changes(tmp_path):
    add_pooling(copy(tmp_path), {"pooling_mode": "mean"})
    limits = {"max_seq_length": 9, "do_lower_case": True}
    write_json(tmp_path / "sentence_bert_config.json", **limits)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(ValueError, match="exactly if its tokenizer does"):
        read(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert read(tmp_path).sequence_length == 9
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": None}
    path = tmp_path / "config_sentence_transformers.json"
    write_json(path, **prompts)
    read(tmp_path)
    change_json(path, default_prompt_name="query")
    with pytest.warns(UserWarning, match="begins every text .* with 'query: '"):
        read(tmp_path)
