"""One vector of a text or a pair, from the vectors of its tokens."""

import keras

from zoo.checks.ranges import check_choice
from zoo.layers import ComparedSegments, Pooling
from zoo.presets.schema import POOLINGS
from zoo.tasks.heads.separate_texts import has_segments


def default_pooling(backbone, task_name, pair=False):
    """The pooling of the preset, or the best one for a backbone like this.

    A preset may have another pooling for pairs. Without one, it is "compare" for a pair
    that the backbone would read as one text, "pooled" if that is possible, else "mean".
    """
    segments, defaults = has_segments(backbone), backbone.defaults_for(task_name)
    known = pair and defaults.get("pair_pooling") or defaults.get("pooling")
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

    `pooling` is "pooled", the backbone's pooled output, "cls", "mean", or "compare",
    see `zoo.layers.ComparedSegments`. Raises ValueError if it is unknown or impossible.
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
    check_choice("pooling", pooling, POOLINGS)
    if pooling == "cls":
        first = keras.ops.zeros_like(mask[:, :1])
        return backbone.at_positions(inputs, first)["sequence_output"][:, 0]
    sequence, options = backbone(inputs)["sequence_output"], {"name": "pooling"}
    if pooling == "mean":
        return Pooling("mean", dtype=backbone.dtype_policy, **options)(sequence, mask)
    if "segment_ids" not in inputs:
        raise ValueError(
            '`pooling="compare"` needs a backbone with segments. Received: one whose '
            f'inputs are {", ".join(inputs)}. Use "mean".'
        )
    layer = ComparedSegments(dtype=backbone.dtype_policy, **options)
    return layer(sequence, mask, inputs["segment_ids"])
