"""The heads of the tasks with one label, or one number, for a text or a pair."""

import functools
import math
import warnings

import keras

from zoo.data import COLUMN_PREFIXES, Packer, SeparatePacker, features_of
from zoo.family import FAMILIES
from zoo.layers import ComparedSegments, Pooling, output_layer
from zoo.tasks.base import Task
from zoo.tasks.biattentive_head import LEARNING_RATE, WIDEST, biattentive_head
from zoo.tasks.concat_head import concat_head
from zoo.tasks.delimiter_head import (
    LM_WEIGHT,
    check_delimiter_options,
    check_delimiters,
    classify_vector,
    delimiter_packer,
    merge_rows,
    sequence_inputs,
    split_rows,
)
from zoo.tasks.separate_texts import (
    compared_vector,
    has_segments,
    reads_apart,
    separate_inputs,
)
from zoo.tasks.windows import TAIL, pool_windows
from zoo.token_inputs import to_tensors

HEADS = ("linear", "concat_pooling", "biattentive", "delimiter")
ONE_TEXT = HEADS[:2]  # to these, two texts without segments are one
BOTH_ORDERS = ((0, 1), (1, 0))  # of the columns of a pair
POOLINGS = ("pooled", "cls", "mean", "compare")
# The texts that a recurrent backbone reads together, if it reads them in windows. Its
# products are small, one for each step.
ROWS_IN_WINDOWS = 128


def default_head(backbone, pooling, pair):
    """That of the family; "linear" with a pooling, or to compare two texts."""
    head = FAMILIES[backbone.family].head
    compares = pair and head in ONE_TEXT and not has_segments(backbone)
    return "linear" if pooling or compares else head


def default_pooling(backbone, task_name, pair=False):
    """The pooling of the preset, or what is best for a backbone like this one.

    That is "compare" for a pair that the backbone would read as one text, "pooled" if
    that is possible, else "mean".
    """
    segments = has_segments(backbone)
    known = backbone.defaults_for(task_name).get("pooling")
    if known and (segments or known != "compare"):
        return known
    if pair and not segments:
        return "compare"
    pooled = "pooled_output" in backbone.output and not backbone.reads_forward
    return "pooled" if pooled else "mean"


def check_pooled_token(backbone, pooling):
    """Raises ValueError if a pooling takes a token that sees no other one."""
    if pooling in ("pooled", "cls") and backbone.reads_forward:
        raise ValueError(
            f'`pooling="{pooling}"` needs a backbone whose first token sees the others.'
            " Received: one that reads forward, so that all texts would have the same "
            'vector. Use "mean".'
        )
    if pooling == "last" and backbone.reverse:
        raise ValueError(
            '`pooling="last"` needs a backbone whose last token sees the others. '
            'Received: one that reads backwards. Use "cls" or "mean".'
        )


def pooled_vector(backbone, inputs, pooling):
    """The vector (B, D) that a sequence head takes as its input.

    Args:
        backbone: `zoo.backbone.Backbone`.
        inputs: symbolic inputs of the backbone.
        pooling: "pooled" (the backbone's pooled output), "cls", "mean", or "compare",
            see `zoo.layers.ComparedSegments`.

    Raises:
        ValueError: if the pooling is unknown, or the backbone has no pooled output or
            no segments, or the pooled token sees no other one.
    """
    check_pooled_token(backbone, pooling)
    mask = inputs["padding_mask"]
    if pooling == "pooled":
        outputs = backbone.at_positions(inputs, mask[:, :0])
        if "pooled_output" not in outputs:
            raise ValueError(
                '`pooling="pooled"` needs a backbone with a pooled output. Received: a '
                'backbone with no pooled output. Use "cls" or "mean".'
            )
        return outputs["pooled_output"]
    if pooling not in POOLINGS:
        raise ValueError(
            f"`pooling` must be one of {', '.join(POOLINGS)}. Received: {pooling!r}."
        )
    if pooling == "cls":
        first = keras.ops.zeros_like(mask[:, :1])
        return backbone.at_positions(inputs, first)["sequence_output"][:, 0]
    sequence, options = backbone(inputs)["sequence_output"], {"name": "pooling"}
    if pooling == "mean":
        return Pooling("mean", dtype=backbone.dtype_policy, **options)(sequence, mask)
    if "segment_ids" not in inputs:
        raise ValueError(
            '`pooling="compare"` needs a backbone with segments here. Received: one '
            f'whose inputs are {", ".join(inputs)}. Use "mean".'
        )
    layer = ComparedSegments(dtype=backbone.dtype_policy, **options)
    return layer(sequence, mask, inputs["segment_ids"])


