"""Metrics of labels and of spans that are counted over all batches of an epoch."""

import keras
from keras import ops

from zoo.checks.ranges import check_choice
from zoo.evaluation.spans import CLOSING, OPENING, OUTSIDE, split_tag
from zoo.layers import crf
from zoo.tasks.losses.class_loss import likeliest_classes

CLASS_SCORES = ("macro_f1", "micro_f1", "precision", "recall")
BINS, LARGEST_LOGIT = 4096, 20.0  # of the scores whose order `LabelAUC` counts


class _CountedLabels(keras.metrics.Metric):
    """The base of metrics of labels.

    Args:
        num_labels: int, C.
        sets: bool, whether each label has a logit of its own.
        name, dtype: as of `keras.metrics.Metric`.
    """

    def __init__(self, num_labels, sets=False, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.num_labels, self.sets = num_labels, sets

    def true_labels(self, y_true, y_pred):
        """Whether each label is right, float32 (N, C), and whether rows count, (N,)."""
        if self.sets:
            rows = ops.cast(ops.cast(y_true, "float32") >= 0.5, "float32")
            rows = ops.reshape(rows, (-1, self.num_labels))
            return rows, ops.ones_like(rows[:, 0])
        numbers = ops.reshape(likeliest_classes(y_true, y_pred), (-1,))
        real = ops.cast(numbers >= 0, "float32")  # padding is -1
        return ops.one_hot(ops.maximum(numbers, 0), self.num_labels), real

    def get_config(self):
        """Constructor arguments."""
        known = {"num_labels": self.num_labels, "sets": self.sets}
        return {**super().get_config(), **known}


def row_weights(sample_weight, y_true, real):
    """The weights of rows (N,): those of texts or words, 0 for padding."""
    if sample_weight is None:
        return real
    weights = ops.cast(sample_weight, "float32")
    words = ops.shape(real)[0] // ops.maximum(ops.shape(y_true)[0], 1)
    if len(weights.shape) == 1 and len(y_true.shape) > 1:
        weights = ops.repeat(weights, words)
    return ops.reshape(weights, (-1,)) * real


@keras.saving.register_keras_serializable(package="zoo")
class LabelScore(_CountedLabels):
    """F1, precision or recall of labels, over all batches since the last reset.

    Of the right, the predicted and the true texts of each label, weighted, precision is
    right / predicted, recall is right / true, and F1 is 2 right / (predicted + true).
    "micro_f1" counts all labels together. The others are means over the labels that
    occur in targets or predictions, or over all labels if a text has a set of them, as
    in the report of `zoo finetune`. 0 / 0 is 0.

    Args:
        score: "macro_f1", "micro_f1", "precision" or "recall".
        num_labels: int, C.
        sets: bool, whether a text has a set of labels; those with a logit of at least 0
            are predicted.
        name, dtype: as of `keras.metrics.Metric`; the name is `score` by default.

    Inputs:
        y_true int (...), -1 for padding, or float (..., C); y_pred logits (..., C), or
        potentials (B, W, C, C) of a chain.

    Raises:
        ValueError: if the score is unknown.

    Example:
        >>> metric = LabelScore("macro_f1", 2)
        >>> metric.update_state([0, 1], [[1.0, 0.0], [1.0, 0.0]])
        >>> round(float(metric.result()), 3)
        0.333
    """

    def __init__(self, score, num_labels, sets=False, name=None, **kwargs):
        self.score = check_choice("score", score, CLASS_SCORES)
        super().__init__(num_labels, sets, name or score, **kwargs)
        self.counts = self.add_variable((3, num_labels), "zeros", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch."""
        y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
        true, real = self.true_labels(y_true, y_pred)
        if self.sets:
            found = ops.cast(y_pred >= 0, "float32")
        elif len(y_pred.shape) == 4:
            found = ops.one_hot(crf.best_path(y_pred)[0], self.num_labels)
        else:
            found = ops.one_hot(ops.argmax(y_pred, axis=-1), self.num_labels)
        found = ops.reshape(ops.cast(found, "float32"), (-1, self.num_labels))
        weights = row_weights(sample_weight, y_true, real)[:, None]
        parts = [true * found, found, true]
        self.counts.assign_add(ops.stack([ops.sum(weights * p, 0) for p in parts]))

    def result(self):
        """The score in [0, 1]."""
        right, found, true = ops.unstack(self.counts.value)
        if self.score == "micro_f1":
            return ops.divide_no_nan(2 * ops.sum(right), ops.sum(found + true))
        pairs = {
            "macro_f1": (2 * right, found + true),
            "precision": (right, found),
            "recall": (right, true),
        }
        values = ops.divide_no_nan(*pairs[self.score])
        if self.sets:
            return ops.mean(values)
        occurs = ops.cast(found + true > 0, "float32")
        return ops.divide_no_nan(ops.sum(values * occurs), ops.sum(occurs))

    def get_config(self):
        """Constructor arguments."""
        return {**super().get_config(), "score": self.score}


@keras.saving.register_keras_serializable(package="zoo")
class LabelAUC(_CountedLabels):
    """The area under the ROC curve of each label against the others, the mean of them.

    The score of a label is its probability. The area is the share of pairs of a text
    with the label and one without whose scores are in the right order; equal ones count
    half. Labels that all texts or no text has are left out. Scores are counted in 4,096
    bins of equal width of log-odds from -20 to 20, where Keras' `AUC` has 200 bins of
    probabilities, which a confident model does not use.

    Args:
        num_labels, sets, name, dtype: see `LabelScore`.

    Inputs:
        y_true, y_pred: see `LabelScore`; no potentials.

    Example:
        >>> metric = LabelAUC(2)
        >>> metric.update_state([0, 1], [[1.0, 0.0], [0.0, 1.0]])
        >>> float(metric.result())
        1.0
    """

    def __init__(self, num_labels, sets=False, name="auc", **kwargs):
        super().__init__(num_labels, sets, name, **kwargs)
        # Texts without and with the label, by bins of scores.
        self.counts = self.add_variable((2, num_labels, BINS), "zeros", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts the scores of a batch."""
        y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
        true, real = self.true_labels(y_true, y_pred)
        weights = row_weights(sample_weight, y_true, real)[:, None]
        odds = ops.reshape(ops.cast(y_pred, "float32"), (-1, self.num_labels))
        if not self.sets:
            # log(p / (1 - p)) of a softmax, without a difference of large numbers
            others = ops.where(
                ops.eye(self.num_labels, dtype="bool"), -1e9, odds[:, None, :]
            )
            odds = odds - ops.logsumexp(others, axis=-1)
        place = (odds / LARGEST_LOGIT + 1) * (BINS / 2)
        bins = ops.cast(ops.clip(place, 0, BINS - 1), "int32")
        labels = ops.broadcast_to(ops.arange(self.num_labels), ops.shape(bins))
        rows = ops.concatenate(
            [labels * BINS + bins, (labels + self.num_labels) * BINS + bins], axis=0
        )
        added = ops.concatenate([weights * (1 - true), weights * true], axis=0)
        sums = ops.segment_sum(
            ops.reshape(added, (-1,)),
            ops.reshape(rows, (-1,)),
            2 * self.num_labels * BINS,
        )
        self.counts.assign_add(ops.reshape(sums, (2, self.num_labels, BINS)))

    def result(self):
        """The mean area in [0, 1]; 0 if no label has one."""
        without, having = ops.unstack(self.counts.value)
        below = ops.cumsum(without, axis=-1) - without / 2
        pairs = ops.sum(without, -1) * ops.sum(having, -1)
        areas = ops.divide_no_nan(ops.sum(having * below, -1), pairs)
        known = ops.cast(pairs > 0, "float32")
        return ops.divide_no_nan(ops.sum(areas * known), ops.sum(known))


@keras.saving.register_keras_serializable(package="zoo")
class SpanF1(keras.metrics.Metric):
    """F1 of the spans of tagged words, over all batches since the last reset.

    A span is right if its words and its type are. Spans are those of
    `zoo.evaluation.find_spans`. A text that is read in windows has the spans of each
    window.

    Args:
        labels: sequence of str, tags such as B-PER.
        name, dtype: as of `keras.metrics.Metric`.

    Inputs:
        y_true int (B, W), -1 for padding; y_pred logits (B, W, T) or potentials
        (B, W, T, T), whose best path is counted.

    Raises:
        ValueError: if a label is no tag of a span.

    Example:
        >>> metric = SpanF1(["O", "B-PER", "I-PER"])
        >>> metric.update_state([[1, 2, 0]], ops.one_hot(ops.array([[1, 2, 1]]), 3))
        >>> round(float(metric.result()), 3)  # two spans, of which one is right
        0.667
    """

    def __init__(self, labels, name="span_f1", **kwargs):
        super().__init__(name=name, **kwargs)
        self.labels = [*labels]
        tags = [split_tag(label) for label in labels]
        kinds = sorted({kind for _, kind in tags})
        # Of each tag: its type, and whether a span begins, or ends, at every such tag.
        self.kinds = [kinds.index(k) + 1 if p != OUTSIDE else 0 for p, k in tags]
        self.opens = [p in OPENING for p, _ in tags]
        self.closes = [p in CLOSING for p, _ in tags]
        self.counts = self.add_variable((3,), "zeros", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch; the weight of a row is the largest of its words."""
        true = likeliest_classes(ops.convert_to_tensor(y_true), y_pred)
        real = true >= 0
        if len(y_pred.shape) == 4:
            found = crf.best_path(y_pred)[0]
        else:
            found = ops.argmax(y_pred, axis=-1)
        begins, ends, kinds = self._spans(ops.where(real, true, -1))
        other_begins, other_ends, other_kinds = self._spans(ops.where(real, found, -1))
        same = begins & other_begins & (kinds == other_kinds)
        same = same & _end_together(ends, other_ends)
        weights = ops.ones_like(true[:, 0], dtype="float32")
        if sample_weight is not None:
            weights = ops.cast(sample_weight, "float32")
            if len(weights.shape) == 2:
                weights = ops.max(weights, axis=1, initial=0)
        parts = [
            ops.sum(weights[:, None] * ops.cast(part, "float32"))
            for part in (same, other_begins, begins)
        ]
        self.counts.assign_add(ops.stack(parts))

    def _spans(self, tags):
        """Where spans begin and where they end, bool (B, W), and types, int (B, W)."""
        tags = ops.cast(tags, "int32")

        def look_up(values):
            found = ops.take(ops.array(values, "int32"), ops.maximum(tags, 0))
            return ops.where(tags < 0, 0, found)

        kinds, opens, closes = map(look_up, (self.kinds, self.opens, self.closes))
        before = ops.pad(kinds, ((0, 0), (1, 0)))[:, :-1]
        closed = ops.pad(closes, ((0, 0), (1, 0)))[:, :-1]
        begins = (kinds > 0) & ((opens > 0) | (kinds != before) | (closed > 0))
        stops = begins | (kinds == 0)
        following = ops.pad(stops, ((0, 0), (0, 1)), constant_values=True)[:, 1:]
        return begins, (kinds > 0) & following, kinds

    def result(self):
        """F1 in [0, 1]."""
        right, found, true = ops.unstack(self.counts.value)
        return ops.divide_no_nan(2 * right, found + true)

    def get_config(self):
        """Constructor arguments."""
        return {**super().get_config(), "labels": self.labels}


def _end_together(ends, other_ends):
    """Whether both have the next end of a span, from each word on, bool (B, W)."""
    some = ops.cast(ends | other_ends, "int32")
    both = ops.cast(ends & other_ends, "int32")
    rows, width = ops.shape(some)[0], ops.shape(some)[1]
    # The number of the next end, which is different in each row.
    number = ops.cumsum(some, axis=1) - some
    number = number + ops.arange(rows, dtype="int32")[:, None] * (width + 1)
    number = ops.reshape(number, (-1,))
    by_number = ops.segment_sum(ops.reshape(both, (-1,)), number, rows * (width + 1))
    return ops.reshape(ops.take(by_number, number), ops.shape(some)) > 0


def named_score(name, labels, sets):
    """The metric of a task by its name, or None.

    Args:
        name: str, "auc", "span_f1" or one of `CLASS_SCORES`.
        labels: tuple of str, those of the task.
        sets: bool, whether each label has a logit of its own.
    """
    if name in CLASS_SCORES:
        return LabelScore(name, len(labels), sets)
    if name == "auc":
        return LabelAUC(len(labels), sets)
    return SpanF1(labels) if name == "span_f1" else None
