"""Makes a recurrent tagger from tagged sentences, vectors and language models."""

import dataclasses
import os

import keras
import numpy as np

from zoo import registry
from zoo.backbone.freezing import freeze_layers, frozen_layers
from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import CheckedFields, Positive, Probability
from zoo.layers import quantize_again, quantized_layers
from zoo.models.taglm import TagLM, TagLMConfig
from zoo.models.taglm.model import PIECES
from zoo.programs.vocabulary.vocabulary_transfer import copy_task
from zoo.tasks import TokenClassifier
from zoo.tasks.inputs.text_input import join_words
from zoo.tasks.task_saving import without_state
from zoo.text import TaggerTokenizer, count_words, extend_tokenizer, match_vectors

DEFAULT_EPOCHS = 10  # of `fit` by default, since most of the weights are new
# What a tagger reads if nothing is said, and how: the best of those that were compared
# on names in news, tweets and Wikipedia, see `benchmarks/tagger_defaults`.
DEFAULT_MODELS = ("bert_mini_en_uncased_distilled",)
DEFAULT_READING = {"lm_positions": (0,), "lm_layers": "mix"}


@dataclasses.dataclass(frozen=True)
class TaggerSettings(CheckedFields):
    """The head of a tagger, and its learning rate.

    Args:
        decoder, scheme, head_dropout: see `zoo.TokenClassifier`.
        learning_rate: float, the peak, which becomes the default of the tagger.
    """

    decoder: str = "crf"
    scheme: str | None = None
    head_dropout: Probability = 0.5
    learning_rate: Positive = 3e-3


@numbers_checked(skip=("minimum",))  # which may be None
def make_tagger(
    words,
    tags,
    language_models=None,
    vectors=None,
    *,
    minimum=2,
    limit=None,
    unknown="unk",
    seed=None,
    dtype=None,
    **options,
):
    """Makes a TagLM tagger whose vocabulary and labels come from tagged sentences.

    By default, the tagger reads words, their characters, and a mix of the layers of
    `bert_mini_en_uncased_distilled`, a language model of English. Without a language
    model, a linear chain on features of words may be better.

    `fit` trains for 10 epochs by default. With pretrained vectors, the vocabulary has
    all their words too. Those that `minimum` or `limit` excludes are not trained.

    Args:
        words, tags: list of lists of str, or of str with white space, one for each
            sentence, see `zoo.data.read_conll`.
        language_models: list of names of presets, directories, or backbones, of words
            or of word pieces, whose `trainable` is set to `lm_trainable`; () for none.
            By default, a BERT, with `lm_layers="mix"` and `lm_positions=(0,)`.
        vectors: words and their vectors, see `zoo.checkpoint.read_vectors`, or None.
        minimum, limit: int or None, of a word's occurrences, and of words, for vectors.
        unknown: how other words are represented, see `zoo.text.WordTokenizer`.
        seed: int, of the weights; sets Keras' seeds.
        dtype: policy of the model, such as "mixed_bfloat16".
        **options: decoder, scheme, head_dropout, learning_rate, see `TaggerSettings`;
            and fields of `zoo.models.taglm.TagLMConfig`, such as `lstm_dim=100`. With
            a BERT, a window has by default half as many words as it has positions.

    Returns:
        `zoo.TokenClassifier`, compiled.

    Raises:
        TypeError: if `language_models` is not a list.
        ValueError: if a field or an option is unknown or does not fit.
    """
    chosen, config = TaggerSettings.split(options)
    if seed is not None:
        keras.utils.set_random_seed(seed)
    if language_models is None:
        language_models, config = DEFAULT_MODELS, {**DEFAULT_READING, **config}
    parts = _read_models(language_models, dtype)
    vocabulary = None
    if minimum is not None:
        vocabulary = count_words(join_words(words), minimum, limit)
    backbone = _make_backbone(vocabulary, unknown, vectors, parts, config, dtype)
    head = dataclasses.asdict(chosen)
    rate = head.pop("learning_rate")
    backbone.defaults = {"learning_rate": rate, "epochs": DEFAULT_EPOCHS}
    model = TokenClassifier(backbone, backbone.tokenizer, _tag_names(tags), **head)
    model.compile(learning_rate=rate)
    return model


def _tag_names(tags):
    """The different tags of words, sorted; ValueError if one is no tag."""
    rows = [row.split() if isinstance(row, str) else row for row in tags]
    flat = [tag for row in rows for tag in row]
    soft = [tag for tag in flat if isinstance(tag, (list, tuple, np.ndarray))]
    if soft:
        raise ValueError(
            "`tags` must name the tag of every word. Received: the probabilities "
            f"{soft[0]!r:.60}. Make the tagger with tags, and give probabilities to "
            "`fit`."
        )
    return sorted({*flat})


