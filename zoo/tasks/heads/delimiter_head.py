"""The input of GPT's tasks: texts between special tokens, and a second loss."""

import dataclasses
import functools

import keras
from keras import ops

from zoo.data import AlternativesPacker, Packer
from zoo.layers import MergeRows, SplitRows
from zoo.tasks.heads.head import Head, register_head
from zoo.tasks.losses.label_smoothing import token_losses
from zoo.text import Framing

LM_WEIGHT = 0.5  # of the loss of the language model
BOTH_ORDERS = ((0, 1), (1, 0))  # of the columns of a pair
NUM_SPECIALS = 3  # start, delimiter and classify


@keras.saving.register_keras_serializable(package="zoo")
class NextTokenLoss(keras.layers.Layer):
    """Adds the loss of the next token in training; returns the vectors as they are.

    For each row, the loss is the mean over its tokens but the first, special ones
    included. `weight` times the mean over rows is added to the loss of the model. The
    weights of rows are not used.

    Source: Radford et al. 2018, section 3.2, equation 5. In the released code, the
    softmax also has the rows of the positions, which are in the same table.

    Args:
        head: `zoo.layers.TokenLogits`.
        special_embedding: `keras.layers.Embedding`, vectors of the tokens beyond the
            vocabulary.
        weight: float, lambda of the paper.

    Inputs:
        sequence (B, L, D); token_ids and padding_mask int32 (B, L).

    Returns:
        (B, L, D), the sequence.

    Example:
        >>> from zoo.layers import TokenLogits
        >>> words, special = (keras.layers.Embedding(n, 2, "zeros") for n in (5, 3))
        >>> layer = NextTokenLoss(TokenLogits(5, words), special, weight=0.5)
        >>> ids = ops.ones((1, 4), "int32")
        >>> _ = layer(words(ids) + special(ids), ids, ids, training=True)
        >>> round(float(layer.losses[0]), 3)  # log(5 + 3) / 2
        1.04
    """

    def __init__(self, head, special_embedding, weight, **kwargs):
        super().__init__(**kwargs)
        self.head = head
        self.special_embedding = special_embedding
        self.weight = weight

    def build(self, sequence_shape, *args):
        """Builds the head; both tables belong to embeddings."""
        self.head.build(sequence_shape)
        self.built = True

    def call(self, sequence, token_ids, padding_mask, training=None):
        """Adds the loss; see the class."""
        if not training:
            return sequence
        vectors, following = sequence[:, :-1], token_ids[:, 1:]
        table = ops.transpose(self.special_embedding.embeddings)
        special = ops.matmul(vectors, ops.cast(table, vectors.dtype))
        logits = [self.head(vectors), ops.cast(special, "float32")]
        losses = token_losses(ops.concatenate(logits, axis=-1), following)
        weights = ops.cast(padding_mask[:, 1:] > 0, "float32")
        count = ops.maximum(ops.sum(weights, axis=1), 1.0)
        losses = ops.sum(losses * weights, axis=1) / count
        # A row without tokens is one of those that devices of JAX need.
        rows = ops.sum(ops.cast(ops.any(padding_mask > 0, axis=1), "float32"))
        self.add_loss(self.weight * ops.sum(losses) / ops.maximum(rows, 1.0))
        return sequence

    def compute_output_spec(self, sequence, token_ids, padding_mask, training=None):
        """The shape and dtype of the sequence."""
        return keras.KerasTensor(sequence.shape, dtype=sequence.dtype)


def delimiter_framing(first):
    """The special tokens of a row: `first` is the id of `start`."""
    return Framing((first,), (first + 1,), (first + 2,))


def special_embedding(backbone):
    """A new table with the vectors of the special tokens."""
    config = backbone.config
    return keras.layers.Embedding(
        NUM_SPECIALS,
        config.hidden_dim,
        keras.initializers.TruncatedNormal(stddev=config.initializer_range),
        name="special_embedding",
        dtype=backbone.dtype_policy,
    )


def sequence_inputs(backbone, count=None):
    """The symbolic inputs of a backbone, for rows of `count` sequences or of one."""
    inputs = backbone.make_inputs(backbone.config)
    if count is None:
        return inputs
    return {
        name: keras.Input((count, *symbol.shape[1:]), dtype=symbol.dtype, name=name)
        for name, symbol in inputs.items()
    }


