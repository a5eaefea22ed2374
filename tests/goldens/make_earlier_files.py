"""Makes earlier_files/: models as version 0.1.0 saved them, and what they computed.

Made with keras-context-zoo 0.1.0, TensorFlow 2.20.0, Keras 3.15.1 and NumPy 2.4.6:

    PYTHONPATH=.:tests python tests/goldens/make_earlier_files.py

Later versions must read these files and compute the same, which
`tests/test_earlier_files.py` checks: do not make them anew with later code. Every
weight is drawn from N(0, 0.3), gains from N(1, 0.3). Few options have their default.
"""

import json
import lzma
import pathlib
import shutil
import tempfile

import earlier_files
import keras
import numpy as np

import zoo
from zoo.data import TokenStreams, stream_batches
from zoo.registry import build_backbone
from zoo.tasks import TASKS
from zoo.text import (
    CharacterTokenizer,
    TaggerTokenizer,
    UnicodeSpeller,
    WordPieceTokenizer,
)
from zoo.training import Adagrad, AdamW, WarmupLinearDecay, layer_depths

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the a film is not very good bad dull Great \u00e9t\u00e9 0 . , !".split()
VOCABULARY = [*SPECIALS, *map(str.lower, WORDS), "ete", "##s", "##ly", "##er"]
CASED = [*SPECIALS, *WORDS, "##s", "##ly"]
PREDICTED = ["<S>", "</S>", "<UNK>", *WORDS]
CHARACTERS = ["<bos>", "<oov>", "<pad>", "<eow>", "<bow>", "<eos>", *"abdefgilmnorst"]
SPELLED = ["<oov>", "the", "<pad>", "film", "good", "\u00e9t\u00e9"]
LABELS = ["bad", "fine", "good"]
INPUTS = {
    "texts": [
        "the film is not very good .",
        "A GREAT \u00e9t\u00e9 , goodly unseen!",
        "",
        "dull 1999 films",
        "very very bad, the film",
    ],
    "labels": ["good", "bad", "fine", "bad", "good"],
    "pairs": [["the film", "good , bad"], ["is not dull", "a Great \u00e9t\u00e9 !"]],
    "masked": ["the [MASK] is very [MASK]", "a Great film [MASK] .", "no mask"],
    "sentences": [
        "the film is Great .",
        "good",
        "a very dull \u00e9t\u00e9 " * 6,
        "FILMS 12 bad !",
    ],
    "tagged": ["the film is Great .", "good", "FILMS 12 bad !"],
    "tags": ["O B-X I-X O O", "B-X", "B-X B-Y O O"],
    "ends": ["O S-X O O O", "S-X", "B-X E-X O O"],
}
TAGS = ["O", "B-X", "I-X", "B-Y"]
ENDS = ["B-X", "E-X", "I-X", "O", "S-X"]

BERT = {
    "vocabulary_size": 32,
    "hidden_dim": 8,
    "num_layers": 2,
    "num_heads": 4,
    "intermediate_dim": 12,
    "max_sequence_length": 20,
    "num_segments": 3,
    "activation": "gelu",
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "layer_norm_epsilon": 3e-2,
}
ELMO = {
    "embedding_dim": 3,
    "filters": [[1, 4], [2, 5]],
    "num_highways": 1,
    "activation": "tanh",
    "max_characters": 7,
    "lstm_dim": 6,
    "projection_dim": 4,
    "num_layers": 2,
    "cell_clip": 0.5,
    "projection_clip": 0.3,
    "dropout": 0.0,
}
SPELLING = {
    "vocabulary_size": len(CHARACTERS) + 1,
    "pad_character": CHARACTERS.index("<pad>") + 1,
    "word_vocabulary_size": len(SPELLED),
    "word_dim": 5,
    "residual": False,
    "activation": "relu",
    "mix_layer_norm": "allennlp",
}
TAGLM = {
    "vocabulary_size": 24,
    "embedding_dim": 5,
    "num_frozen": 4,
    "character_dim": 3,
    "filters": [[2, 4]],
    "max_characters": 6,
    "lstm_dim": 5,
    "num_layers": 2,
    "lm_positions": [0, 1],
    "lm_layers": "mix",
    "dropout": 0.0,
}


