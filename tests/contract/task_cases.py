"""The tasks that every promise of the contract runs over, see `cases.py`."""

import dataclasses

import numpy as np
import tiny


@dataclasses.dataclass(frozen=True)
class Case:
    """A task to test on every family.

    Args:
        task: str, as `zoo.tasks.TASKS` knows it.
        options: dict of its arguments.
        targets: function of the tiny texts and labels, to what `fit` takes as `y`.
        output: shape of the output after the batch, P for predictions, W for words,
            L for the length.
        called: what the test is called, by default as the task.
    """

    task: str
    options: dict
    targets: object
    output: tuple
    called: str = ""

    @property
    def name(self):
        """What the test is called."""
        return self.called or self.task


def vectors(texts, labels):
    """A direction for each label."""
    sign = np.array([[1.0 if label == "good" else -1.0] for label in labels])
    return (sign * np.linspace(-1, 1, 32)).astype("float32")


def translations(texts):
    """The same words in the other order."""
    return [" ".join(reversed(text.split())) for text in texts]


TASKS = [
    Case(
        "text_classifier",
        {"labels": tiny.LABELS, "head_dropout": 0.0, "sequence_length": 16},
        lambda texts, labels: list(labels),
        (2,),
    ),
    Case(
        "text_classifier",
        {"labels": tiny.LABELS, "multi_label": True, "head_dropout": 0.0},
        lambda texts, labels: [[label] for label in labels[:-1]] + [[]],
        (2,),
        "text_classifier_sets",
    ),
    Case(
        "text_classifier",
        {"labels": tiny.LABELS, "pair": True, "pooling": "separate"}
        | {"head_dropout": 0.0},
        lambda texts, labels: list(labels),
        (2,),
        "text_classifier_pairs",
    ),
    Case(
        "text_regressor",
        {"pooling": "mean", "head_dropout": 0.0},
        lambda texts, labels: [float(label == "good") for label in labels],
        (1,),
    ),
    Case("masked_lm", {"mask_rate": 0.3}, lambda texts, labels: None, ("P", 64)),
    Case(
        "bidirectional_lm",
        {"num_samples": None},
        lambda texts, labels: None,
        (2, "L"),
    ),
    Case("causal_lm", {}, lambda texts, labels: None, ("L", 64)),
    Case("text_embedder", {"layers": [-2, -1]}, vectors, (32,)),
    Case(
        "token_classifier",
        {"labels": tiny.TAGS, "head_dropout": 0.0},
        tiny.make_tags,
        ("W", 3),
    ),
    Case(
        "token_classifier",
        {"labels": tiny.TAGS, "decoder": "crf", "scheme": "IOB2", "head_dropout": 0.0},
        tiny.make_tags,
        ("W", 3, 3),
        "token_classifier_crf",
    ),
    Case(
        "multiple_choice",
        {"num_choices": 2, "head_dropout": 0.0},
        lambda texts, labels: [int(label == "good") for label in labels],
        (2,),
    ),
    Case(
        "question_answerer",
        {"sequence_length": 32, "num_answers": 3, "null_threshold": 0.0},
        lambda texts, labels: np.array([[0, 1]] * len(texts)),  # in the first word
        (2, "L"),
    ),
    Case("translator", {}, lambda texts, labels: translations(texts), ("T", 340)),
    # Of a user, see `own_family.py`.
    Case(
        "pair_ranker",
        {},
        lambda texts, labels: ["first" if x == "good" else "second" for x in labels],
        (1,),
    ),
]
