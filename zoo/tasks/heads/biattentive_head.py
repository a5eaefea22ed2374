"""The biattentive classification network, on the vectors of any backbone."""

import dataclasses

import keras
from keras import ops

from zoo.data import COLUMN_PREFIXES, SeparatePacker, features_of
from zoo.layers import LSTM, AttentivePooling, Biattention, Maxout
from zoo.tasks.heads.head import Head, register_head
from zoo.tasks.heads.separate_texts import separate_inputs

MAX_HEAD_DIM = 300  # of `head_dim`, if it is not given
LEARNING_RATE = 1e-3  # that of AllenNLP's `bcn`
# Dropout of the word vectors, of the first dense layer, and of the inputs of the three
# maxout layers, as multiples of that of the pooled vectors, which is 0.1 in AllenNLP.
WORD_DROPOUT, DENSE_DROPOUT, MAXOUT_DROPOUTS = 5.0, 2.5, (1.0, 2.0, 3.0)


@register_head
@dataclasses.dataclass(frozen=True, kw_only=True)
class BiattentiveHead(Head):
    """The biattentive classification network, the option `head="biattentive"`.

    Each text is encoded alone: dense layer with ReLU, bidirectional LSTM. Biattention
    compares the two texts, or a single text with itself. A bidirectional LSTM and
    `AttentivePooling` make a vector of each text. Both LSTMs have `dim` units in each
    direction. Two hidden maxout layers of 4 and 2 times `dim` units and a last one
    follow. It is made for single texts or, with `pair=True`, for pairs, and takes no
    others.

    Source: McCann et al. 2017, section 4, for two texts, each with its own LSTMs and
    pooling after the biattention. AllenNLP's `bcn` for a single text, for the widths,
    which it has with a `dim` of 300, and for the probabilities of dropout, which it has
    with a `dropout` of 0.1. As in AllenNLP, there are no batch norms. With those of the
    paper, the loss outside training was much higher after a few epochs on 1,000
    questions of TREC-6.

    Args:
        dim: int, the option `head_dim`. The default is the width of the backbone's
            vectors, but at most 300.
        dropout: float in [0, 0.2), of the pooled vectors. The other probabilities are
            proportional: 5 times as large for the vectors of words, 2.5 times after the
            dense layer, and 2 and 3 times after the hidden maxout layers.
    """

    name = "biattentive"
    learning_rate = LEARNING_RATE

    dim: int | None = None

    def resolve(self, backbone, task_name, pair=False, symmetric=False):
        """See `Head`."""
        if not 0 <= self.dropout < 1 / WORD_DROPOUT:
            raise ValueError(
                f"`head_dropout` must be in [0, {1 / WORD_DROPOUT}) with "
                f'`head="biattentive"`, since the dropout of words is '
                f"{WORD_DROPOUT:.0f} times as large. Received: "
                f"{self.dropout}. The default is 0.1."
            )
        width = backbone.output["sequence_output"].shape[-1]
        return dataclasses.replace(self, dim=self.dim or min(MAX_HEAD_DIM, width))

    def is_separate(self, backbone):
        """See `Head`."""
        return True

    def make_inputs(self, backbone, pair):
        """See `Head`."""
        return separate_inputs(backbone, pair)

    def packer(self, backbone, arrangements=None):
        """See `Head`."""
        return SeparatePacker

    def outputs(self, backbone, inputs, units):
        """See `Head`."""
        options = {"dtype": backbone.dtype_policy.name}
        texts = encode_texts(backbone, inputs, self.dim, self.dropout, options)
        compare, vectors = Biattention(name="biattention", **options), []
        # A single text is its own other one.
        for number, (text, other) in enumerate(zip(texts, texts[::-1], strict=True)):
            prefix, mask = COLUMN_PREFIXES[number], text[1]
            integrate = make_lstms(self.dim, f"{prefix}integrator", options)
            x = run_lstms(integrate, compare(text[0], *other), mask)
            pooling = AttentivePooling(name=f"{prefix}pooling", **options)
            vectors.append(pooling(x, mask))
        x = ops.concatenate(vectors, axis=-1) if len(vectors) > 1 else vectors[0]
        layers = [
            Maxout(4 * self.dim, name="hidden_1", **options),
            Maxout(2 * self.dim, name="hidden_2", **options),
            Maxout(units, dtype="float32", name="classifier"),
        ]
        for factor, layer in zip(MAXOUT_DROPOUTS, layers, strict=True):
            drop = keras.layers.Dropout(
                factor * self.dropout, name=f"{layer.name}_dropout", **options
            )
            x = layer(drop(x))
        return x

    def fits(self, saved, backbone, pair):
        """See `Head`."""
        same = (self.dim, pair) == (saved.get("head_dim"), saved.get("pair", False))
        return same and super().fits(saved, backbone, pair)


def encode_texts(backbone, inputs, head_dim, dropout, options):
    """Vectors (B, L, 2 head_dim) and mask (B, L) of each text, by shared layers."""
    layers = [
        keras.layers.Dropout(WORD_DROPOUT * dropout, name="word_dropout", **options),
        keras.layers.Dense(head_dim, "relu", name="word_dense", **options),
        keras.layers.Dropout(DENSE_DROPOUT * dropout, name="dense_dropout", **options),
    ]
    lstms, found = make_lstms(head_dim, "text", options), []
    for prefix in COLUMN_PREFIXES:
        column = features_of(inputs, prefix)
        if column:
            x, mask = backbone(column)["sequence_output"], column["padding_mask"]
            for layer in layers:
                x = layer(x)
            found.append((run_lstms(lstms, x, mask), mask))
    return found


def make_lstms(units, name, options):
    """Makes the LSTMs of both directions, a list."""
    return [
        LSTM(units, reverse=reverse, name=f"{name}_{direction}", **options)
        for direction, reverse in (("forward", False), ("backward", True))
    ]


def run_lstms(lstms, x, mask):
    """The concatenated outputs (B, L, 2 units) of LSTMs from `make_lstms`."""
    return ops.concatenate([lstm(x, mask)[0] for lstm in lstms], axis=-1)