def check_head(head, pooling, head_dim):
    """Raises ValueError if a head is unknown, or does not have an option."""
    if head not in HEADS:
        raise ValueError(f"`head` must be one of {[*HEADS]}. Received: {head!r}.")
    if head != "linear" and pooling is not None:
        raise ValueError(
            f'`head="{head}"` has its own pooling. Received: pooling={pooling!r}. '
            "Leave it out."
        )
    if head_dim is None:
        return
    if head != "biattentive" or type(head_dim) is not int or head_dim < 1:
        raise ValueError(
            '`head_dim` must be a positive integer, and needs `head="biattentive"`. '
            f"Received: head_dim={head_dim!r}, head={head!r}. Leave it out."
        )


def delimited_vector(backbone, inputs, lm_weight, both_orders):
    """The vector (B, D) of a text or pair; of a pair in both orders, the sum of two."""
    if not both_orders:
        return classify_vector(backbone, inputs, lm_weight)
    x = classify_vector(backbone, merge_rows(inputs), lm_weight)
    return keras.ops.sum(split_rows(x, len(BOTH_ORDERS)), axis=1)


def dense_outputs(backbone, inputs, units, head, pooling, dropout, delimiter=()):
    """The outputs (B, units) of a head whose last layer is dense."""
    if head == "concat_pooling":
        x = concat_head(backbone, inputs, dropout)
    else:
        if head == "delimiter":
            x = delimited_vector(backbone, inputs, *delimiter)
        elif reads_apart(backbone, head, pooling):
            x = compared_vector(backbone, inputs)
        else:
            x = pooled_vector(backbone, inputs, pooling)
        x = keras.layers.Dropout(
            dropout, dtype=backbone.dtype_policy, name="head_dropout"
        )(x)
    return output_layer(units, backbone, "classifier")(x)


