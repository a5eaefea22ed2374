"""The table of families and tasks that every promise of the contract runs over."""

import dataclasses

import numpy as np
import tiny


@dataclasses.dataclass(frozen=True)
class Family:
    """A backbone to test.

    Args:
        name: what the test is called.
        family: str, as `zoo.models.FAMILIES` knows it.
        config: dict, fields of a tiny config.
        outputs: dict of output name to shape after the batch, L for the length.
        pads: dict of input name to what padding holds there.
        causal: whether a position sees none to its right.
    """

    name: str
    family: str
    config: dict
    outputs: dict
    pads: dict
    causal: bool = False

    def inputs(self, rows=3, length=10, seed=0):
        """Rows of 10, 7 and 4 tokens, two segments in each."""
        ids = np.random.default_rng(seed).integers(5, 60, (rows, length))
        column, ends = np.arange(length)[None], length - 3 * np.arange(rows)[:, None]
        mask = column < ends
        return {
            "token_ids": np.where(mask, ids, self.pads["token_ids"]).astype("int32"),
            "segment_ids": ((column >= 3) & mask).astype("int32"),
            "padding_mask": mask.astype("int32"),
        }


BERT_PADS = {"token_ids": 0, "segment_ids": 0, "padding_mask": 0}
FAMILIES = [
    Family(
        "bert",
        "bert",
        tiny.CONFIG,
        {"sequence_output": ("L", 16), "pooled_output": (16,)},
        BERT_PADS,
    ),
    Family(
        "bert_without_pooler",
        "bert",
        {**tiny.CONFIG, "pooler": False, "activation": "gelu", "num_segments": 3},
        {"sequence_output": ("L", 16)},
        BERT_PADS,
    ),
    Family(
        "bert_causal",
        "bert",
        {**tiny.CONFIG, "causal": True},
        {"sequence_output": ("L", 16), "pooled_output": (16,)},
        BERT_PADS,
        causal=True,
    ),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A task to test on every family.

    Args:
        name: str, as `zoo.tasks.TASKS` knows it.
        options: dict of its arguments.
        targets: function of the tiny labels, to what `fit` takes as `y`.
        output: shape of the output after the batch, P for predictions.
    """

    name: str
    options: dict
    targets: object
    output: tuple


def vectors(labels):
    """A direction for each label."""
    sign = np.array([[1.0 if label == "good" else -1.0] for label in labels])
    return (sign * np.linspace(-1, 1, 32)).astype("float32")


TASKS = [
    Case(
        "text_classifier",
        {"labels": tiny.LABELS, "head_dropout": 0.0, "sequence_length": 16},
        list,
        (2,),
    ),
    Case(
        "text_regressor",
        {"pooling": "mean", "head_dropout": 0.0},
        lambda labels: [float(label == "good") for label in labels],
        (1,),
    ),
    Case("masked_lm", {"mask_rate": 0.3}, lambda labels: None, ("P", 64)),
    Case("text_embedder", {"layers": [-2, -1]}, vectors, (32,)),
]
