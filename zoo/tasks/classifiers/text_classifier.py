"""Tasks with one label, or one number, for a text or a pair of texts."""

import keras
import tensorflow as tf

from zoo.tasks.classifiers.sequence_task import SequenceTask
from zoo.tasks.files.class_files import ClassFiles, NumberFiles
from zoo.tasks.heads.class_labels import (
    CLASS_NUMBERS,
    class_answers,
    class_loss,
    class_metrics,
)
from zoo.tasks.inputs.label_values import label_names
from zoo.tasks.inputs.targets import class_weights, label_ids, one_for_each_text


@keras.saving.register_keras_serializable(package="zoo")
class TextClassifier(SequenceTask):
    """Predicts one of several labels for a text or a pair of texts.

    `logits = dropout(pooled) W + b`. A pair is one row of tokens with two segments. A
    model that was trained on single texts also takes pairs, and the other way round,
    but it has not learned such rows. Other heads, see `head`, have more layers.

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
        **kwargs: the options of the head, such as pooling, head_dropout, head_dim,
            lm_weight and both_orders; and sequence_length, pair and name, see
            `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them. The inputs of the graph are those of the
        backbone, for each text if each is read alone.

    Returns:
        float32 (B, number of labels), logits. `answer` returns label, score, scores
        and labels.

    Raises:
        ValueError: if there are fewer than two labels, or a label occurs twice.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> backbone = BERT(BERTConfig(11, 4, 1, 2, 8))
        >>> TextClassifier(backbone, labels=["bad", "good"]).output_shape
        (None, 2)
    """

    task_name = "text_classifier"
    classifies = "texts"
    output_kind = "logits"
    target_spec = CLASS_NUMBERS
    default_loss = staticmethod(class_loss)
    default_metrics = staticmethod(class_metrics)
    files = ClassFiles()

    def __init__(
        self,
        backbone,
        tokenizer=None,
        labels=2,
        head=None,
        **kwargs,
    ):
        labels, kwargs = label_names(labels), {"head": head, **kwargs}
        options = {"labels": labels}
        super().__init__(backbone, tokenizer, len(labels), options, kwargs)
        self.labels = tuple(labels)

    @classmethod
    def recognise(cls, found):
        """The labels, and the head, of a checkpoint that classifies texts."""
        if found.labels and found.classifies == cls.classifies:
            return {**found.options, "labels": list(found.labels)}
        return None

    def encode_labels(self, y, columns=None):
        """Class numbers int64 (B,) from names or numbers, checked."""
        return label_ids(y, self.labels)

    def encode_class_weight(self, class_weight, labels=None):
        """A weight for each class number, checked; see `class_weights`."""
        return class_weights(class_weight, self.labels, labels)

    def answers(self, outputs):
        """From logits to label, score, scores and labels; see `class_answers`."""
        return class_answers(self.labels, outputs)


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
