"""Tasks with one label, or one number, for a text or a pair of texts."""

import functools
import math

import keras
import tensorflow as tf

from zoo.data import as_numbers, read_labelled
from zoo.evaluation import assess_numbers, mean_number, tfidf_number
from zoo.family import FAMILIES
from zoo.layers import ComparedSegments, Pooling
from zoo.tasks.base import Task
from zoo.tasks.class_labels import ClassLabels
from zoo.tasks.concat_head import concat_head
from zoo.tasks.targets import label_names, one_for_each_text
from zoo.tasks.windows import TAIL, pool_windows

HEADS = ("linear", "concat_pooling")
POOLINGS = ("pooled", "cls", "mean", "compare")


def pooled_vector(backbone, inputs, pooling):
    """The vector (B, D) that a sequence head takes as its input.

    Args:
        backbone: `zoo.backbone.Backbone`.
        inputs: symbolic inputs of the backbone.
        pooling: "pooled" (the backbone's pooled output), "cls", "mean", or "compare",
            see `zoo.layers.ComparedSegments`.

    Raises:
        ValueError: if the pooling is unknown, or the backbone has no pooled output or
            no segments.
    """
    mask = inputs["padding_mask"]
    if pooling == "pooled":
        outputs = backbone.at_positions(inputs, mask[:, :0])
        if "pooled_output" not in outputs:
            raise ValueError(
                '`pooling="pooled"` needs a backbone with a pooled output. Received: a '
                'backbone with no pooled output. Use "cls" or "mean".'
            )
        return outputs["pooled_output"]
    if pooling not in POOLINGS:
        raise ValueError(
            f"`pooling` must be one of {', '.join(POOLINGS)}. Received: {pooling!r}."
        )
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


def check_head(head, pooling):
    """Raises ValueError if a head is unknown, or does not have the pooling."""
    if head not in HEADS:
        raise ValueError(f"`head` must be one of {[*HEADS]}. Received: {head!r}.")
    if head == "concat_pooling" and pooling is not None:
        raise ValueError(
            '`head="concat_pooling"` has its own pooling. Received: pooling='
            f"{pooling!r}. Leave it out."
        )


class SequenceHead(Task):
    """Dropout and one dense layer on a pooled vector, or ULMFiT's head.

    It is the base of `TextClassifier` and `TextRegressor`.

    A backbone that carries states reads a text in windows, if the pooling can do so,
    see `pool_windows`. The memory then does not depend on the length of the text.
    """

    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)

    def __init__(
        self, backbone, tokenizer, units, head, pooling, dropout, options, **kwargs
    ):
        self.check_encodes(backbone)
        if head is None:
            head = "linear" if pooling else FAMILIES[backbone.family].head
        check_head(head, pooling)
        if head == "linear" and pooling is None:
            pooled = "pooled_output" in backbone.output
            pooling = backbone.defaults_for(self.task_name).get("pooling") or (
                "pooled" if pooled else "mean"
            )
        inputs = backbone.make_inputs(backbone.config)
        if head == "concat_pooling":
            x = concat_head(backbone, inputs, dropout)
        else:
            x = pooled_vector(backbone, inputs, pooling)
            x = keras.layers.Dropout(
                dropout, dtype=backbone.dtype_policy, name="head_dropout"
            )(x)
        stddev = backbone.config.initializer_range
        outputs = keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=stddev),
            dtype="float32",
            name="classifier",
        )(x)
        options = {
            **options,
            "head": head,
            "pooling": pooling,
            "head_dropout": dropout,
        }
        super().__init__(inputs, outputs, backbone, tokenizer, options, **kwargs)
        mean = head == "concat_pooling" or pooling == "mean"
        self.reads_windows = mean and backbone.carries_states
        # A function, which Keras does not track as it tracks models.
        self._after_pooling = functools.cache(
            lambda: keras.Model(self.get_layer("pooling").output, self.outputs[0])
        )

    def call(self, inputs, training=None, mask=None):
        """The logits, window by window where `reads_windows`."""
        length = inputs["padding_mask"].shape[1]
        limit = min(n for n in (length, self.sequence_length, math.inf) if n)
        if not self.reads_windows or training and limit <= TAIL:
            return super().call(inputs, training=training, mask=mask)
        tail = TAIL if training else None
        pooling = self.get_layer("pooling")
        pooled = pool_windows(self.backbone, pooling, inputs, tail)
        return self._after_pooling()(pooled)

    def layers_used(self):
        """Names of the layers that the pooled vector depends on."""
        pooled = self.options["pooling"] == "pooled"
        output = "pooled_output" if pooled else "sequence_output"
        return self.backbone.layers_for(output)