def draw(model, seed=1):
    """Sets every weight at random; returns the model."""
    generator = np.random.default_rng(seed)
    for variable in model.weights:
        if "seed_generator" not in variable.path and "state" not in variable.path:
            mean = 1.0 if variable.path.endswith("gamma") else 0.0
            values = generator.normal(mean, 0.3, variable.shape).astype("float16")
            variable.assign(values.astype("float32"))
    return model


def bert(dtype=None, cased=False, **fields):
    """A tiny BERT with its tokenizer."""
    backbone = build_backbone("bert", {**BERT, **fields}, dtype)
    words = CASED if cased else VOCABULARY
    backbone.tokenizer = WordPieceTokenizer(words, lowercase=not cased)
    return draw(backbone)


def elmo(vocabulary=None, **fields):
    """A tiny ELMo with its tokenizer."""
    backbone = build_backbone("elmo", {**ELMO, **fields})
    longest = backbone.config.max_characters
    backbone.tokenizer = CharacterTokenizer(longest, vocabulary, punctuation=True)
    return draw(backbone)


def spelling_elmo(**fields):
    """A tiny ELMo over the characters of a language and its words."""
    backbone = build_backbone("elmo", {**ELMO, **SPELLING, **fields})
    backbone.tokenizer = UnicodeSpeller(CHARACTERS, SPELLED, max_characters=7)
    return draw(backbone)


def taglm(parts=None, unknown="class", **fields):
    """A tiny tagger with its tokenizer."""
    parts = parts or {}
    tokenizer = TaggerTokenizer(
        [word for word in WORDS if word != "Great"],
        digits_to_zero=True,
        unknown=unknown,
        max_characters=6,
        others={name: part.tokenizer for name, part in parts.items()},
    )
    fields["vocabulary_size"] = tokenizer.vocabulary_size
    backbone = build_backbone("taglm", {**TAGLM, **fields}, parts=parts)
    backbone.tokenizer = tokenizer
    return draw(backbone)


def parts(dropout=0.2):
    """The language models of a tagger, one of words and one of pieces."""
    return {"lm_0": elmo(dropout=dropout), "lm_1": bert(num_layers=1, cased=True)}


def make(name, backbone, optimizer=None, **options):
    """A task on a backbone, with other weights, compiled if there is an optimizer."""
    task = draw(TASKS[name](backbone, backbone.tokenizer, **options), seed=2)
    if optimizer:
        task.compile(optimizer)
    return task


def adamw(backbone=None, rate=0.02):
    """An optimizer with a schedule, and if there is a backbone a rate per layer."""
    options = {"weight_decay": 0.1, "epsilon": 1e-3, "beta_1": 0.8}
    if backbone:
        options |= {"layer_decay": 0.7, "depths": layer_depths(backbone)}
    return AdamW(WarmupLinearDecay(rate, 3, 12), **options)


def adagrad(rate=0.05):
    """Another one."""
    return Adagrad(rate, initial_accumulator_value=0.02, global_clipnorm=0.9)


def classifier(backbone, optimizer=None, **options):
    """A text classifier."""
    options = {"labels": LABELS, "head_dropout": 0.0, **options}
    return make("text_classifier", backbone, optimizer, **options)


def tagger(backbone, optimizer=None, **options):
    """A tagger of spans."""
    options = {"labels": TAGS, "head_dropout": 0.0, "scheme": "IOB2", **options}
    return make("token_classifier", backbone, optimizer, **options)


def trained(task, labels="labels"):
    """The task after two updates."""
    texts = "texts" if labels == "labels" else "tagged"
    for _ in range(2):
        task.train_on_batch(INPUTS[texts], INPUTS[labels])
    return task


def language_model(rows=None):
    """A language model; one that carries states has read and learnt a batch."""
    backbone = elmo(PREDICTED)
    options = {"num_words": len(PREDICTED) + 2, "num_samples": 6, "rows": rows}
    if not rows:
        return make("language_model", backbone, **options)
    task = make("language_model", backbone, adagrad(), **options)
    first, second = streams(task, rows)
    task.train_on_batch(*first)
    task.evaluate(second[0], second[1], sample_weight=second[2], verbose=0)
    return task


def streams(task, rows):
    """Two batches that follow each other, as arrays."""
    ids = np.random.default_rng(3).integers(3, len(PREDICTED), 60)
    tokens = TokenStreams(ids, np.arange(0, 61, 5), rows, 5)
    batches = stream_batches(tokens, PREDICTED, task.tokenizer).map(task.finish)
    return list(batches.take(2).as_numpy_iterator())


