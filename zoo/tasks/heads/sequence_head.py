"""The heads of the tasks with one label, or one number, for a text or a pair."""

import functools
import math
import warnings

import keras

from zoo.backbone.token_inputs import to_tensors
from zoo.data import COLUMN_PREFIXES, Packer, SeparatePacker, features_of
from zoo.family import FAMILIES
from zoo.layers import output_layer
from zoo.tasks.base import Task
from zoo.tasks.heads.biattentive_head import LEARNING_RATE, WIDEST, biattentive_head
from zoo.tasks.heads.concat_head import concat_head
from zoo.tasks.heads.delimiter_head import (
    LM_WEIGHT,
    check_delimiter_options,
    check_delimiters,
    classify_vector,
    delimiter_packer,
    merge_rows,
    sequence_inputs,
    split_rows,
)
from zoo.tasks.heads.pooling import default_pooling, pooled_vector
from zoo.tasks.heads.separate_texts import (
    compared_vector,
    has_segments,
    reads_apart,
    separate_inputs,
)
from zoo.tasks.inputs.text_batches import level_of_caller
from zoo.tasks.inputs.windows import TAIL, pool_windows
from zoo.tasks.option_kinds import check_options

HEADS = ("linear", "concat_pooling", "biattentive", "delimiter")
ONE_TEXT = HEADS[:2]  # to these, two texts without segments are one
BOTH_ORDERS = ((0, 1), (1, 0))  # of the columns of a pair
# The texts that a recurrent backbone reads together, if it reads them in windows. Its
# products are small, one for each step.
ROWS_IN_WINDOWS = 128


def default_head(backbone, task_name, pair, pooling):
    """That of the family; "linear" with a pooling, or to compare two texts."""
    head = FAMILIES[backbone.family].head
    if pooling is None and head in ONE_TEXT:
        pooling = default_pooling(backbone, task_name, pair) == "compare"
    return "linear" if pooling else head


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
    joining_reported = False  # whether `check_training_columns` has warned
    symmetric = False  # whether a pair means the same in both orders

    def __init__(
        self, backbone, tokenizer, units, head, pooling, dropout, head_dim, lm_weight,
        both_orders, options, **kwargs,
    ):  # fmt: skip
        self.check_encodes(backbone)
        check_options({**locals(), "head_dropout": dropout})
        pair = kwargs.get("pair", False)
        if head is None:
            head = default_head(backbone, self.task_name, pair, pooling)
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
            compared = self.options["pooling"] == "compare"
            name = "pooling" if compared else "head"
            raise ValueError(
                f'A {type(self).__name__} with `{name}="{self.options[name]}"` and '
                f"`pair={self.pair}` takes {kind}. Received: {count} columns. Make one "
                f"with `pair={not self.pair}`{' and another pooling' * compared}."
            )
        return super().check_columns(count)

    def check_training_columns(self, count):
        """Warns once if the model learns pairs as single texts."""
        joins = self.options["head"] in ONE_TEXT and not has_segments(self.backbone)
        if joins and not self.separate and count > 1 and not self.joining_reported:
            self.joining_reported = True
            warnings.warn(
                "The model reads the two texts of a pair as one text. One that is made "
                'with `pair=True, head="linear", pooling="compare"` compares them.',
                stacklevel=level_of_caller(),
            )

    def row_lengths(self, rows, targets=()):
        """See `TextBatches`; the texts of a pair may be two rows of the same length."""
        count = self.num_columns if self.separate else 1
        return count * super().row_lengths(rows, targets)

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
