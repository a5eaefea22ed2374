"""Models that read each text of a pair alone, as a row of its own."""

import keras
from keras import ops

from zoo.data import COLUMN_PREFIXES, features_of
from zoo.layers import ComparedSegments


def has_segments(backbone):
    """Whether the tokens of a row of two texts have the numbers of their texts."""
    return "segment_ids" in backbone.input


def separate_inputs(backbone, pair):
    """The symbolic inputs of a model that reads each column of texts alone.

    Args:
        backbone: `zoo.backbone.Backbone`.
        pair: bool, whether there are two columns. The names of the inputs of the second
            one begin with "pair_".

    Returns:
        dict of symbolic tensors.
    """
    return {
        prefix + name: keras.Input(
            symbol.shape[1:], dtype=symbol.dtype, name=prefix + name
        )
        for prefix in COLUMN_PREFIXES[: 1 + pair]
        for name, symbol in backbone.make_inputs(backbone.config).items()
    }


def compared_vector(backbone, inputs):
    """The vector (B, 3 D) that compares the texts of a pair, each of them read alone.

    Args:
        backbone: `zoo.backbone.Backbone`.
        inputs: symbolic inputs, from `separate_inputs`.

    Raises:
        ValueError: if the inputs are those of single texts.
    """
    texts = [features_of(inputs, prefix) for prefix in COLUMN_PREFIXES]
    if not all(texts):
        raise ValueError(
            '`pooling="compare"` needs pairs of texts, since this backbone has no '
            'segments. Received: pair=False. Set `pair=True`, or `pooling="mean"`.'
        )
    vectors = [backbone(text)["sequence_output"] for text in texts]
    masks = [text["padding_mask"] for text in texts]
    segments = [ops.full_like(mask, number) for number, mask in enumerate(masks)]
    row = [ops.concatenate(part, axis=1) for part in (vectors, masks, segments)]
    return ComparedSegments(dtype=backbone.dtype_policy, name="pooling")(*row)
