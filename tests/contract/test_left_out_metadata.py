"""A file or a field that a published directory lacks: never a silent difference.

Whatever is left out, the model is the same, or an error or a warning names it, or the
program that wrote the directory has a default, which stands in `DEFAULTS`.
"""

import copy
import json

import pytest
from foreign_files import change_json
from layouts import DIRECTORIES, read, same

# How messages call some files whose names vary.
CALLED = {
    "opus.vocab.yml": "*vocab.yml",
    "vocab-2016-09-10.txt": "vocab*.txt",
    "vocab.x.subwords": ".subwords",
    "source_vocabulary.txt": "source_vocabulary",
    "target_vocabulary.txt": "target_vocabulary",
    "source_vocabulary.json": "source_vocabulary",
    "target_vocabulary.json": "target_vocabulary",
    "glove.txt": "word vectors",
    "bpe.code": "byte-pair codes",
    "bpecodes": "byte-pair codes",
    "dict.en.txt": "dictionary",
    "dict.de.txt": "dictionary",
    **{f"params_{i}.npy": "params_*.npy" for i in range(3)},
}
# keras-nlp makes this one with its defaults if it is missing.
OPTIONAL = ("preprocessor.json",)
WEIGHTS = (".safetensors", ".h5", ".hdf5", ".npz", ".pt", ".pth", ".bin", ".index")
WEIGHTS += (".data-00000-of-00001", ".pkl")
# The defaults of the programs, by the names of their options.
DEFAULTS = {
    # Hugging Face: BERT, GPT and Marian
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
    "resid_pdrop": 0.1,
    "embd_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "initializer_range": 0.02,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "scale_embedding": False,
    "bad_words_ids": None,
    "forced_eos_token_id": None,
    "length_penalty": None,
    "max_length": None,
    "num_beams": None,
    "max_seq_length": None,  # sentence-transformers
    # keras-nlp
    "lowercase": False,
    "add_start_token": True,
    "class_name": "GPT2Preprocessor",
    "config": {},
    # GPT-2 of Hugging Face, and CTranslate2
    "layer_norm_epsilon": 1e-5,
    "add_source_eos": False,
    # the model garden and OpenNMT-tf
    "activation": "relu",
    "ffn_activation": "relu",
    # bilm-tf
    "cell_clip": None,
    "proj_clip": None,
}
# In these, a default is not that of `DEFAULTS`.
ERRORS = {"elmo hdf5": {"activation"}, "elmo tf1": {"activation"}}


def test_no_file_is_missed_in_silence(directory, damaged):
    directory = damaged(directory)
    source, _ = read(directory)
    for path in [path for path in directory.rglob("*") if path.is_file()]:
        if path.name.endswith(WEIGHTS) and path.name != "itos.pkl":
            continue
        content = path.read_bytes()
        path.unlink()
        found, messages = read(directory)
        path.write_bytes(content)
        called = CALLED.get(path.name, path.name)
        named = any(called in message for message in messages)
        equal = found is not None and same(found, source)
        assert named or equal or path.name in OPTIONAL, (path.name, messages)


def fields(value, begin=()):
    """The keys of all fields in a JSON document, of objects in objects, too."""
    if isinstance(value, dict) and len(value) <= 40:
        for key, item in value.items():
            yield (*begin, key)
            yield from fields(item, (*begin, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from fields(value[0], (*begin, 0))


def change(document, keys, value=...):
    """A copy of a document without a field, or with another value of it."""
    document = copy.deepcopy(document)
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    return document


@pytest.mark.shown("bert hugging_face", "gpt2 hugging_face", "marian joint")
def test_no_field_is_missed_in_silence(directory, damaged):
    name, directory = directory.name, damaged(directory)
    source, _ = read(directory)
    paths = [p for p in directory.rglob("*.json") if "vocab" not in p.name]
    for path in paths:
        text = path.read_text()
        document = json.loads(text)
        if "encoder" in path.name or path.name == "params_shapes.json":
            continue  # a vocabulary, and shapes
        for keys in fields(document):
            if "vocab" in keys or "id2label" in keys[:-1]:
                continue
            path.write_text(json.dumps(change(document, keys)))
            found, messages = read(directory)
            key = str(keys[-1])
            # A tokenizer that is not ours is described as a whole.
            named = any(key in m or "tokenizer.json" in m for m in messages)
            named |= path.name == "tokenizer.json" and bool(messages)
            if not named and not (found and same(found, source)):
                assert key in DEFAULTS and key not in ERRORS.get(name, ()), keys
                path.write_text(json.dumps(change(document, keys, DEFAULTS[key])))
                explicit, _ = read(directory)
                assert same(found, explicit), (keys, messages)
        path.write_text(text)


@pytest.mark.parametrize("name", [n for n in DIRECTORIES if "hugging_face" in n])
def test_the_class_says_the_type_of_an_older_model(name, damaged):
    path = damaged(DIRECTORIES[name])
    expected, _ = read(path)
    change_json(path / "config.json", model_type=...)
    found, messages = read(path)
    assert same(found, expected) and not messages
    change_json(path / "config.json", architectures=...)
    found, messages = read(path)
    assert found is None and "config.json lacks `model_type`" in messages[0]


@pytest.mark.parametrize("name", ["bert texts", "bert words", "bert choices"])
def test_the_heads_say_what_a_classifier_labels(name, damaged):
    path = damaged(DIRECTORIES[name])
    expected, _ = read(path)
    change_json(path / "config.json", architectures=...)
    found, messages = read(path)
    if name == "bert choices":
        assert "`architectures` must be in a config.json" in messages[0]
    else:
        assert same(found, expected) and not messages