def extend_vocabulary(model, words, vectors):
    """Makes a copy of a trained tagger that has the vectors of more words.

    The answers to texts without the new words are the same, bit for bit. Training does
    not change the new vectors.

    Args:
        model: `zoo.TokenClassifier`, or another task, on a TagLM; it is not changed.
        words: list of str (N,), as `zoo.checkpoint.read_vectors` returns them.
        vectors: float (N, D), with D as in the model. They should be of the same file
            as the vectors that the model was trained with.

    Returns:
        A task of the same class, compiled as `model` is. It shares the language models
        with `model`. The state of its optimizer is new.

    Raises:
        ValueError: if the model has no word vectors, or vectors of another width.
    """
    old = model.backbone
    if not isinstance(old, TagLM) or model.tokenizer.words is None:
        raise ValueError(
            "The model must be a TagLM with word vectors. Received: a model of family "
            f"{old.family!r} without them. See `zoo.make_tagger`."
        )
    tokenizer, more = _with_unseen(model.tokenizer, words)
    ids, rows = match_vectors(tokenizer.words, words, vectors)
    config = dataclasses.replace(
        old.config,
        vocabulary_size=tokenizer.vocabulary_size,
        num_frozen=old.config.num_frozen + more,
    )
    frozen = frozen_layers(model)  # before the new model shares language models
    backbone = TagLM(config, old.dtype_policy, old.name, old.parts)
    backbone.defaults, backbone.head_options = dict(old.defaults), old.head_options
    copy = copy_task(model, backbone, tokenizer)
    quantize_again(copy, quantized_layers(model))
    layer = backbone.named_layers["word_embedding"]
    # Language models are shared. Their layers may have the same names as the tagger's.
    apart = {id(v) for part in (layer, *old.parts.values()) for v in part.variables}
    trained = {v.path: v for v in model.weights if id(v) not in apart}
    for variable in copy.weights:
        if id(variable) not in apart:
            variable.assign(trained[variable.path])
    table = old.named_layers["word_embedding"].table()
    layer.assign_rows(np.arange(len(table)), table)
    layer.assign_rows(ids[ids >= len(table)], rows[ids >= len(table)])
    for task in (model, copy):
        freeze_layers(task, frozen)
    if model.compiled:
        copy.compile_from_config(without_state(model.get_compile_config()))
    return copy


def _read_models(models, dtype):
    """Loads the language models: a dict of their names in the tagger to backbones."""
    if isinstance(models, str | os.PathLike):
        raise TypeError(f"`language_models` must be a list. Received: {models!r}.")
    return {
        f"lm_{number}": registry.from_preset(model, task=None, dtype=dtype)
        if isinstance(model, str | os.PathLike)
        else model
        for number, model in enumerate(models)
    }


def _make_backbone(vocabulary, unknown, vectors, parts, config, dtype):
    """Makes the backbone of the tagger, with its tokenizer and the word vectors."""
    if vectors is not None and not len(vectors[0]):
        raise ValueError("`vectors` must hold words. Received: none.")
    config = {"filters": TagLMConfig.filters, **config}
    longest = config.get("max_characters", TagLMConfig.max_characters)
    tokenizer = TaggerTokenizer(
        vocabulary,
        unknown=unknown,
        max_characters=longest if config["filters"] else None,
        others={name: part.tokenizer for name, part in parts.items()},
    )
    if vectors is not None:
        tokenizer, config["num_frozen"] = _with_unseen(tokenizer, vectors[0])
        config["embedding_dim"] = len(vectors[1][0])
    config["vocabulary_size"] = tokenizer.vocabulary_size
    pieces = [part for part in parts.values() if part.tokens == PIECES]
    positions = [part.config.max_sequence_length for part in pieces]
    if any(positions):
        # Most words have one piece or two; pieces beyond the positions are not read.
        config.setdefault("max_sequence_length", min(filter(None, positions)) // 2)
    backbone = registry.build_backbone(TagLM.family, config, dtype, parts)
    backbone.tokenizer = tokenizer
    if vectors is not None:
        found = match_vectors(tokenizer.words, *vectors)
        backbone.named_layers["word_embedding"].assign_rows(*found)
    return backbone


def _with_unseen(tokenizer, words):
    """Adds the words that the tokenizer lacks; returns it and their number."""
    if tokenizer.words is None:
        raise ValueError(
            "Word vectors need a vocabulary. Received: `vectors` with minimum=None. "
            "Give a number as `minimum`."
        )
    extended, places = extend_tokenizer(tokenizer.words, words)
    config = {**tokenizer.get_config(), "vocabulary": extended.vocabulary}
    return TaggerTokenizer.from_config(config), len(places)