@keras.saving.register_keras_serializable(package="zoo")
class TextClassifier(ClassLabels, SequenceHead):
    """Predicts one of several labels for a text or a pair of texts.

    `logits = dropout(pooled) W + b`. A pair is one row of tokens with two segments. A
    model that was trained on single texts also takes pairs, and the other way round,
    but it has not learned such rows.

    A recurrent backbone of one direction, such as ULMFiT, reads texts of any length in
    windows of 70 tokens, unless `sequence_length` truncates them. The memory does not
    depend on the length. In training, the gradient reaches the last 1400 tokens of a
    text. The tokens before them also have a part in the pooled vector. Other backbones
    without a longest sequence, such as ELMo, read whole texts: their memory grows with
    the length, and `sequence_length` bounds it.

    Source: Devlin et al. 2019, section 4.1; Howard and Ruder 2018, section 3.3.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        labels: list of str, the names, in the order of the outputs; or an int, their
            number, which names them "0", "1", ...
        pooling: "pooled", "cls", "mean", or for pairs "compare", see
            `zoo.layers.ComparedSegments`. The default is that of the preset. Without
            one it is "pooled" if the backbone has a pooled output, else "mean".
        head_dropout: float in [0, 1), on the pooled vector. ULMFiT uses 0.4.
        head: "linear", or "concat_pooling" for the head of ULMFiT: the last vector, the
            maximum and the mean over all tokens, and a hidden layer between batch
            norms. It takes no `pooling`. By default it is "linear" with a `pooling`,
            and else that of the backbone's family.
        **kwargs: sequence_length, pair and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them; those of the graph are the backbone's.

    Returns:
        float32 (B, number of labels), logits. `answer` returns label, score, scores
        and labels.

    Raises:
        ValueError: if there are fewer than two labels, or a label occurs twice.
    """

    task_name = "text_classifier"

    def __init__(
        self,
        backbone,
        tokenizer=None,
        labels=2,
        pooling=None,
        head_dropout=0.1,
        head=None,
        **kwargs,
    ):
        labels = label_names(labels)
        super().__init__(
            backbone,
            tokenizer,
            len(labels),
            head,
            pooling,
            head_dropout,
            {"labels": labels},
            **kwargs,
        )
        self.labels = tuple(labels)

    @classmethod
    def recognise(cls, found):
        """The labels, and the head, of a checkpoint that classifies texts."""
        if found.labels and found.classifies == "texts":
            return {**found.options, "labels": list(found.labels)}
        return None

    @classmethod
    def data_options(cls, labels):
        """The names of the labels."""
        return {"labels": sorted(set(labels))}

    def default_loss(self):
        """Softmax cross-entropy over the logits."""
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def default_metrics(self):
        """Accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy("accuracy")]


@keras.saving.register_keras_serializable(package="zoo")
class TextRegressor(SequenceHead):
    """Predicts a number for a text or a pair of texts, such as a similarity.

    `value = dropout(pooled) W + b`, with the squared error on the scale of the targets.
    A pair is one row of tokens with two segments, as in `TextClassifier`.

    Source: Devlin et al. 2019, section 4.1.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        pooling: as of `TextClassifier`, with the same default.
        head, head_dropout: see `TextClassifier`.
        **kwargs: sequence_length, pair and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them; those of the graph are the backbone's.

    Returns:
        float32 (B, 1). `answer` returns value (B,).
    """

    task_name = "text_regressor"
    baselines = {"mean": mean_number, "TF-IDF with ridge regression": tfidf_number}

    def __init__(
        self,
        backbone,
        tokenizer=None,
        pooling=None,
        head_dropout=0.1,
        head=None,
        **kwargs,
    ):
        super().__init__(
            backbone,
            tokenizer,
            1,
            head,
            pooling,
            head_dropout,
            {},
            **kwargs,
        )

    @classmethod
    def read(cls, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts and numbers from a table, see `zoo.data.read_labelled`.

        Raises:
            ValueError: if a label is not a finite number.
        """
        columns = text_column, pair_column, label_column
        return read_labelled(path, *columns, numbers=True)

    @classmethod
    def describe_labels(cls, labels):
        """The smallest number, the mean and the largest number."""
        mean = sum(labels) / len(labels)
        return {"smallest": min(labels), "mean": mean, "largest": max(labels)}

    def predict_labels(self, x):
        """The predicted numbers, list of float, which have no probabilities."""
        return self.predict(x, verbose=0)[:, 0].tolist(), None

    def assess(self, labels, predicted, confidence=None):
        """Assesses predicted numbers, see `zoo.evaluation.assess_numbers`."""
        return assess_numbers(labels, predicted)

    def describe_error(self, text, label, predicted):
        """The true and the predicted number."""
        return {"true": f"{label:.4g}", "predicted": f"{predicted:.4g}"}

    def parse_labels(self, labels):
        """Labels as finite numbers, see `zoo.data.as_numbers`."""
        return as_numbers(labels)

    def default_loss(self):
        """Mean squared error."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")

    def default_metrics(self):
        """Mean absolute error."""
        return [keras.metrics.MeanAbsoluteError("mean_absolute_error")]

    def encode_labels(self, y):
        """Finite numbers as float32 (B, 1)."""
        return super().encode_labels(one_for_each_text(y, "y")).reshape(-1, 1)

    def encode_label_tensor(self, y):
        """`encode_labels` in a tf.data pipeline."""
        return tf.reshape(super().encode_label_tensor(y), (-1, 1))

    def answers(self, outputs):
        """The value, float32 (B,)."""
        return {"value": tf.squeeze(outputs, axis=-1)}
