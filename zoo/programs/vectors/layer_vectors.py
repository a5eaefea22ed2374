"""The vectors of words and texts in every layer of a model, as arrays."""

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.number_rules import check_layers, numbers_checked
from zoo.data import Packer, WordWindowPacker
from zoo.programs.vectors.model_and_texts import check_texts, load_model
from zoo.tasks import Task
from zoo.tasks.inputs.text_input import as_columns, join_words

ROWS_AT_ONCE = 32  # texts that a model reads together
# And the most bytes of them, if they were as long as the longest one.
BYTES_AT_ONCE = 2**17
OUTPUT_NAMES = ("layer_outputs", "encoder_layer_outputs")  # of a translator


@numbers_checked()
def embed_words(texts, preset, layers=(-1,), *, batch_size=ROWS_AT_ONCE, **options):
    """Computes a vector for each word of texts.

    Words are separated by white space. The vector of a word is that of its first token,
    as in `zoo.TokenClassifier`. Texts that are too long for the model are read in
    windows that overlap.

    Source: Devlin et al. 2019, section 5.3.

    Args:
        texts: list of str (B,), or of lists of words. White space in a word becomes
            "_".
        preset: see `zoo.from_preset`; or a backbone with a tokenizer, or a task. Of an
            encoder-decoder, the layers are those of the encoder.
        layers: list of int, the layers whose vectors are returned. 0 is the embeddings,
            in TagLM the first LSTMs; negative numbers count from the last layer. None
            for all.
        batch_size: int, the most texts, and windows of long texts, that are read
            together.
        **options: of `zoo.from_preset`.

    Returns:
        list of float32 (W, layers, D), one for each text, which has W words.
        `vectors.reshape(len(vectors), -1)` concatenates the layers.

    Raises:
        TypeError: if `texts` is one string, or not all texts are str or lists of str.
        ValueError: if a word of a list is empty, the model has no tokenizer or no such
            layer, or options are given for a model.
    """
    check_texts(texts)
    model = load_model(preset, options)
    vectors, counts = word_vectors(model, list(texts), layers, batch_size)
    return np.split(vectors, np.cumsum(counts)[:-1]) if len(counts) else []


def word_vectors(model, sentences, chosen=None, batch_size=ROWS_AT_ONCE, places=None):
    """Computes the vectors of words in layers; see `embed_words`, also for errors.

    Args:
        model: `zoo.backbone.Backbone` with a tokenizer, or a task.
        sentences: list of str, or of lists of words, see `join_words`.
        chosen: list of int, the layers, or None for all.
        batch_size: see `embed_words`.
        places: list of lists of int, for each sentence the words that are wanted, from
            0; or None for all.

    Returns:
        float32 (W, layers, D), the words of all sentences one after the other, and int
        (S,), the number of words of each sentence.
    """
    backbone, name = _encoder(model)
    longest = backbone.config.max_sequence_length
    packer = WordWindowPacker(backbone.tokenizer, longest)
    (texts,) = as_columns(join_words(list(sentences)))
    compute, count, width = _layers(backbone, name)
    numbers = list(range(count)) if chosen is None else check_layers(chosen)
    if not numbers or any(not -count <= number < count for number in numbers):
        raise ValueError(
            f"The layers must be numbers in [-{count}, {count}). Received: {numbers}. "
            "Use -1 for the last layer."
        )
    numbers = [number % count for number in numbers]

    def layers(x):
        return tf.gather(compute(x), numbers, axis=1)

    found = {}
    for rows in _blocks(texts, batch_size):
        x, sizes = packer.windows((tf.gather(texts, rows),))
        vectors = [
            _words(layers, {k: v[begin : begin + batch_size] for k, v in x.items()})
            for begin in range(0, len(x["word_positions"]), batch_size)
        ]
        parts = np.split(np.concatenate(vectors), np.cumsum(sizes)[:-1])
        for row, part in zip(rows.tolist(), parts, strict=True):
            found[row] = part if places is None else part[places[row]]
    parts = [found[row] for row in range(len(found))]
    none = np.zeros((0, len(numbers), width), "float32")
    return np.concatenate([none, *parts]), np.array([*map(len, parts)], "int64")