def frozen(backbone, *names):
    """The backbone without training of some layers."""
    for name in names:
        backbone.named_layers[name].trainable = False
    return backbone


def with_heads():
    """A masked language model with both heads, and their options on its backbone."""
    base = bert()
    base.head_options = {"head_activation": "relu", "head_layer_norm_epsilon": 0.2}
    return make("masked_lm", base, next_sentence=True, **base.head_options)


TEXTS, PAIRS = ["answer", "texts"], ["answer_pairs", "pairs"]
TRAIN, MASKED = ["train", "texts", "labels"], ["answer", "masked"]
SENTENCES, TRAIN_TAGS = ["answer", "sentences"], ["train", "tagged", "tags"]
OUTPUT, PREDICT = ["sequence_output", "texts"], ["predict", "batch"]


def bert_files():
    """Name, model and asks of every `.keras` file of a BERT."""
    base = bert()
    task = trained(classifier(base, adamw(base), sequence_length=18, pair=True))
    yield "bert_text_classifier", task, [TEXTS, PAIRS, TRAIN]
    base = bert(pooler=False, attention_dropout=0.1)
    base.trainable = False
    task = make("text_regressor", base, "adam", pooling="mean", head_dropout=0.4)
    yield "bert_text_regressor", task, [TEXTS]
    task = make("masked_lm", bert(num_segments=1), mask_rate=0.3)
    yield "bert_masked_lm", task, [MASKED]
    options = {"next_sentence": True, "head_layer_norm_epsilon": 0.2}
    task = make("masked_lm", bert(), adamw(), head_activation="relu", **options)
    yield "bert_masked_lm_next_sentence", task, [MASKED, PREDICT]
    task = make("masked_lm", bert(causal=True, cased=True))
    yield "bert_masked_lm_causal", task, [MASKED, PREDICT]
    options = {"layers": [-2, -1], "pooling": "cls", "normalize": True}
    task = make("text_embedder", bert(activation="gelu_tanh"), **options)
    yield "bert_text_embedder", task, [TEXTS, PAIRS]
    yield "bert_token_classifier", tagger(bert(cased=True), scheme=None), [SENTENCES]
    task = trained(tagger(bert(), adamw(), decoder="crf"), "tags")
    yield "bert_token_classifier_crf", task, [SENTENCES, TRAIN_TAGS]
    base = frozen(bert(), "block_0", "token_embedding")
    task = trained(classifier(base, adamw()))
    yield "bert_frozen_layers", task, [TEXTS, TRAIN]
    task = trained(classifier(bert("mixed_bfloat16"), adamw()))
    yield "bert_mixed_bfloat16", task, [TEXTS, TRAIN]
    yield "bert_backbone", bert(pooler=False, num_heads=2), [OUTPUT]


def elmo_files():
    """Name, model and asks of every `.keras` file of an ELMo."""
    task = trained(classifier(elmo(mix_l2=0.1), adagrad(), pooling="mean"))
    yield "elmo_text_classifier", task, [TEXTS, TRAIN]
    yield "elmo_language_model", language_model(), [TEXTS]
    asks = [["states"], ["evaluate_streams", "streams"], ["train_streams", "streams"]]
    yield "elmo_language_model_rows", language_model(rows=2), asks
    ends = {"labels": ENDS, "decoder": "crf", "scheme": "BIOES"}
    task = tagger(elmo(mix_layer_norm="bilm"), **ends)
    yield "elmo_token_classifier", task, [SENTENCES]
    task = tagger(frozen(elmo(), "forward_0"), adamw(), **ends)
    asks = [SENTENCES, ["train", "tagged", "ends"]]
    yield "elmo_frozen_layer", trained(task, "ends"), asks
    task = make("text_embedder", spelling_elmo(), layers=[0, 2])
    yield "elmo_words_text_embedder", task, [TEXTS]
    yield "elmo_backbone", elmo(mix_top_only=True, lstm_dim=4), [OUTPUT]


def taglm_files():
    """Name, model and asks of every `.keras` file of a TagLM."""
    task = trained(tagger(taglm(parts(), num_layers=1), adamw(), decoder="crf"), "tags")
    yield "taglm_token_classifier", task, [SENTENCES, TRAIN_TAGS]
    options = {"lm_trainable": True, "lm_mix_l2": 0.1, "lm_positions": [1]}
    base = taglm(parts(dropout=0.0), unknown="unk", num_layers=1, **options)
    task = trained(tagger(base, adamw(), decoder="crf"), "tags")
    yield "taglm_trainable_models", task, [SENTENCES, TRAIN_TAGS]
    task = classifier(taglm(num_frozen=0, lm_positions=[]))
    yield "taglm_text_classifier", task, [TEXTS]
    base = taglm(parts(), unknown="random", random_stddev=0.2, lm_layers="top")
    yield "taglm_backbone", base, [OUTPUT]


