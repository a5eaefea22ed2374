"""Models that read each text of a pair alone, as a row of its own."""

import keras
from keras import ops

from zoo.data import COLUMN_PREFIXES, features_of
from zoo.layers import ComparedSegments, ComparedTexts


def has_segments(backbone):
    """Whether the tokens of a row of two texts have the numbers of their texts."""
    return "segment_ids" in backbone.input


def separate_inputs(backbone, pair):
    """Symbolic inputs that read each column of texts alone, a dict.

    The names of the inputs of the second column begin with "pair_".
    """
    return {
        prefix + name: keras.Input(
            symbol.shape[1:], dtype=symbol.dtype, name=prefix + name
        )
        for prefix in COLUMN_PREFIXES[: 1 + pair]
        for name, symbol in backbone.make_inputs(backbone.config).items()
    }


def compared_vector(backbone, inputs, pooling):
    """The vector that compares the texts of a pair, each read alone.

    `pooling` is "compare", see `zoo.layers.ComparedSegments`, or "separate", see
    `zoo.layers.ComparedTexts`.
    """
    texts = [features_of(inputs, prefix) for prefix in COLUMN_PREFIXES]
    if not all(texts):
        raise ValueError(
            f'`pooling="{pooling}"` needs pairs of texts, since it reads each text '
            'alone. Received: pair=False. Set `pair=True`, or `pooling="mean"`.'
        )
    vectors = [backbone(text)["sequence_output"] for text in texts]
    masks = [text["padding_mask"] for text in texts]
    options = {"dtype": backbone.dtype_policy, "name": "pooling"}
    if pooling == "separate":
        return ComparedTexts(**options)(vectors[0], masks[0], vectors[1], masks[1])
    segments = [ops.full_like(mask, number) for number, mask in enumerate(masks)]
    row = [ops.concatenate(part, axis=1) for part in (vectors, masks, segments)]
    return ComparedSegments(**options)(*row)
