"""The vectors of a text and of its words, as a student of distillation learns them."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo.data import WordPacker
from zoo.layers import Pooling
from zoo.tasks.base import Task


@keras.saving.register_keras_serializable(package="zoo")
class TextAndWordEmbedder(Task):
    """Predicts the vector of a text, and after it those of its words.

    The vector of the text is the mean over all tokens, as of `zoo.TextEmbedder`. The
    vector of a word is that of its first piece. All have length 1. Words are separated
    by white space.

    Inputs:
        texts (B,); those of the graph are the backbone's and word_positions int32
        (B, W), see `zoo.TokenClassifier`.

    Returns:
        float32 (B, 1 + W, D).

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> model = TextAndWordEmbedder(BERT(BERTConfig(11, 4, 1, 2, 8)))
        >>> model.output_shape
        (None, None, 4)
    """

    task_name = "text_and_word_embedder"
    columns = ("text",)
    optional_columns = ()
    packer = WordPacker

    def __init__(self, backbone, tokenizer=None, **kwargs):
        inputs = backbone.make_inputs(backbone.config)
        sequence = backbone(inputs)["sequence_output"]
        pooling = Pooling("mean", dtype="float32", name="pooling")
        text = pooling(sequence, inputs["padding_mask"])
        places = keras.Input((None,), dtype="int32", name="word_positions")
        words = ops.take_along_axis(
            ops.cast(sequence, "float32"), ops.maximum(places, 0)[:, :, None], axis=1
        )
        vectors = ops.concatenate([text[:, None], words], axis=1)
        inputs["word_positions"] = places
        vectors = ops.normalize(vectors, axis=-1, epsilon=1e-12)
        super().__init__(inputs, vectors, backbone, tokenizer, {}, **kwargs)

    def default_loss(self):
        """Mean squared error."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")


def with_words(model):
    """A `TextAndWordEmbedder` with the backbone and the tokenizer of a model."""
    return TextAndWordEmbedder(
        model.backbone, model.tokenizer, sequence_length=model.sequence_length
    )


def embed_words(model, texts, batch_size=256):
    """The vectors of all words of texts, float16 (words, D), text after text.

    The vector of a word beyond the longest row of the model is 0.
    """
    counts = count_words(model.tokenizer, texts)
    vectors = np.zeros((counts.sum(), model.output_shape[-1]), "float16")
    begins = np.cumsum(counts) - counts
    order = np.argsort([len(text) for text in texts], kind="stable")
    for start in range(0, len(texts), batch_size):
        rows = order[start : start + batch_size]
        x = model.preprocessor((tf.constant([texts[row] for row in rows]),))
        found = ops.convert_to_numpy(model.predict_on_batch(x))[:, 1:]
        row, word = np.nonzero(x["word_positions"].numpy() >= 0)
        vectors[begins[rows[row]] + word] = found[row, word]
    return vectors


def count_words(tokenizer, texts):
    """The number of words of each text, int64 (N,)."""
    return tokenizer.split(texts)[0].row_lengths().numpy()


def agreeing_words(texts, *tokenizers):
    """Which words two tokenizers divide into the same pieces, bool (words,)."""
    words, place = tf.unique(tokenizers[0].split(texts)[0].values)
    spelled = []
    for tokenizer in tokenizers:
        pieces = tokenizer.pieces(words)
        strings = tf.gather(tf.constant(tokenizer.vocabulary), pieces.values)
        joined = tf.strings.reduce_join(pieces.with_values(strings), 1, separator=" ")
        unknown = tf.reduce_any(pieces == tokenizer.unknown_id, axis=1)
        spelled.append(tf.where(unknown, "", joined))
    same = (spelled[0] == spelled[1]) & (spelled[0] != "")
    return tf.gather(same, place).numpy()
