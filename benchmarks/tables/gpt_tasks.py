"""The tasks on which a GPT is fine-tuned as in its paper, with plain baselines."""

import dataclasses
from collections.abc import Callable

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GroupKFold

from benchmarks.tables.baselines import (
    FOLDS,
    logistic_regression,
    majority_label,
    tuned_regression,
)
from benchmarks.tables.labelled_sets import (
    LabelledSet,
    columns,
    glue_rows,
    read_lines,
    snli_rows,
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


def cosines(train, x):
    """The cosine of the TF-IDF vectors of the words of a pair."""
    texts = [text for pair, _ in train for text in pair]
    pattern = r"\w+|[^\w\s]"
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=pattern).fit(texts)
    a, b = (words.transform(side) for side in zip(*x, strict=True))
    return np.asarray(a.multiply(b).sum(axis=1)).ravel().tolist()


def linear_choice(train, x):
    """Chooses by logistic regression on TF-IDF of the beginning and each ending.

    The regression tells right endings from wrong ones. The strength of its
    regularization is chosen by cross-validation.
    """
    pairs = [(row[0], ending) for row, _ in train for ending in row[1:]]
    right = [int(i == y) for _, y in train for i in range(CHOICES)]
    groups = np.repeat(np.arange(len(train)), CHOICES)
    found = tuned_regression(GroupKFold(FOLDS), "roc_auc")
    found.fit(pairs, right, groups=groups)
    pairs = [(row[0], ending) for row in x for ending in row[1:]]
    scores = found.predict_proba(pairs)[:, 1].reshape(-1, CHOICES)
    return scores.argmax(axis=1).tolist()


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
        baselines={"mean": mean_number, "TF-IDF": cosines},
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
