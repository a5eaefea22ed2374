"""The task of finding the answer to a question in a text."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from zoo import ragged_rows
from zoo.data import Question, QuestionPacker, check_answers
from zoo.evaluation import best_null_threshold, squad_scores
from zoo.layers import output_layer
from zoo.tasks.answering import as_numpy
from zoo.tasks.base import Task
from zoo.tasks.files.question_files import QuestionFiles
from zoo.tasks.heads.delimiter_head import delimiter_framing, special_embedding
from zoo.tasks.inputs.reading import read_data, unpack_rows
from zoo.tasks.inputs.text_input import check_targets
from zoo.tasks.option_kinds import check_options
from zoo.tasks.questions.answer_spans import token_places
from zoo.tasks.questions.span_decoding import answer_in_graph, answer_questions
from zoo.tasks.questions.true_answers import answer_list, answer_texts, answers_at
from zoo.tasks.task_layers import check_encodes

SEQUENCE_LENGTH = 384  # of Devlin et al. 2019
PADDING_SCORE = -1e9  # the score of a token that is padding
MAX_POSITION = 2**31 - 1  # the largest position that int32 holds


@keras.saving.register_keras_serializable(package="zoo")
class QuestionAnswerer(Task):
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
    target_spec = tf.TensorSpec([None, 2], tf.int32)
    columns = ("question", "context")
    row_class = Question
    answers_tokens = False
    text_methods = ("answer", "answer_question")
    files = QuestionFiles()

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
        check_encodes(type(self), backbone)
        check_options(locals())
        longest = backbone.config.max_sequence_length or SEQUENCE_LENGTH
        inputs = backbone.make_inputs(backbone.config)
        outputs = span_logits(backbone, inputs)
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

    @property
    def packer(self):
        """The function of a tokenizer and a length that makes the packer of texts."""
        options = {k: self.options[k] for k in ("stride", "question_length")}
        if self.backbone.adds_tokens:
            size = self.backbone.config.vocabulary_size
            options["framing"] = delimiter_framing(size)
        return functools.partial(QuestionPacker, **options)

    def default_loss(self):
        """Softmax cross-entropy over the tokens of a row, for both ends."""
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def default_metrics(self):
        """The share of the beginnings and ends that are right, of all rows."""
        return [keras.metrics.SparseCategoricalAccuracy("accuracy")]

    def encode_labels(self, y, columns=None):
        """Positions of answers in characters, int32 (B, 2), -1 for no answer.

        Args:
            y: answers to each question, or their positions, see the class.
            columns: see `Task`; the answers must be in the contexts.

        Raises:
            ValueError: if `y` is something else, or an answer is not in its context.
        """
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        y = y.tolist() if isinstance(y, np.ndarray) and y.dtype == object else y
        if isinstance(y, (list, tuple)):
            y = answer_positions(y, columns)
        y = np.asarray(y)
        y = y.reshape(-1, 2).astype("int64") if y.size == 0 else y
        if y.ndim != 2 or y.shape[1] != 2 or y.dtype.kind not in "iu":
            raise ValueError(
                "`y` must be a list of answers, or an int array (B, 2) with the "
                f"beginning and the end of each. Received: {y.dtype} {y.shape}."
            )
        wrong, sizes = ((y < -1) | (y > MAX_POSITION)).any(axis=1), None
        if columns is not None and not wrong.any():
            check_targets(columns, y)
            wrong, sizes = _outside(columns[1], y.astype("int64"))
        if wrong.any():
            row = int(wrong.argmax())
            size = (
                "" if sizes is None else f", whose context has {sizes[row]} characters"
            )
            raise ValueError(
                "An answer must be in its context, or both positions -1. Received: "
                f"{y[row].tolist()} in row {row}{size}."
            )
        return y.astype("int32")

    def per_row(self, columns, rows, targets):
        """Targets of questions as those of their windows; see `Task`."""
        windows = rows.pop("windows")
        if targets:
            places, *weights = targets
            weights = [ragged_rows.repeat(target, windows) for target in weights]
            targets = [token_places(rows, windows, columns[1], places), *weights]
        for name in ("begins", "ends", "widest"):
            del rows[name]
        return rows, targets

    def finish(self, x, y=None, weight=None):
        """An example; a weight counts for the beginning and for the end."""
        targets = [part for part in (y, weight) if part is not None]
        if weight is not None:
            targets[1] = tf.repeat(weight[:, None], 2, axis=1)
        return super().finish(x, *targets)

    def answer(self, x, batch_size=None):
        """The best answers to questions, as numpy; see `Task.answer`.

        Windows of similar length are read together.

        Args:
            x: (questions, contexts), or a list of `zoo.data.Question`.
            batch_size: int, windows that are read together; by default as many as have
                2,048 tokens.

        Returns:
            dict of numpy arrays (B, ...), see
            `zoo.tasks.questions.answer_spans.best_answers`.
        """
        columns, threshold = self.text_columns(x), self.options["null_threshold"]
        return answer_questions(self, columns, batch_size, threshold)

    def answer_batch(self, questions, contexts):
        """The best answers to questions, in a graph; see `answer`."""
        return answer_in_graph(self, questions, contexts)

    def answer_question(self, question, context):
        """The best answer to one question.

        Args:
            question, context: str.

        Returns:
            dict of text str, score float, its probability, and begin and end int, its
            position in characters; "" and -1 for no answer.

        Raises:
            TypeError: if an argument is not a str.
        """
        if not isinstance(question, str) or not isinstance(context, str):
            raise TypeError(
                "`answer_question` takes one question and one context. Received: "
                f"{type(question).__name__} and {type(context).__name__}. Use `answer` "
                "for lists."
            )
        (found,) = self.files.answer_rows(self, ([question], [context]))
        return found

    def find_null_threshold(self, x, y=None, batch_size=None):
        """Finds the best threshold for "no answer", and sets `null_threshold`.

        The questions must not be those of the training.

        Source: Devlin et al. 2019, section 4.3: the largest F1 on held-out questions.

        Args:
            x, y: questions with answers, as `fit` takes them.
            batch_size: see `answer`.

        Returns:
            dict of null_threshold, f1 and exact, float.
        """
        x, y = unpack_rows(self, x, y)
        columns = read_data(self, (x, y, None), "find_null_threshold").columns
        if not isinstance(y, (list, tuple)):
            y = answers_at(as_numpy(columns[1]).tolist(), np.asarray(y))
        true = [answer_texts(answer_list(row, i)) for i, row in enumerate(y)]
        found = answer_questions(self, columns, batch_size, None)
        texts, odds = found["text"].tolist(), found["null_odds"].tolist()
        threshold = best_null_threshold(true, texts, odds)
        self.options["null_threshold"] = threshold
        kept = ["" if o > threshold else t for t, o in zip(texts, odds, strict=True)]
        scores = squad_scores(true, kept, "2.0")
        return {
            "null_threshold": threshold,
            "f1": scores["f1"],
            "exact": scores["exact"],
        }


def span_logits(backbone, inputs):
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
    scores = ops.transpose(dense(x), (0, 2, 1)) + PADDING_SCORE * (1.0 - real)
    if not backbone.reads_forward:
        return scores
    last = real - ops.pad(real[..., 1:], ((0, 0), (0, 0), (0, 1)))
    last = ops.sum(scores * last, axis=-1, keepdims=True)
    return ops.concatenate([last, scores[..., 1:]], axis=-1)


def answer_positions(y, columns):
    """The positions of the first answer to each question, list of pairs."""
    answers = [answer_list(row, number) for number, row in enumerate(y)]
    if columns is not None:
        check_targets(columns, y)
        contexts = as_numpy(columns[1]).tolist()
        for row, (context, known) in enumerate(zip(contexts, answers, strict=True)):
            check_answers(Question("", "", context, known), f"of row {row}")
    firsts = [row[0] if row else None for row in answers]
    return [(-1, -1) if a is None else (a[1], a[1] + len(a[0])) for a in firsts]


def _outside(contexts, y):
    """Whether positions int (B, 2) are wrong, bool (B,), and sizes of contexts."""
    sizes = tf.strings.length(contexts, "UTF8_CHAR").numpy()
    begin, end = y.T
    possible = (begin >= 0) & (begin < end) & (end <= sizes)
    return ~(possible | (y == -1).all(axis=1)), sizes
