"""Tiny models that `make_earlier_files.py` saves."""

import numpy as np

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
        "dull [MASK] 1999 films",
        "very very bad, the film",
    ],
    "short": ["a film", "the"],
    "reviews": ["the film is good .", "a dull movie , not fine", "so bad !"],
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
    generator = np.random.default_rng(seed)
    for variable in model.weights:
        if "seed_generator" not in variable.path and "state" not in variable.path:
            mean = 1.0 if variable.path.endswith("gamma") else 0.0
            values = generator.normal(mean, 0.3, variable.shape).astype("float16")
            variable.assign(values.astype("float32"))
    return model


def bert(dtype=None, cased=False, **fields):
    backbone = build_backbone("bert", {**BERT, **fields}, dtype)
    words = CASED if cased else VOCABULARY
    backbone.tokenizer = WordPieceTokenizer(words, lowercase=not cased)
    return draw(backbone)


def elmo(vocabulary=None, **fields):
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


def adamw(backbone=None, warmup_steps=3):
    """An optimizer with a schedule, and if there is a backbone a rate per layer."""
    options = {"weight_decay": 0.1, "epsilon": 1e-3, "beta_1": 0.8}
    if backbone:
        options |= {"layer_decay": 0.7, "depths": layer_depths(backbone)}
    rate = WarmupLinearDecay(0.02, warmup_steps, 12)
    return AdamW(rate, global_clipnorm=0.1, **options)


def adagrad():
    return Adagrad(0.05, initial_accumulator_value=0.02, global_clipnorm=0.1)


def classifier(backbone, optimizer=None, **options):
    options = {"labels": LABELS, "head_dropout": 0.0, **options}
    return make("text_classifier", backbone, optimizer, **options)


def tagger(backbone, optimizer=None, **options):
    options = {"labels": TAGS, "head_dropout": 0.0, "scheme": "IOB2", **options}
    return make("token_classifier", backbone, optimizer, **options)


def trained(task, labels="labels"):
    texts = "texts" if labels == "labels" else "tagged"
    for _ in range(2):
        task.train_on_batch(INPUTS[texts], INPUTS[labels])
    return task


def language_model(rows=None):
    """A language model; one that carries states has read and learnt a batch."""
    backbone = elmo(PREDICTED)
    options = {"num_words": len(PREDICTED) + 2, "num_samples": 6, "rows": rows}
    if not rows:
        return make("bidirectional_lm", backbone, **options)
    task = make("bidirectional_lm", backbone, adagrad(), **options)
    first, second = streams(task, rows)
    task.train_on_batch(*first)
    task.evaluate(second[0], second[1], sample_weight=second[2], verbose=0)
    return task


def streams(task, rows):
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
