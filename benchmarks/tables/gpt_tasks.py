"""The tasks on which a GPT is fine-tuned as in its paper, with plain baselines."""

import dataclasses
from collections.abc import Callable

from benchmarks.tables.baselines import logistic_regression, majority_label
from benchmarks.tables.labelled_sets import (
    LabelledSet,
    columns,
    glue_rows,
    read_lines,
    snli_rows,
    text_columns,
)
from zoo import evaluation

CHOICES = 4  # of CODAH


def similarity_rows(data, part):
    """Reads the pairs of STS-B with their similarity, from 0 to 5."""
    return [(pair, float(y)) for pair, y in glue_rows("stsb")(data, part)]


def choice_rows(data, part):
    """Reads the beginnings and endings of CODAH with the number of the right ending."""
    name = "train" if part == "train" else "dev"
    rows = read_lines(data / f"codah/{name}.tsv.gz", "\t")
    return [(tuple(row[1 : 2 + CHOICES]), int(row[-1])) for row in rows]


def mean_number(train, x):
    """Predicts the mean of the numbers."""
    return evaluation.mean_number(*columns(train), x)


def linear_number(train, x):
    """Predicts numbers by ridge regression on TF-IDF, see `zoo.evaluation`."""
    return evaluation.tfidf_number(*columns(train), text_columns(x))


def linear_choice(train, x):
    """Chooses by logistic regression on TF-IDF, see `zoo.evaluation`."""
    texts, numbers = columns(train)
    found = evaluation.tfidf_choice(texts, [*map(str, numbers)], text_columns(x))
    return [*map(int, found)]


def pearson(gold, found):
    """Pearson's correlation, which is 0 for equal predictions."""
    return evaluation.evaluate_glue("stsb", gold, found)["pearson"]


@dataclasses.dataclass(frozen=True)
class GPTTask(LabelledSet):
    """A labelled set, and the task of zoo that learns it.

    Args:
        task: str, the name of the task.
        paper: str, the result of the paper with all labels.
        options: dict, arguments of `zoo.from_preset`.
        metric: str, the name of the score.
        score: function of true and predicted values to a float.
    """

    task: str = "text_classifier"
    paper: str = ""
    options: dict = dataclasses.field(default_factory=dict)
    metric: str = "accuracy"
    score: Callable = evaluation.accuracy
    baselines: dict = dataclasses.field(
        default_factory=lambda: {
            "majority": majority_label,
            "TF-IDF": logistic_regression,
        }
    )

    def assess(self, train, y, found):
        """The result of a baseline: the score, and the true values."""
        return {"score": self.score(y, found), "gold": y}


TASKS = {
    "sst2_1000": GPTTask(
        "SST-2, 1,000 labels",
        glue_rows("sst2"),
        1000,
        paper="91.3",
        options={"labels": ["0", "1"]},
    ),
    "stsb": GPTTask(
        "STS-B",
        similarity_rows,
        task="text_regressor",
        paper="82.0",
        options={"pair": True},
        metric="Pearson",
        score=pearson,
        baselines={"mean": mean_number, "TF-IDF": linear_number},
    ),
    "codah": GPTTask(
        "CODAH",
        choice_rows,
        task="multiple_choice",
        options={"num_choices": CHOICES},
        baselines={"majority": majority_label, "TF-IDF": linear_choice},
    ),
    "snli_18000": GPTTask(
        "SNLI, 18,000 labels",
        snli_rows,
        18000,
        paper="89.9",
        options={"labels": ["1", "2", "3"], "pair": True},
    ),
}
