"""The task of finding the answer to a question in a text."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo import ragged_rows
from zoo.data import Question, QuestionPacker, check_answers
from zoo.layers import output_layer
from zoo.tasks.base import Task
from zoo.tasks.heads.delimiter_head import delimiter_framing, special_embedding
from zoo.tasks.option_kinds import check_options
from zoo.tasks.questions.answer_spans import token_places
from zoo.tasks.questions.question_files import QuestionFiles, answer_list
from zoo.tasks.questions.span_decoding import SpanDecoding

SEQUENCE_LENGTH = 384  # of Devlin et al. 2019
PADDING = -1e9  # the score of a token that is padding
LAST = 2**31 - 1  # the largest position that int32 holds
INSIDE = "An answer must be in its context, or both positions -1."


@keras.saving.register_keras_serializable(package="zoo")
class QuestionAnswerer(QuestionFiles, SpanDecoding, Task):
    """Finds the part of a text that answers a question.

    `logits = x W + b`, two numbers for each token: the score that it is the first token
    of the answer, and the score that it is the last one. The score of an answer is the
    sum of both. The first token of a row stands for "no answer". In a backbone that
    reads forward, such as GPT, this token sees no other one, so its scores are those of
    the last token.

    A text of any length is read in windows that overlap, see
    `zoo.data.QuestionPacker`. In training, each window is a row of its own. A window
    without the whole answer has the target "no answer".

    Source: Devlin et al. 2019, sections 4.2 and 4.3.

    Args:
        backbone: `zoo.backbone.Backbone` that encodes one sequence.
        tokenizer: from `zoo.text`, or None for token ids only.
        stride: int, tokens between the beginnings of two windows.
        question_length: int, most tokens of a question.
        answer_length: int, most tokens of an answer.
        num_answers: int, N, how many answers `answer` returns for each question. The
            score of an answer is its probability among the best 20, or N if N is more.
        null_threshold: float, how much larger the score of "no answer" must be than
            that of the best answer, to be the answer; see `find_null_threshold`. None
            for an answer to every question, as in SQuAD 1.1.
        **kwargs: sequence_length, of a window with its question, at most 384 by
            default, and name, see `zoo.tasks.Task`.

    Inputs:
        (questions, contexts), each (B,), or a list of `zoo.data.Question`. `y` has the
        answers to each question: a list of `zoo.data.Answer`, or an int array (B, 2)
        with the positions of the first character and of the end, -1 for no answer. Of
        several answers, `fit` learns the first one. The inputs of the graph are those
        of the backbone.

    Returns:
        float32 (B, 2, L), logits. `answer` returns text, score, begin, end, null_odds,
        texts, scores, begins and ends, see
        `answer_spans.best_answers`.

    Raises:
        ValueError: if a length is not positive, or the threshold is not a number.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> QuestionAnswerer(BERT(BERTConfig(11, 4, 1, 2, 8))).output_shape
        (None, 2, None)
    """

    task_name = "question_answerer"
    output_kind = "logits"
    encodes = True
    columns = ("question", "context")

    def __init__(
        self,
        backbone,
        tokenizer=None,
        stride=128,
        question_length=64,
        answer_length=30,
        num_answers=20,
        null_threshold=None,
        sequence_length=None,
        **kwargs,
    ):
        self.check_encodes(backbone)
        check_options(locals())
        longest = backbone.config.max_sequence_length or SEQUENCE_LENGTH
        inputs = backbone.make_inputs(backbone.config)
        outputs = self._logits(backbone, inputs)
        if sequence_length is None:
            sequence_length = min(SEQUENCE_LENGTH, longest)
        options = {
            "stride": stride,
            "question_length": question_length,
            "answer_length": answer_length,
            "num_answers": num_answers,
            "null_threshold": None if null_threshold is None else float(null_threshold),
        }
        super().__init__(
            inputs,
            outputs,
            backbone,
            tokenizer,
            options,
            sequence_length,
            **kwargs,
        )

    @classmethod
    def recognise(cls, found):
        """The arguments of a checkpoint that answers questions."""
        return {} if "spans" in found.heads else None

    @staticmethod
    def _logits(backbone, inputs):
        """The scores (B, 2, L) of the tokens of rows (B, L)."""
        layers = backbone.named_layers
        if backbone.adds_tokens:
            special = special_embedding(backbone)
            layers = {**layers, special.name: special}
            x = backbone.connect(backbone.config, layers, inputs)["sequence_output"]
        else:
            x = backbone(inputs)["sequence_output"]
        dense = output_layer(2, backbone, "spans")
        real = ops.cast(ops.not_equal(inputs["padding_mask"], 0), "float32")[:, None]
        scores = ops.transpose(dense(x), (0, 2, 1)) + PADDING * (1.0 - real)
        if not backbone.reads_forward:
            return scores
        last = real - ops.pad(real[..., 1:], ((0, 0), (0, 0), (0, 1)))
        last = ops.sum(scores * last, axis=-1, keepdims=True)
        return ops.concatenate([last, scores[..., 1:]], axis=-1)

    @property
    def packer(self):
        """The function of a tokenizer and a length that makes the packer of texts."""
        options = {k: self.options[k] for k in ("stride", "question_length")}
        if self.backbone.adds_tokens:
            size = self.backbone.config.vocabulary_size
            options["framing"] = delimiter_framing(size)
        return functools.partial(QuestionPacker, **options)

    def unpack_rows(self, x, y):
        """The texts and answers of a list of `zoo.data.Question`."""
        listed = isinstance(x, list)
        if not listed or not all(isinstance(row, Question) for row in x):
            return x, y
        columns = [row.question for row in x], [row.context for row in x]
        answers = [row.answers for row in x]
        return columns, answers if y is None else y

    def as_text(self, x):
        """Texts of questions; see `TextColumns.as_text`."""
        return super().as_text(self.unpack_rows(x, None)[0])

    def default_loss(self):
        """Softmax cross-entropy over the tokens of a row, for both ends."""
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def default_metrics(self):
        """The share of the beginnings and ends that are right, of all rows."""
        return [keras.metrics.SparseCategoricalAccuracy("accuracy")]

    def targets(self, columns, y, sample_weight):
        """Positions (B, 2) of answers, and weights; see `TextBatches.targets`."""
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        y = y.tolist() if isinstance(y, np.ndarray) and y.dtype == object else y
        if isinstance(y, (list, tuple)):
            contexts = [text.decode("utf-8", "replace") for text in columns[1].numpy()]
            for row, (context, answers) in enumerate(zip(contexts, y, strict=False)):
                known = answer_list(answers, row)
                check_answers(Question("", "", context, known), f"of row {row}")
        return super().targets(columns, y, sample_weight)

    def encode_labels(self, y):
        """Positions of answers in characters, int32 (B, 2), -1 for no answer."""
        if isinstance(y, (list, tuple)):
            first = [(answer_list(row, i) or [None])[0] for i, row in enumerate(y)]
            y = [(-1, -1) if a is None else (a[1], a[1] + len(a[0])) for a in first]
        y = np.asarray(y)
        y = y.reshape(-1, 2).astype("int64") if y.size == 0 else y
        if y.ndim != 2 or y.shape[1] != 2 or y.dtype.kind not in "iu":
            raise ValueError(
                "`y` must be a list of answers, or an int array (B, 2) with the "
                f"beginning and the end of each. Received: {y.dtype} {y.shape}."
            )
        wrong = (y < -1) | (y > LAST)
        if wrong.any():
            row = int(np.argwhere(wrong)[0, 0])
            raise ValueError(f"{INSIDE} Received: {y[row].tolist()} in row {row}.")
        return y.astype("int32")

    def encode_label_tensor(self, y):
        """Positions of answers, int32 (B, 2), in a tf.data pipeline."""
        if not y.dtype.is_integer:
            raise ValueError(
                "`y` of a dataset must hold int positions (B, 2), the beginning and "
                f"the end of each answer. Received: {y.dtype.name}."
            )
        places = tf.cast(tf.ensure_shape(y, (None, 2)), tf.int32)
        right = (tf.cast(places, y.dtype) == y) & (places >= max(y.dtype.min, -1))
        right = tf.reduce_all(right)
        with tf.control_dependencies([tf.debugging.Assert(right, [INSIDE, y])]):
            return tf.identity(places)

    def check_rows(self, columns, y):
        """Raises ValueError unless all answers are in their contexts."""
        wrong, sizes = (part.numpy() for part in _outside(columns[1], y))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{INSIDE} Received: {y[row].tolist()} in row {row}, whose context has "
                f"{sizes[row]} characters."
            )

    def check_tensors(self, columns, y):
        """`check_rows` in a tf.data pipeline."""
        wrong, sizes = _outside(columns[1], y)
        tf.debugging.Assert(~tf.reduce_any(wrong), [INSIDE, y, sizes])

    def per_row(self, columns, rows, targets):
        """Targets of questions as those of their windows; see `TextBatches.per_row`."""
        windows = rows.pop("windows")
        if targets:
            places, *others = targets
            others = [ragged_rows.repeat(target, windows) for target in others]
            targets = [token_places(rows, windows, columns[1], places), *others]
        for name in ("begins", "ends", "widest"):
            del rows[name]
        return rows, targets

    def finish(self, x, y=None, weight=None):
        """An example; a weight counts for the beginning and for the end."""
        targets = [part for part in (y, weight) if part is not None]
        if weight is not None:
            targets[1] = tf.repeat(weight[:, None], 2, axis=1)
        return super().finish(x, *targets)

    def report_truncation(self, cut, count=None, longest=None):
        """Warns once that some of the questions are truncated."""
        longest = longest or self.preprocessor.longest_question
        super().report_truncation(cut, count, longest)


def _outside(contexts, y):
    """Whether positions int32 (B, 2) are wrong, bool (B,), and sizes of contexts."""
    sizes = tf.strings.length(contexts, "UTF8_CHAR")
    begin, end = tf.unstack(y, axis=1)
    possible = (begin >= 0) & (begin < end) & (end <= sizes)
    return ~(possible | tf.reduce_all(tf.equal(y, -1), axis=1)), sizes
