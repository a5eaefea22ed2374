"""How a question answerer finds answers: in Python, and in an exported graph."""

import numpy as np
import tensorflow as tf

from zoo.data import plan_batches
from zoo.evaluation import best_null_threshold, squad_scores
from zoo.tasks.answering import as_numpy, compiled_function
from zoo.tasks.blocks import in_blocks
from zoo.tasks.inputs.reading import read_data, unpack_rows
from zoo.tasks.inputs.text_batches import tokenise
from zoo.tasks.inputs.text_input import rows_at_once
from zoo.tasks.questions.answer_spans import best_answers, best_spans, kept_spans
from zoo.tasks.questions.true_answers import answer_list, answer_texts

ROWS_IN_BLOCK = 32  # that an export reads together
TOKENS = 2048  # that `answer` reads together
BEST_ENDS = 20  # beginnings and ends that are combined, as in the released code of BERT
QUESTIONS, BYTES = 256, 2**20  # of contexts, whose answers are compared together


class SpanDecoding:
    """The answers of a task whose outputs are scores of tokens.

    A task has `options` with num_answers, answer_length and null_threshold, see
    `zoo.QuestionAnswerer`.
    """

    answers_tokens = False
    text_methods = ("answer", "answer_question")

    def _spans(self, x):
        longest = self.options["answer_length"]
        return best_spans(self(x, training=False), x, self._candidates, longest)

    @property
    def _candidates(self):
        """The most beginnings and ends of a row that are combined, int."""
        return max(BEST_ENDS, self.options["num_answers"])

    def _no_spans(self):
        """The result of `_spans` for no rows."""
        dtypes = {"scores": "float32", "begins": "int32", "ends": "int32"}
        width = kept_spans(self._candidates)
        empty = {name: tf.zeros((0, width), dtype) for name, dtype in dtypes.items()}
        return {**empty, "null": tf.zeros(0)}

    def _best(self, spans, windows, contexts, threshold):
        found = best_answers(spans, windows, contexts, self._candidates, threshold)
        count = self.options["num_answers"]
        return {k: v[:, :count] if v.shape.rank == 2 else v for k, v in found.items()}

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
        return self._answer(x, batch_size, self.options["null_threshold"])

    def _answer(self, x, batch_size, threshold):
        """`answer` with another threshold."""
        columns = self.text_columns(x)
        rows = tokenise(self, columns)
        windows = rows.pop("windows")
        select = self.preprocessor.selector(rows, bucketed=bool(self.jit_compile))
        order, parts = [tf.zeros(0, tf.int32)], [self._no_spans()]
        if len(windows):
            lengths = self.preprocessor.lengths(rows)
            budget = TOKENS if rows_at_once(batch_size, None) is None else None
            plan = plan_batches(lengths, batch_size, False, token_budget=budget)
            order = [*plan]
            parts = [self._find_spans(select(index)) for index in order]
        back = tf.argsort(tf.concat(order, 0))
        spans = {
            key: tf.gather(tf.concat([part[key] for part in parts], 0), back)
            for key in parts[0]
        }
        ends = np.cumsum([0, *windows.numpy()])
        found = []
        for own in _blocks(tf.strings.length(columns[1]).numpy()):
            part = {k: v[ends[own.start] : ends[own.stop]] for k, v in spans.items()}
            answers = self._best(part, windows[own], columns[1][own], threshold)
            found.append({key: as_numpy(value) for key, value in answers.items()})
        return {k: np.concatenate([part[k] for part in found]) for k in found[0]}

    def _find_spans(self, x):
        """`_spans` as a `tf.function`."""
        return compiled_function(self, "spans", self._spans, reduce_retracing=True)(x)

    def answer_batch(self, questions, contexts):
        """The best answers to questions, in a graph, for an export.

        Args:
            questions, contexts: string (B,).

        Returns:
            dict of tensors, see `zoo.tasks.questions.answer_spans.best_answers`.
        """
        rows, _ = self.preprocessor.pack((questions, contexts))
        x = self.preprocessor.dense(rows)
        spans = in_blocks(self._spans, x, ROWS_IN_BLOCK, self._no_spans())
        threshold = self.options["null_threshold"]
        return self._best(spans, rows["windows"], contexts, threshold)

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
            y = _answers_at(as_numpy(columns[1]).tolist(), np.asarray(y))
        true = [answer_texts(answer_list(row, i)) for i, row in enumerate(y)]
        found = self._answer(columns, batch_size, None)
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


def _answers_at(contexts, places):
    """Answers at positions int (B, 2); [] for no answer."""
    return [
        [] if begin < 0 else [(context[begin:end], begin)]
        for context, (begin, end) in zip(contexts, places.tolist(), strict=True)
    ]


def _blocks(sizes):
    """Slices of contexts of some sizes in bytes, so that they need little memory."""
    starts, total = [0], 0
    for number, size in enumerate(sizes.tolist()):
        total += size
        full = total > BYTES or number - starts[-1] == QUESTIONS
        if full and number > starts[-1]:
            starts.append(number)
            total = size
    return map(slice, starts, [*starts[1:], len(sizes)])