def merge_rows(inputs):
    """Inputs (B, N, ...) as inputs (B N, ...)."""
    merge = MergeRows(name="merge_rows")
    return {name: merge(symbol) for name, symbol in inputs.items()}


def split_rows(x, count):
    """A symbolic tensor (B N, ...) as (B, N, ...)."""
    return SplitRows(count, name="split_rows")(x)


def classify_vector(backbone, inputs, lm_weight):
    """The vector (B, D) of the last token of each sequence, which is `classify`.

    The vectors of the three special tokens are new weights of the task.

    Source: Radford et al. 2018, section 3.3; released code `train.py`.
    """
    config, special = backbone.config, special_embedding(backbone)
    layers = {**backbone.named_layers, special.name: special}
    ids, mask = inputs["token_ids"], inputs["padding_mask"]
    last = ops.maximum(ops.sum(mask, axis=1, keepdims=True) - 1, 0)
    if not lm_weight:
        found = backbone.connect_at(config, layers, inputs, last)
        return found["sequence_output"][:, 0]
    sequence = backbone.connect(config, layers, inputs)["sequence_output"]
    head = backbone.make_token_head()
    added = NextTokenLoss(
        head, special, lm_weight, name="next_token_loss", dtype=backbone.dtype_policy
    )
    sequence = added(sequence, ids, mask)
    return ops.take_along_axis(sequence, last[:, :, None], axis=1)[:, 0]


@register_head
@dataclasses.dataclass(frozen=True, kw_only=True)
class DelimiterHead(Head):
    """The head of GPT: the vector of a special token after the texts.

    Rows are `start a classify`, and `start a delimiter b classify` for a pair. It is
    the option `head="delimiter"`.

    Source: Radford et al. 2018, section 3.3.

    Args:
        lm_weight: float, the weight of the loss of the language model in training, see
            `NextTokenLoss`. The default is 0.5. This loss is a mean over rows, which
            ignores `sample_weight` and `class_weight`.
        both_orders: bool, whether it reads a pair in both orders and adds the two
            vectors. It needs `pair=True`. None for tasks in which a pair means the same
            in both orders, as for similarity.
        dropout: see `Head`.
    """

    name = "delimiter"
    ranks = True

    lm_weight: float | None = None
    both_orders: bool | None = None

    def resolve(self, backbone, task_name, pair=False, symmetric=False):
        """See `Head`."""
        if not backbone.adds_tokens:
            raise ValueError(
                '`head="delimiter"` needs a backbone that takes new special tokens, '
                f"such as a GPT. Received: one of family {backbone.family!r}. Use "
                "another head."
            )
        if self.both_orders and not pair:
            raise ValueError(
                "`both_orders` needs pairs of texts. Received: both_orders=True and "
                f"pair={pair}. Set `pair=True`, or leave it out."
            )
        weight, both = self.lm_weight, self.both_orders
        return dataclasses.replace(
            self,
            lm_weight=LM_WEIGHT if weight is None else weight,
            both_orders=symmetric and pair if both is None else both,
        )

    def arrangements(self):
        """See `Head`."""
        return BOTH_ORDERS if self.both_orders else None

    def make_inputs(self, backbone, pair):
        """See `Head`."""
        return sequence_inputs(backbone, len(BOTH_ORDERS) if self.both_orders else None)

    def packer(self, backbone, arrangements=None):
        """See `Head`."""
        arrangements = arrangements or self.arrangements()
        framing = delimiter_framing(backbone.config.vocabulary_size)
        if arrangements is None:
            return functools.partial(Packer, framing=framing)
        return functools.partial(
            AlternativesPacker, arrangements=arrangements, framing=framing
        )

    def vector(self, backbone, inputs):
        """See `Head`."""
        if not self.both_orders:
            return classify_vector(backbone, inputs, self.lm_weight)
        x = classify_vector(backbone, merge_rows(inputs), self.lm_weight)
        return ops.sum(split_rows(x, len(BOTH_ORDERS)), axis=1)

    def fits(self, saved, backbone, pair):
        """See `Head`."""
        same = bool(self.both_orders) == bool(saved.get("both_orders"))
        return same and super().fits(saved, backbone, pair)
