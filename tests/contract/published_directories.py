"""Functions that write a complete directory of a layout of another program."""

import dataclasses
import shutil

import numpy as np
import test_elmo
import test_elmo_training
import test_transformer_ctranslate2 as ctranslate2
import test_transformer_marian_npz as marian_npz
import test_transformer_opennmt as opennmt
from bert_golden import GOLDEN as BERT
from bert_golden import add_pooling, rename
from foreign_files import change_json, write_json
from gpt_golden import GOLDEN as GPT
from gpt_golden import write_pair
from test_ulmfit_files import as_awd_lstm_lm
from transformer_golden import write_opennmt
from ulmfit_golden import FILES as FASTAI
from ulmfit_golden import stored, write

from zoo.checkpoint import open_checkpoint, save_checkpoint
from zoo.models.bert import weights as bert_weights
from zoo.models.gpt import weights as gpt_weights
from zoo.models.gpt.gpt_writing import write_keras_nlp


def copy(source):
    """A function that copies a directory without the outputs of a golden."""

    def make(directory):
        ignored = shutil.ignore_patterns("outputs.npz", "texts.json", "*.bin")
        shutil.copytree(source, directory, ignore=ignored)

    return make


def bert_keras_nlp(directory):
    golden = bert_weights.read(BERT)
    changes = {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-12, "dropout": 0.05}
    changes["attention_dropout"] = changes["dropout"]
    config = dataclasses.replace(golden.config, **changes)
    body = {k: v for k, v in golden.weights.items() if k.split("/")[0] not in HEADS}
    bert_weights.write(directory, "keras_nlp", config, body, golden.tokenizer)


HEADS = ("masked_lm_head", "next_sentence")


def bert_classifier(*architecture, pooler=True, classes=2, head="classifier"):
    """A function that writes a classifier on the golden BERT."""

    def make(directory):
        copy(BERT)(directory)
        arrays = dict(open_checkpoint(BERT / "model.safetensors"))
        kept = {k: v for k, v in arrays.items() if not k.startswith("cls.")}
        if not pooler:
            kept = {k: v for k, v in kept.items() if ".pooler." not in k}
        draw = np.random.default_rng(0)
        kept[f"{head}.weight"] = draw.normal(size=(classes, 8)).astype("float32")
        kept[f"{head}.bias"] = np.zeros(classes, "float32")
        save_checkpoint(directory / "model.safetensors", kept)
        labels = {str(i): f"label_{i}" for i in range(classes)}
        more = {"id2label": labels} if classes > 1 else {}
        config = directory / "config.json"
        change_json(config, **more, architectures=[*architecture])

    return make


def bert_sentences(directory):
    copy(BERT)(directory)
    rename(directory, lambda name: None if name.startswith("cls.") else name)
    flags = {"cls_token": False, "mean_tokens": True, "max_tokens": False}
    pooling = {f"pooling_mode_{name}": value for name, value in flags.items()}
    pooling["word_embedding_dimension"] = 8
    add_pooling(directory, pooling, ("2_Normalize", "models.Normalize"))
    limits = {"max_seq_length": 7, "do_lower_case": False}
    write_json(directory / "sentence_bert_config.json", **limits)


def gpt_pair(kind, vocabulary, merges, make):
    """A function that writes a golden GPT with a tokenizer of two files."""

    def write_both(directory):
        make(directory)
        (directory / "tokenizer.json").unlink(missing_ok=True)
        write_pair(kind, directory, vocabulary, merges)

    return write_both


def gpt_keras_nlp(directory):
    golden = gpt_weights.read(GPT / "gpt2")
    rates = dict.fromkeys(("dropout", "embedding_dropout", "attention_dropout"), 0.05)
    changes = {**rates, "activation": "gelu_tanh", "layer_norm_epsilon": 1e-5}
    config = dataclasses.replace(golden.config, **changes)
    contents = dataclasses.replace(golden, config=config, heads=())
    contents.tokenizer["start_token"] = False
    write_keras_nlp(directory, contents)


def marian(directory):
    marian_npz.save(directory)
    for name in ("source.spm", "target.spm"):
        shutil.copy(marian_npz.GOLDEN / name, directory)
    pieces = ["</s>", "<unk>", *(f"piece{i}" for i in range(2, marian_npz.SIZE))]
    lines = "".join(f'"{piece}": {i}\n' for i, piece in enumerate(pieces))
    (directory / "opus.vocab.yml").write_text(lines)
    (directory / "decoder.yml").write_text("beam-size: 3\nnormalize: 0.6\n")


def subwords(write, rows):
    """A function that writes a model with a vocabulary of subwords."""

    def make(directory):
        write(directory)
        (directory / "vocab.x.subwords").write_text("'a'\n" * rows)

    return make


def opennmt_tf(directory):
    write_opennmt(directory)
    opennmt.write_vocabularies(directory)


def ctranslate2_6(directory):
    ctranslate2.write(directory, version=6)
    values = {"add_source_eos": True, "layer_norm_epsilon": 1e-3, "unk_token": "<unk>"}
    values |= {"bos_token": "<s>", "eos_token": "</s>"}
    write_json(directory / "config.json", **values)


def elmo_hdf5(directory):
    test_elmo.write_published(test_elmo.make(activation="tanh"), directory)


def elmo_tf1(directory):
    write_json(directory / "options.json", **test_elmo_training.OPTIONS)
    test_elmo_training.write_checkpoint(directory, test_elmo_training.make_arrays()[1])
    test_elmo_training.write_words(directory)


def awd_lstm_lm(directory):
    write(directory, as_awd_lstm_lm(stored("lm")), "model.pt")


def fastai(directory):
    directory.mkdir()
    for name in ("lm.pth", "itos.pkl"):
        shutil.copy(FASTAI / name, directory)
