"""Tasks with one label, or one number, for a text or a pair of texts."""

import inspect

import keras
import tensorflow as tf

from zoo.evaluation import best_thresholds
from zoo.tasks.classifiers.label_targets import LabelSets, OneLabel
from zoo.tasks.classifiers.sequence_task import SequenceTask
from zoo.tasks.files.class_files import NumberFiles
from zoo.tasks.heads.head import merge_head_options
from zoo.tasks.inputs.label_values import label_names
from zoo.tasks.inputs.reading import read_data
from zoo.tasks.inputs.targets import one_for_each_text
from zoo.tasks.option_kinds import check_options

# The options of a model whose labels are others than those that were saved.
LABEL_OPTIONS = ("threshold", "pos_weight")


@keras.saving.register_keras_serializable(package="zoo")
class TextClassifier(SequenceTask):
    """Predicts one of several labels, or a set of them, for a text or a pair of texts.

    `logits = dropout(pooled) W + b`. A pair is one row of tokens with two segments. A
    model that was trained on single texts also takes pairs, and the other way round,
    but it has not learned such rows. Other heads, see `head`, have more layers.

    With `multi_label=True` a text has any number of labels, also none. A target is a
    list, a set or a str of labels, such as "billing|refund", or a row of 0 and 1, see
    `zoo.tasks.inputs.label_set_targets.label_set_rows`. The score of each label is the
    sigmoid of its logit, and the loss is the binary cross-entropy, see
    `zoo.tasks.losses.label_set_loss.LabelSetLoss`.

    Set `pair=True` for pairs. A new model on a backbone without segments, such as ELMo,
    then reads each text alone, compares the two, and takes pairs only. Without it, a
    pair is one text, and `fit` warns.

    A recurrent backbone of one direction, such as ULMFiT, reads single texts of any
    length in windows of 70 tokens, unless `sequence_length` truncates them. The memory
    does not depend on the length. In training, the gradient reaches the last 1400
    tokens of a text. The tokens before them also have a part in the pooled vector.
    Texts that are compared, and all texts of other backbones without a longest
    sequence, such as ELMo, are read whole: the memory grows with the length, and
    `sequence_length` bounds it.

    Source: Devlin et al. 2019, section 4.1; Howard and Ruder 2018, section 3.3; Radford
    et al. 2018, section 3.3.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        labels: list of str, numbers or bool, the names, in the order of the outputs; or
            an int, their number, which names them "0", "1", ... A target that equals a
            label is this label, see `zoo.tasks.inputs.targets.label_ids`.
        head: str or `zoo.tasks.heads.Head`; see `zoo.tasks.heads` for "linear"
            of BERT, "concat_pooling" of ULMFiT, "biattentive" of CoVe and "delimiter"
            of GPT. By default it is "linear" with a `pooling` or if it compares two
            texts, and else that of the backbone's family.
        multi_label: bool, whether a text has a set of labels instead of one.
        threshold, pos_weight, separator: of `multi_label`, see
            `zoo.tasks.classifiers.label_targets.LabelSets`.
        label_smoothing: float in [0, 1), see
            `zoo.tasks.losses.class_loss.ClassLoss`.
        **kwargs: the options of the head, such as pooling, head_dropout, head_dim,
            lm_weight and both_orders; and sequence_length, pair and name, see
            `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them. `y` has labels (B,), or probabilities of all
        labels (B, C), which distillation gives, see `zoo.soft_labels`. The inputs of
        the graph are those of the backbone, for each text if each is read alone.

    Returns:
        float32 (B, number of labels), logits. `answer` returns label, score, scores
        and labels; with `multi_label` labels, scores, all_labels and all_scores.

    Raises:
        ValueError: if there are fewer than two labels, a label occurs twice, or an
            option is wrong.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> backbone = BERT(BERTConfig(11, 4, 1, 2, 8))
        >>> TextClassifier(backbone, labels=["bad", "good"]).output_shape
        (None, 2)
    """

    task_name = "text_classifier"
    classifies = "texts"
    files = OneLabel.files

    def __init__(
        self,
        backbone,
        tokenizer=None,
        labels=2,
        head=None,
        multi_label=False,
        threshold=None,
        pos_weight=None,
        separator=None,
        label_smoothing=0.0,
        **kwargs,
    ):
        check_options({"multi_label": multi_label, "label_smoothing": label_smoothing})
        labels = label_names(labels)
        given = {"threshold": threshold, "pos_weight": pos_weight}
        given |= {"separator": separator, "label_smoothing": label_smoothing or None}
        given = {name: value for name, value in given.items() if value is not None}
        targets = LabelSets if multi_label else OneLabel
        for name in given.keys() - {*inspect.signature(targets).parameters}:
            raise ValueError(
                f"Only a model with `multi_label={not multi_label}` has `{name}`. "
                f"Received: {name}={given[name]!r}. Leave it out."
            )
        self.label_targets = targets(tuple(labels), **given)
        if multi_label:
            self.files = self.label_targets.files
        options = {"labels": labels, **self.label_targets.options()}
        arguments = {"head": head, **kwargs}
        super().__init__(backbone, tokenizer, len(labels), options, arguments)
        self.labels = tuple(labels)

    @classmethod
    def recognise(cls, found):
        """The labels, and the head, of a checkpoint that classifies texts."""
        if found.labels and found.classifies == cls.classifies:
            return {**found.options, "labels": list(found.labels)}
        return None

    @classmethod
    def merge_options(cls, saved, given):
        """See `Task`. Saved thresholds and weights are those of the saved labels."""
        labels, sets = given.get("labels"), given.get("multi_label")
        if labels is not None and label_names(labels) != saved.get("labels"):
            saved = {name: v for name, v in saved.items() if name not in LABEL_OPTIONS}
        if sets is not None and sets != saved.get("multi_label", False):
            names = (*LABEL_OPTIONS, "separator")
            saved = {name: v for name, v in saved.items() if name not in names}
        return merge_head_options(saved, given)

    def has_saved_head(self, saved):
        """See `Task`; scores of sets of labels are no scores of one label."""
        sets = self.options.get("multi_label", False)
        return saved.get("multi_label", False) == sets and super().has_saved_head(saved)

    @property
    def output_kind(self):
        """What the outputs are; see `Task`."""
        return self.label_targets.output_kind

    @property
    def target_spec(self):
        """That of encoded labels; see `Task`."""
        return self.label_targets.target_spec

    def default_loss(self):
        """Softmax cross-entropy, or with `multi_label` binary cross-entropies."""
        return self.label_targets.loss()

    def default_metrics(self):
        """Accuracy; with `multi_label` the share of right decisions about labels."""
        return self.label_targets.metrics()

    def encode_labels(self, y, columns=None):
        """Class numbers int64 (B,), or float32 (B, C): sets or probabilities."""
        return self.label_targets.encode(y)

    def encode_class_weight(self, class_weight, labels=None, weights=None):
        """Weights of classes, or of the labels of sets; see `TextTraining`."""
        return self.label_targets.class_weight(self, class_weight, labels, weights)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Keras' metrics. A text counts by the mean of the weights of its labels."""
        if sample_weight is not None and len(sample_weight.shape) > 1:
            sample_weight = keras.ops.mean(sample_weight, axis=-1)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def answers(self, outputs):
        """From logits to labels and scores, see the class."""
        return self.label_targets.answers(outputs)

    def find_thresholds(self, x, y=None, per_label=False, batch_size=None):
        """Finds the best threshold of a model with `multi_label`, and sets it.

        The texts must not be those of the training. The threshold is saved with the
        model and exported.

        Args:
            x, y: texts with their labels, as `fit` takes them.
            per_label: bool, whether each label has a threshold of its own, with the
                highest F1; else one for all has the highest micro F1.
            batch_size: see `predict`.

        Returns:
            float, or list of float (C,).

        Raises:
            ValueError: if the model has one label for a text.
        """
        check_options({"multi_label": per_label})
        if not self.options.get("multi_label"):
            raise ValueError(
                "`find_thresholds` needs a model with `multi_label=True`. Received: "
                "one whose answer is the label with the highest score."
            )
        data = read_data(self, (x, y, None), "find_thresholds").in_memory()
        logits = self.predict(data.columns, batch_size, verbose=0)
        scores = tf.sigmoid(tf.cast(logits, tf.float32)).numpy()
        found = best_thresholds(data.labels() >= 0.5, scores, per_label)
        threshold = found.tolist() if per_label else found
        self.files.set_calibrated(self, {"threshold": threshold})
        return threshold


