"""The task of choosing one of several texts that may follow a text."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo.layers import output_layer
from zoo.tasks.base import Task
from zoo.tasks.files.choice_files import ChoiceFiles
from zoo.tasks.heads.class_labels import CLASS_NUMBERS, class_loss, class_metrics
from zoo.tasks.heads.delimiter_head import merge_rows, sequence_inputs, split_rows
from zoo.tasks.heads.head import (
    HEADS,
    family_head,
    find_head,
    merge_head_options,
    split_head_options,
)
from zoo.tasks.inputs.targets import class_targets
from zoo.tasks.option_kinds import check_options
from zoo.tasks.task_layers import check_encodes


@keras.saving.register_keras_serializable(package="zoo")
class MultipleChoice(Task):
    """Chooses one of N texts, such as the ending of a story.

    Each choice is one row of tokens, of the text and the choice. A dense layer with one
    unit gives its score. The softmax is over the choices of a text, and all of them
    have the same dropout.

    Source: Radford et al. 2018, section 3.3; Devlin et al. 2019, section 4.4.

    Args:
        backbone: `zoo.backbone.Backbone` that encodes one sequence.
        tokenizer: from `zoo.text`, or None for token ids only.
        num_choices: int, N, at least 2.
        head: str or `zoo.tasks.heads.Head` that ranks texts: "linear", or "delimiter"
            for that of GPT. The default is "delimiter" for a GPT without `pooling`, and
            else "linear".
        **kwargs: the options of the head, such as pooling, head_dropout and lm_weight;
            and sequence_length, of each choice, and name, see `zoo.tasks.Task`.

    Inputs:
        (texts, first choices, second choices, ...), each (B,), and as `y` the numbers
        of the right choices, from 0, or their probabilities (B, N). Those of the graph
        are the backbone's, (B, N, L).

    Returns:
        float32 (B, N), logits. `answer` returns choice, score and scores.

    Raises:
        ValueError: if there are fewer than two choices, or the head is unknown or does
            not fit.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> backbone = BERT(BERTConfig(11, 4, 1, 2, 8))
        >>> MultipleChoice(backbone, num_choices=3).output_shape
        (None, 3)
    """

    task_name = "multiple_choice"
    classifies = "choices"
    output_kind = "logits"
    target_spec = CLASS_NUMBERS
    default_loss = staticmethod(class_loss)
    default_metrics = staticmethod(class_metrics)
    files = ChoiceFiles()
    encodes = True

    def __init__(
        self,
        backbone,
        tokenizer=None,
        num_choices=4,
        head=None,
        **kwargs,
    ):
        check_encodes(type(self), backbone)
        check_options(locals())
        arguments, given = split_head_options({"head": head, **kwargs})

        def default_name(options):
            """That of the family, if it ranks texts and there is no pooling."""
            kind = family_head(backbone)
            return kind.name if kind.ranks and "pooling" not in options else "linear"

        head = find_head(given, default_name).resolve(backbone, self.task_name)
        if not head.ranks:
            ranks = [name for name, kind in HEADS.items() if kind.ranks]
            raise ValueError(f"`head` must be one of {ranks}. Received: {head.name!r}.")
        if head.is_separate(backbone):
            raise ValueError(
                "The head must read a text and its choice as one row. Received: "
                f'{head.described()}, which reads each text alone. Use "mean".'
            )
        self.head = head
        inputs = sequence_inputs(backbone, num_choices)
        vectors = head.vector(backbone, merge_rows(inputs))
        outputs = self._score(backbone, vectors, num_choices, head)
        options = {"num_choices": num_choices, **head.options()}
        super().__init__(inputs, outputs, backbone, tokenizer, options, **arguments)
        self.labels = tuple(map(str, range(num_choices)))

    @classmethod
    def recognise(cls, found):
        """The arguments of a checkpoint that chooses."""
        return {"head": "linear"} if found.classifies == cls.classifies else None

    @staticmethod
    def _score(backbone, vectors, count, head):
        """The logits (B, N) of vectors (B N, D)."""
        x = split_rows(vectors, count)
        x = keras.layers.Dropout(
            head.dropout,
            noise_shape=(None, 1, x.shape[-1]),
            dtype=backbone.dtype_policy,
            name="head_dropout",
        )(x)
        dense = output_layer(1, backbone, "classifier", head.starts_at_zero())
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
        return self.head.packer(self.backbone, pairs)

    def has_saved_head(self, saved):
        """Whether a saved head fits; it does not depend on the number of choices."""
        return self.head.fits(saved, self.backbone, self.pair)

    merge_options = staticmethod(merge_head_options)

    def layers_used(self):
        """Names of the layers that the vectors depend on."""
        return self.backbone.layers_for(self.head.output_of_backbone())

    def encode_labels(self, y, columns=None):
        """Class numbers int64 (B,), or probabilities float32 (B, N), checked."""
        return class_targets(y, self.labels)

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