def presets():
    """Name, model and asks of every preset directory."""
    with tempfile.TemporaryDirectory() as directory:
        with_heads().save_to_preset(directory)
        base = zoo.from_preset(directory, task=None)
    yield "bert_backbone_with_heads", base, [OUTPUT]
    yield "bert_text_classifier", classifier(bert(), pair=True), [TEXTS, PAIRS]
    task = make("masked_lm", bert(cased=True), head_activation="gelu_tanh")
    yield "bert_masked_lm", task, [MASKED, PREDICT]
    task = make("text_embedder", bert(), pooling="cls", normalize=True, layers=[1])
    yield "bert_text_embedder_float16", task, [TEXTS]
    yield "elmo_language_model", language_model(), [TEXTS]
    yield "elmo_words_backbone", spelling_elmo(), [OUTPUT]
    task = tagger(taglm(parts(), num_layers=1), decoder="crf")
    yield "taglm_token_classifier", task, [SENTENCES]


def save(directory):
    """Saves every model; returns dict of name to case, and of name to model."""
    cases, models = {}, {}
    for name, model, asks in (*bert_files(), *elmo_files(), *taglm_files()):
        path = directory / f"{name}.keras"
        model.save(path)
        packed = path.with_suffix(".keras.xz")
        packed.write_bytes(lzma.compress(path.read_bytes(), preset=9))
        path.unlink()
        cases[name], models[name] = {"path": packed.name, "asks": asks}, model
        if name.endswith("bfloat16"):
            cases[name]["atol"] = 0.03
    for path, model, asks in presets():
        dtype = "float16" if path.endswith("float16") else "float32"
        model.save_to_preset(directory / path, dtype=dtype)
        name = f"preset_{path}"
        cases[name], models[name] = {"path": path, "asks": asks}, model
    options = {"task": "masked_lm", "next_sentence": True}
    case = {"path": "bert_backbone_with_heads", "options": options}
    cases["preset_bert_spare_heads"] = {**case, "asks": [MASKED, PREDICT]}
    models["preset_bert_spare_heads"] = with_heads()
    return cases, models


def batches():
    """Arrays that are inputs: a batch of ids, and one of streams."""
    ids = np.random.default_rng(4).integers(5, len(CASED), (3, 7))
    ids[:, 0], ids[1, 4:] = 2, 0
    batch = {
        "token_ids": ids,
        "segment_ids": np.array(
            [[0] * 7, [0, 0, 1, 1, 0, 0, 0], [0, 0, 2, 2, 1, 1, 1]]
        ),
        "mask_positions": np.array([[1, 3], [2, 0], [6, 5]]),
    }
    x, y, weight = streams(language_model(), 2)[1]
    return {"batch": batch, "streams": {**x, "y": y, "weight": weight}}


def main(directory):
    """Writes the files and what is expected of them.

    Args:
        directory: `pathlib.Path`, replaced.
    """
    keras.utils.set_random_seed(5)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    cases, models = save(directory)
    arrays = {
        f"inputs/{name}/{key}": value
        for name, batch in batches().items()
        for key, value in batch.items()
    }
    document = {"inputs": INPUTS, "cases": cases}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (directory / "cases.json").write_text(text + "\n", "utf-8")
    np.savez_compressed(directory / "expected.npz", **arrays)
    inputs = earlier_files.read_inputs(directory)
    for name, case in cases.items():
        model = earlier_files.load(directory, case)
        found = earlier_files.measure(model, case["asks"], inputs)
        answers = earlier_files.measure(models[name], case["asks"], inputs)
        for key, value in answers.items():
            # A preset has other states than the model that it was saved from.
            if "/" in key or not name.startswith("preset"):
                atol = case.get("atol", earlier_files.ATOL)
                earlier_files.compare(found[key], value, key, atol)
        arrays |= {f"{name}/{key}": value for key, value in found.items()}
    np.savez_compressed(directory / "expected.npz", **arrays)


if __name__ == "__main__":
    main(pathlib.Path(__file__).parent / "earlier_files")
