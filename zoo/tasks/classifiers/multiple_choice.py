"""The task of choosing one of several texts that may follow a text."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo.data import AlternativesPacker
from zoo.layers import output_layer
from zoo.tasks.base import Task
from zoo.tasks.classifiers.choice_files import ChoiceFiles
from zoo.tasks.heads.class_labels import LabelTargets
from zoo.tasks.heads.delimiter_head import (
    LM_WEIGHT,
    check_delimiter_options,
    check_delimiters,
    classify_vector,
    delimiter_packer,
    merge_rows,
    sequence_inputs,
    split_rows,
)
from zoo.tasks.heads.pooling import default_pooling, pooled_vector
from zoo.tasks.heads.sequence_head import merge_head_options, same_width
from zoo.tasks.option_kinds import check_options

HEADS = ("linear", "delimiter")


@keras.saving.register_keras_serializable(package="zoo")
class MultipleChoice(LabelTargets, ChoiceFiles, Task):
    """Chooses one of N texts, such as the ending of a story.

    Each choice is one row of tokens, of the text and the choice. A dense layer with one
    unit gives its score. The softmax is over the choices of a text, and all of them
    have the same dropout.

    Source: Radford et al. 2018, section 3.3; Devlin et al. 2019, section 4.4.

    Args:
        backbone: `zoo.backbone.Backbone` that encodes one sequence.
        tokenizer: from `zoo.text`, or None for token ids only.
        num_choices: int, N, at least 2.
        pooling: with the head "linear", see `zoo.TextClassifier`.
        head_dropout: float in [0, 1), on the pooled vector.
        head: "linear", or "delimiter" for that of GPT. The default is "delimiter" for a
            GPT without `pooling`, and else "linear".
        lm_weight: float, with the head "delimiter", see `zoo.TextClassifier`.
        **kwargs: sequence_length, of each choice, and name, see `zoo.tasks.Task`.

    Inputs:
        (texts, first choices, second choices, ...), each (B,), and as `y` the numbers
        of the right choices, from 0. Those of the graph are the backbone's, (B, N, L).

    Returns:
        float32 (B, N), logits. `answer` returns choice, score and scores.

    Raises:
        ValueError: if there are fewer than two choices, or the head is unknown or does
            not fit.
    """

    task_name = "multiple_choice"
    classifies = "choices"
    encodes = True

    def __init__(
        self,
        backbone,
        tokenizer=None,
        num_choices=4,
        pooling=None,
        head_dropout=0.1,
        head=None,
        lm_weight=None,
        **kwargs,
    ):
        self.check_encodes(backbone)
        check_options(locals())
        if head is None:
            adds = backbone.adds_tokens and pooling is None
            head = "delimiter" if adds else "linear"
        if head not in HEADS or (head == "delimiter" and pooling):
            raise ValueError(
                f"`head` must be one of {HEADS}, and `pooling` needs `head='linear'`. "
                f"Received: head={head!r}, pooling={pooling!r}."
            )
        check_delimiter_options(head, lm_weight, False, False)
        inputs = sequence_inputs(backbone, num_choices)
        merged = merge_rows(inputs)
        if head == "delimiter":
            check_delimiters(backbone)
            lm_weight = LM_WEIGHT if lm_weight is None else lm_weight
            vectors = classify_vector(backbone, merged, lm_weight)
        else:
            pooling = pooling or default_pooling(backbone, self.task_name)
            vectors = pooled_vector(backbone, merged, pooling)
        options = {
            "num_choices": num_choices,
            "pooling": pooling,
            "head_dropout": head_dropout,
            "head": head,
            "lm_weight": lm_weight,
        }
        outputs = self._score(backbone, vectors, num_choices, head_dropout)
        super().__init__(inputs, outputs, backbone, tokenizer, options, **kwargs)
        self.labels = tuple(map(str, range(num_choices)))

    @classmethod
    def recognise(cls, found):
        """The arguments of a checkpoint that chooses."""
        return {"head": "linear"} if found.classifies == cls.classifies else None

    @staticmethod
    def _score(backbone, vectors, count, rate):
        """The logits (B, N) of vectors (B N, D)."""
        x = split_rows(vectors, count)
        x = keras.layers.Dropout(
            rate,
            noise_shape=(None, 1, x.shape[-1]),
            dtype=backbone.dtype_policy,
            name="head_dropout",
        )(x)
        dense = output_layer(1, backbone, "classifier")
        return ops.squeeze(dense(x), axis=-1)

    @property
    def columns(self):
        """The text, and each choice."""
        count = self.options["num_choices"]
        return ("text", *(f"choice_{i}" for i in range(count)))

    @property
    def packer(self):
        """The function of a tokenizer and a length that makes the packer of texts."""
        pairs = tuple((0, i + 1) for i in range(self.options["num_choices"]))
        if self.options["head"] == "linear":
            return functools.partial(AlternativesPacker, arrangements=pairs)
        first = self.backbone.config.vocabulary_size
        return functools.partial(delimiter_packer, first=first, arrangements=pairs)

    def has_saved_head(self, saved):
        """Whether a saved head fits; it does not depend on the number of choices."""
        same = self.options["head"] == saved.get("head")
        return same and same_width(self.options, saved)

    @classmethod
    def merge_options(cls, saved, given):
        """See `Task`. Saved options of another head than the given one are left out."""
        return merge_head_options(saved, given)

    def layers_used(self):
        """Names of the layers that the vectors depend on."""
        pooled = self.options["pooling"] == "pooled"
        output = "pooled_output" if pooled else "sequence_output"
        return self.backbone.layers_for(output)

    def answers(self, outputs):
        """From logits to choice int32 (B,), score (B,) and scores (B, N)."""
        scores = tf.nn.softmax(tf.cast(outputs, tf.float32))
        return {
            "choice": tf.argmax(scores, axis=-1, output_type=tf.int32),
            "score": tf.reduce_max(scores, axis=-1),
            "scores": scores,
        }

    def choose(self, text, choices):
        """Chooses one of any number of texts.

        Args:
            text: str.
            choices: list of str, at least one; their number may differ from
                `num_choices`, since the score of a choice does not depend on others.

        Returns:
            dict of choice int, its number; text str; score float, its probability; and
            scores, list of float.

        Raises:
            TypeError: if an argument is of another type.
            ValueError: if there are no choices.
        """
        listed = isinstance(choices, (list, tuple))
        if not isinstance(text, str) or not listed:
            raise TypeError(
                "`choose` takes a str and a list of str. Received: "
                f"{type(text).__name__} and {type(choices).__name__}. Use `answer` for "
                "lists of texts."
            )
        if not choices:
            raise ValueError("`choices` must have at least one text. Received: [].")
        count = self.options["num_choices"]
        missing = -len(choices) % count
        blocks = np.array([*choices, *[choices[-1]] * missing], object)
        blocks = blocks.reshape(-1, count)
        x = ([text] * len(blocks), *(list(column) for column in blocks.T))
        logits = self.predict(x, verbose=0).ravel()[: len(choices)]
        scores = tf.nn.softmax(logits).numpy()
        best = int(scores.argmax())
        found = {"choice": best, "text": choices[best], "score": float(scores[best])}
        return {**found, "scores": scores.tolist()}
