"""What the tasks with one answer for a text or a pair have in common."""

import functools
import math

import keras

from zoo.backbone.token_inputs import to_tensors
from zoo.checks.user_warnings import warn_user
from zoo.data import COLUMN_PREFIXES, features_of
from zoo.tasks.base import Task
from zoo.tasks.heads.head import (
    family_head,
    find_head,
    merge_head_options,
    split_head_options,
)
from zoo.tasks.heads.linear_head import COMPARING
from zoo.tasks.heads.pooling import default_pooling
from zoo.tasks.heads.separate_texts import has_segments
from zoo.tasks.inputs.windows import TOKENS_IN_TAIL, pool_windows
from zoo.tasks.task_layers import check_encodes

# The texts that a recurrent backbone reads together, if it reads them in windows. Its
# products are small, one for each step.
ROWS_IN_WINDOWS = 128


class SequenceTask(Task):
    """A head that gives one row of numbers for a text or a pair of texts.

    It is the base of `TextClassifier` and `TextRegressor`.

    A backbone that carries states reads a text in windows, if the pooling can do so,
    see `pool_windows`. The memory then does not depend on the length of the text.

    Attributes:
        head: `zoo.tasks.heads.head.Head`.
        separate: bool, whether the graph has inputs for each column, instead of one row
            for all.

    Args:
        backbone, tokenizer: see `zoo.tasks.Task`.
        units: int, outputs of a row.
        options: dict of plain values, the subclass' own arguments.
        arguments: dict, the options of the head, and other arguments of `Task`.
        symmetric: bool, whether a pair means the same in both orders.
    """

    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)
    encodes = True

    def __init__(self, backbone, tokenizer, units, options, arguments, symmetric=False):
        check_encodes(type(self), backbone)
        arguments, given = split_head_options(arguments)
        pair = arguments.get("pair", False)

        def default_name(options):
            """That of the family; "linear" with a pooling, or to compare two texts."""
            kind, pooling = family_head(backbone), options.get("pooling")
            if pooling is None and kind.joins:
                pooling = default_pooling(backbone, self.task_name, pair)
                pooling = pooling in COMPARING
            return "linear" if pooling else kind.name

        head = find_head(given, default_name)
        head = head.resolve(backbone, self.task_name, pair, symmetric)
        self.head, self.separate = head, head.is_separate(backbone)
        self.joining_reported = False  # whether `check_columns` has warned
        inputs = head.make_inputs(backbone, pair)
        outputs = head.outputs(backbone, inputs, units)
        options = {**options, **head.options()}
        super().__init__(inputs, outputs, backbone, tokenizer, options, **arguments)
        self.reads_windows = head.reads_windows(backbone)
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
        if not self.reads_windows or training and limit <= TOKENS_IN_TAIL:
            return super().call(inputs, training=training, mask=mask)
        tail = TOKENS_IN_TAIL if training else None
        pooling = self.get_layer("pooling")
        pooled = pool_windows(self.backbone, pooling, inputs, tail)
        return self._after_pooling()(pooled)

    merge_options = staticmethod(merge_head_options)

    def has_saved_head(self, saved):
        """Whether a saved head fits: its labels, kind, width and columns."""
        fits = self.head.fits(saved, self.backbone, self.pair)
        return fits and super().has_saved_head(saved)

    @property
    def default_head_multiplier(self):
        """See `Task`. Some heads learn at one rate on every backbone."""
        if self.head.learning_rate is not None:
            return self.head.learning_rate / self.default_learning_rate
        return super().default_head_multiplier

    @property
    def packer(self):
        """The function of a tokenizer and a length that makes the packer of texts."""
        return self.head.packer(self.backbone)

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others, for each column."""
        if not self.separate:
            return super().complete(inputs)
        complete = to_tensors(inputs, self.input)
        for prefix in COLUMN_PREFIXES[: self.num_columns]:
            features = features_of(inputs, prefix)
            if prefix and not features:
                raise ValueError(
                    f"{type(self).__name__} takes pairs of texts. Received: the inputs "
                    f"{sorted(inputs)}. Add those of the second text, such as "
                    f"`{prefix}{self.backbone.tokens}`."
                )
            features = self.backbone.complete(features)
            complete |= {prefix + name: value for name, value in features.items()}
        return complete

    def check_columns(self, count, training=False):
        """See `Task`; warns once if the model learns pairs as single texts."""
        fixed = self.separate or self.head.arrangements()
        if fixed and count != self.num_columns:
            kind = "pairs of texts" if self.pair else "single texts"
            raise ValueError(
                f"A {type(self).__name__} with `{self.head.described()}` and "
                f"`pair={self.pair}` takes {kind}. Received: {count} columns. Make one "
                f"with `pair={not self.pair}`, and another pooling if it needs pairs."
            )
        super().check_columns(count, training)
        joins = training and self.head.joins and not has_segments(self.backbone)
        if joins and not self.separate and count > 1 and not self.joining_reported:
            self.joining_reported = True
            warn_user(
                "The model reads the two texts of a pair as one text. One that is made "
                'with `pair=True, head="linear", pooling="compare"` compares them.'
            )

    def row_lengths(self, rows, targets=()):
        """See `Task`; the texts of a pair may be two rows of the same length."""
        count = self.num_columns if self.separate else 1
        return count * super().row_lengths(rows, targets)

    def layers_used(self):
        """Names of the layers that the pooled vector depends on."""
        return self.backbone.layers_for(self.head.output_of_backbone())