class SequenceHead(Task):
    """Dropout and one dense layer on a pooled vector, or another head.

    It is the base of `TextClassifier` and `TextRegressor`.

    A backbone that carries states reads a text in windows, if the pooling can do so,
    see `pool_windows`. The memory then does not depend on the length of the text.
    """

    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)
    encodes = True
    symmetric = False  # whether a pair means the same in both orders

    def __init__(
        self, backbone, tokenizer, units, head, pooling, dropout, head_dim, lm_weight,
        both_orders, options, **kwargs,
    ):  # fmt: skip
        self.check_encodes(backbone)
        pair = kwargs.get("pair", False)
        if head is None:
            head = default_head(backbone, pooling, pair)
        check_head(head, pooling, head_dim)
        check_delimiter_options(head, lm_weight, both_orders, pair)
        if head == "linear" and pooling is None:
            pooling = default_pooling(backbone, self.task_name, pair)
        if head == "delimiter":
            check_delimiters(backbone)
            lm_weight = LM_WEIGHT if lm_weight is None else lm_weight
            if both_orders is None:
                both_orders = self.symmetric and pair
        if reads_apart(backbone, head, pooling):
            inputs = separate_inputs(backbone, pair)
        else:
            inputs = sequence_inputs(
                backbone, len(BOTH_ORDERS) if both_orders else None
            )
        if head == "biattentive":
            width = backbone.output["sequence_output"].shape[-1]
            head_dim = head_dim or min(WIDEST, width)
            outputs = biattentive_head(backbone, inputs, units, head_dim, dropout)
        else:
            outputs = dense_outputs(
                backbone,
                inputs,
                units,
                head,
                pooling,
                dropout,
                (lm_weight, both_orders),
            )
        options = {
            **options,
            "head": head,
            "pooling": pooling,
            "head_dropout": dropout,
            "head_dim": head_dim,
            "lm_weight": lm_weight,
            "both_orders": both_orders,
        }
        super().__init__(inputs, outputs, backbone, tokenizer, options, **kwargs)
        mean = head == "concat_pooling" or pooling == "mean"
        self.reads_windows = mean and backbone.carries_states
        if self.reads_windows:
            self.predict_batch_size = ROWS_IN_WINDOWS
        # A function, which Keras does not track as it tracks models.
        self._after_pooling = functools.cache(
            lambda: keras.Model(self.get_layer("pooling").output, self.outputs[0])
        )

    def call(self, inputs, training=None, mask=None):
        """The logits, window by window where `reads_windows`."""
        length = inputs["padding_mask"].shape[1]
        limit = min(n for n in (length, self.sequence_length, math.inf) if n)
        if not self.reads_windows or training and limit <= TAIL:
            return super().call(inputs, training=training, mask=mask)
        tail = TAIL if training else None
        pooling = self.get_layer("pooling")
        pooled = pool_windows(self.backbone, pooling, inputs, tail)
        return self._after_pooling()(pooled)

    @classmethod
    def merge_options(cls, saved, given):
        """See `Task`. Saved options of another head than the given one are left out."""
        return merge_head_options(saved, given)

    def has_saved_head(self, saved):
        """Whether a saved head fits: its labels, kind, width and columns."""
        shape = {"head": "linear", "head_dim": None, "both_orders": None}
        if self.separate:
            shape["pair"] = False
        own = {**self.options, "pair": self.pair}
        same = all(own[key] == saved.get(key, value) for key, value in shape.items())
        same &= same_width(own, saved)
        return same and super().has_saved_head(saved)

    @property
    def default_head_multiplier(self):
        """See `Task`. A new network learns at a rate of 1e-3 on every backbone."""
        if self.options["head"] == "biattentive":
            return LEARNING_RATE / self.default_learning_rate
        return super().default_head_multiplier

    @property
    def separate(self):
        """Whether the graph has inputs for each column, instead of one row for all."""
        head, pooling = self.options["head"], self.options["pooling"]
        return reads_apart(self.backbone, head, pooling)

    @property
    def packer(self):
        """The function of a tokenizer and a length that makes the packer of texts."""
        if self.options["head"] == "delimiter":
            several = BOTH_ORDERS if self.options["both_orders"] else None
            first = self.backbone.config.vocabulary_size
            return functools.partial(
                delimiter_packer, first=first, arrangements=several
            )
        return SeparatePacker if self.separate else Packer

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others, for each column."""
        if not self.separate:
            return super().complete(inputs)
        complete = to_tensors(inputs, self.input)
        for prefix in COLUMN_PREFIXES[: self.num_columns]:
            own = features_of(inputs, prefix)
            if prefix and not own:
                raise ValueError(
                    f"{type(self).__name__} takes pairs of texts. Received: the inputs "
                    f"{sorted(inputs)}. Add those of the second text, such as "
                    f"`{prefix}{self.backbone.tokens}`."
                )
            own = self.backbone.complete(own)
            complete |= {prefix + name: value for name, value in own.items()}
        return complete

    def check_columns(self, count):
        """Returns the number of columns; raises ValueError if it is not allowed."""
        fixed = self.separate or self.options["both_orders"]
        if fixed and count != self.num_columns:
            kind = ("single texts", "pairs of texts")[self.pair]
            name = "pooling" if self.options["pooling"] else "head"
            raise ValueError(
                f'A {type(self).__name__} with `{name}="{self.options[name]}"` and '
                f"`pair={self.pair}` takes {kind}. Received: {count} columns. Make one "
                f"with `pair={not self.pair}`."
            )
        joins = self.options["head"] in ONE_TEXT and not has_segments(self.backbone)
        if joins and count > self.num_columns:
            warnings.warn(
                "The model reads both texts of a pair as one text. One that is made "
                "with `pair=True` compares them.",
                stacklevel=3,
            )
        return super().check_columns(count)

    def layers_used(self):
        """Names of the layers that the pooled vector depends on."""
        pooled = self.options["pooling"] == "pooled"
        output = "pooled_output" if pooled else "sequence_output"
        return self.backbone.layers_for(output)


def merge_head_options(saved, given):
    """The options of a head; saved ones of another head are left out.

    Args:
        saved, given: see `merge_options` of `zoo.tasks.Task`.
    """
    head = saved.get("head", "linear")
    if given.get("head", head) != head:
        own = "pooling", "head_dropout", "head_dim", "lm_weight", "both_orders"
        saved = {key: value for key, value in saved.items() if key not in own}
    return {**saved, **given}


def same_width(*options):
    """Whether the pooled vectors of several options have the same width."""
    return len({own.get("pooling") == "compare" for own in options}) == 1