def _blocks(texts, batch_size, longest=None):
    """Yields int arrays, the rows of texts that are read together, longest first."""
    lengths = tf.strings.length(texts).numpy()
    if longest is not None:  # tokens; further ones are not read
        lengths = np.minimum(lengths, 8 * longest)
    order = np.argsort(lengths, kind="stable")[::-1]
    while len(order):
        count = min(max(BYTES_AT_ONCE // max(lengths[order[0]], 1), 1), batch_size)
        yield order[:count]
        order = order[count:]


def _words(layers, x):
    """The vectors of the words of rows, a numpy array (W, layers, D)."""
    positions = x["word_positions"]
    hidden = layers(x)
    places = tf.maximum(positions, 0)[:, None]
    places = tf.repeat(places, hidden.shape[1], axis=1)
    hidden = tf.gather(hidden, places, axis=2, batch_dims=2)
    hidden = tf.transpose(hidden, (0, 2, 1, 3))
    return tf.boolean_mask(hidden, positions >= 0).numpy()


def text_vectors(model, texts, batch_size=ROWS_AT_ONCE):
    """Computes the mean vectors of texts in all layers, special tokens included.

    Texts that are too long for the model are truncated. Returns float32 (B, N + 1, D).
    """
    backbone, name = _encoder(model)
    longest = backbone.config.max_sequence_length
    packer = Packer(backbone.tokenizer, longest)
    layers, *shape = _layers(backbone, name)
    (texts,) = as_columns(texts)
    found = np.zeros((len(texts), *shape), "float32")
    for rows in _blocks(texts, batch_size, longest):
        x = packer((tf.gather(texts, rows),))
        mask = tf.cast(x["padding_mask"], tf.float32)[:, None, :, None]
        total = tf.reduce_sum(layers(x) * mask, axis=2)
        found[rows] = total / tf.maximum(tf.reduce_sum(mask, axis=2), 1.0)
    return found


def _encoder(model):
    """The backbone of a model, and the name of its output of layers."""
    backbone = model.backbone if isinstance(model, Task) else model
    name = next((name for name in OUTPUT_NAMES if name in backbone.on_request), None)
    if name is None or backbone.tokenizer is None:
        raise ValueError(
            "The vectors of layers need a model that encodes one sequence, with a "
            f"tokenizer. Received: one of family {backbone.family!r}."
        )
    return backbone, name


def _layers(backbone, name):
    """A function of the inputs of an encoder to float32 (B, N + 1, L, D), N + 1 and D.

    It is stored with the backbone, until the backbone has other variables. `name` is
    that of its output, see `_encoder`.
    """
    key = name, *map(id, backbone.variables)
    if backbone.answer_function is None or backbone.answer_function[0] != key:
        backbone.answer_function = key, _compile(backbone, name)
    return backbone.answer_function[1]


def _compile(backbone, name):
    """What `_layers` returns."""
    whole = backbone.with_outputs(name)
    prefix = name.removesuffix(OUTPUT_NAMES[0])
    inputs = {
        key: symbol for key, symbol in whole.input.items() if key.startswith(prefix)
    }
    encoder = keras.Model(inputs, whole.output[name])
    signature = {
        key: tf.TensorSpec([None] * len(symbol.shape), symbol.dtype)
        for key, symbol in inputs.items()
    }

    @tf.function(input_signature=[signature], autograph=False)
    def compute(x):
        return tf.cast(encoder(x, training=False), tf.float32)

    _, count, _, width = encoder.output_shape
    named = {key.removeprefix(prefix): key for key in signature}
    return lambda x: compute({k: x[n] for n, k in named.items()}), count, width