@keras.saving.register_keras_serializable(package="zoo")
class TextRegressor(SequenceTask):
    """Predicts a number for a text or a pair of texts, such as a similarity.

    `value = dropout(pooled) W + b`, with the squared error on the scale of the targets.
    A pair is read as in `TextClassifier`.

    Source: Devlin et al. 2019, section 4.1.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        head, **kwargs: see `TextClassifier`. By default, "delimiter" reads pairs
            in both orders.

    Inputs:
        texts (B,) or a pair of them. The inputs of the graph are those of the
        backbone, for each text if each is read alone.

    Returns:
        float32 (B, 1). `answer` returns value (B,).

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> TextRegressor(BERT(BERTConfig(11, 4, 1, 2, 8))).output_shape
        (None, 1)
    """

    task_name = "text_regressor"
    output_kind = "numbers"
    target_spec = tf.TensorSpec([None, 1], tf.float32)
    classifies = "numbers"
    files = NumberFiles()

    def __init__(
        self,
        backbone,
        tokenizer=None,
        head=None,
        **kwargs,
    ):
        arguments = {"head": head, **kwargs}
        super().__init__(backbone, tokenizer, 1, {}, arguments, symmetric=True)

    @classmethod
    def recognise(cls, found):
        """The head of a checkpoint that gives a number for a text."""
        return dict(found.options) if found.classifies == cls.classifies else None

    def default_loss(self):
        """Mean squared error."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")

    def default_metrics(self):
        """Mean absolute error."""
        return [keras.metrics.MeanAbsoluteError("mean_absolute_error")]

    def encode_labels(self, y, columns=None):
        """Finite numbers as float32 (B, 1)."""
        return super().encode_labels(one_for_each_text(y, "y")).reshape(-1, 1)

    def answers(self, outputs):
        """The value, float32 (B,)."""
        return {"value": tf.squeeze(outputs, axis=-1)}
