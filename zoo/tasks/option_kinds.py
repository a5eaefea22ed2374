"""The values that the options of tasks may have."""

from typing import Annotated, Literal

from zoo.checks.ranges import (
    NotNegative,
    Number,
    Positive,
    Probability,
    Range,
    Size,
    check_value,
)
from zoo.presets.schema import POOLINGS

Rate = Annotated[float, Range("a number in (0, 1)", lambda x: 0 < x < 1)]
Choices = Annotated[int, Range("an integer of at least 2", lambda n: n >= 2)]
Threshold = Annotated[float, Range("a number in [0, 1]", lambda x: 0 <= x <= 1)]
# An option means the same in every task.
KINDS = {
    "answer_length": Size,
    "both_orders": bool | None,
    "decoder": str,
    "head": str | None,
    "head_activation": str | None,
    "head_dim": Size | None,
    "head_dropout": Probability,
    "head_layer_norm_epsilon": Positive | None,
    "label_smoothing": Probability,
    "lm_weight": NotNegative | None,
    "longest_source": Size | None,
    "mask_rate": Rate,
    "max_predictions": Size,
    "multi_label": bool,
    "next_sentence": bool,
    "normalize": bool,
    "null_threshold": Number | None,
    "num_answers": Annotated[
        int, Range("an integer from 1 to 1,000", lambda n: 1 <= n <= 1000)
    ],
    "num_choices": Choices,
    "num_samples": Size | None,
    "num_words": Size | None,
    "pair": bool,
    "pooling": Literal[(*POOLINGS, None)],
    "question_length": Size,
    "rows": Size | None,
    "scheme": str | None,
    "sequence_length": Size | None,
    "smoothing_kind": str,
    "stride": Size | None,
    "whole_words": bool,
}


def check_options(arguments):
    """Raises ValueError if an argument that is an option has a wrong type or value."""
    for name in KINDS.keys() & arguments.keys():
        check_value(name, arguments[name], KINDS[name])
