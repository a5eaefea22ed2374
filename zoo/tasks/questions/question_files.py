"""What the command line asks of a question answerer: SQuAD in, scores, answers out."""

import operator

from zoo.data import Answer, read_squad, write_squad_predictions
from zoo.evaluation import assess_answers, most_similar_sentences, no_answers
from zoo.tasks.answering import as_numpy
from zoo.tasks.labelled_files import LabelledFiles


class QuestionFiles(LabelledFiles):
    """What a question answerer reads from files, scores, answers and reports with.

    A subclass has `answer` and `find_null_threshold`. Labels are tuples of
    `zoo.data.Answer`.
    """

    baselines = {
        "no answer": no_answers,
        "sentence with the rarest words of the question": most_similar_sentences,
    }

    split_column = 1  # several questions have the same context

    @classmethod
    def read(cls, path, text_column=None, pair_column=None, label_column=None):
        """Reads questions, contexts and answers, see `zoo.data.read_squad`.

        Raises:
            ValueError: if a column is named, or a question has no answer and is not
                marked as impossible.
        """
        columns = (text_column, pair_column, label_column)
        if any(column is not None for column in columns):
            raise ValueError(
                f"A file of SQuAD has no columns. Received: {columns}. Leave them out."
            )
        rows = read_squad(path)
        unknown = [row.id for row in rows if row.answers is None]
        if unknown or not rows:
            raise ValueError(
                "Every question must have answers, or be marked with `is_impossible`. "
                f"Received: {len(rows)} questions in {path}, of which {len(unknown)} "
                f"have none, such as {unknown[:3]}."
            )
        texts = [row.question for row in rows], [row.context for row in rows]
        return texts, [row.answers for row in rows]

    @classmethod
    def data_options(cls, labels):
        """A threshold for no answer, if there are questions without answers."""
        return {} if all(map(len, labels)) else {"null_threshold": 0.0}

    @property
    def calibrated(self):
        """The threshold for no answer, if there is one."""
        return () if self.options["null_threshold"] is None else ("null_threshold",)

    def calibrate(self, x, labels):
        """Finds the best threshold, see `find_null_threshold`."""
        found = self.find_null_threshold(x, labels)
        return {name: found[name] for name in self.calibrated}

    @classmethod
    def describe_labels(cls, labels):
        """How many questions have an answer, and how many have none."""
        answerable = sum(len(row) > 0 for row in labels)
        counts = {"answer": answerable, "no answer": len(labels) - answerable}
        return {"counts": {name: count for name, count in counts.items() if count}}

    def measure(self, x, labels):
        """Scores as of every task, and exact match and F1."""
        predicted, _ = self.predict_labels(x)
        return super().measure(x, labels) | self.assess(labels, predicted).values()

    def predict_labels(self, x):
        """The texts of the answers, and their probabilities."""
        found = self.answer(x)
        return found["text"].tolist(), found["score"].tolist()

    def assess(self, labels, predicted, confidence=None):
        """Assesses answers, see `zoo.evaluation.assess_answers`."""
        return assess_answers([answer_texts(row) for row in labels], predicted)

    def describe_error(self, text, label, predicted):
        """The true answers and the predicted one."""
        true = " / ".join(dict.fromkeys(answer_texts(label)))
        return {"true": true or "no answer", "predicted": predicted or "no answer"}

    def answer_rows(self, x):
        """Yields a dict for each question, with its best answer."""
        found = self.answer(x)
        columns = {
            name: found[name].tolist() for name in ("text", "score", "begin", "end")
        }
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def answer_file(self, path, output):
        """Answers the questions of a file of SQuAD; see `LabelledFiles.answer_file`.

        The answers are in the form of `zoo.data.write_squad_predictions`.
        """
        questions = read_squad(path)
        texts = [row["text"] for row in self.answer_rows(questions)]
        write_squad_predictions(output, questions, texts)
        return len(texts)

    def marked_texts(self, x, answers):
        """Contexts with the best answers."""
        contexts = as_numpy(self.text_columns(x)[1]).tolist()
        return contexts, [[row] for row in answers]


def answer_texts(answers):
    """The texts of `Answer`s, list of str."""
    return [text for text, _ in answers]


def answer_list(answers, row):
    """The answers to one question as a list of `Answer`.

    Args:
        answers: list of `Answer` or of pairs of text and position, or one of them.
        row: int, for the message.

    Raises:
        ValueError: if they are something else.
    """
    if isinstance(answers, tuple) and len(answers) == 2 and isinstance(answers[0], str):
        answers = [answers]
    try:
        found = [Answer(text, operator.index(begin)) for text, begin in answers]
    except (TypeError, ValueError):
        found = None
    if found is None or not all(isinstance(text, str) for text, _ in found):
        raise ValueError(
            "`y` must have the answers to every question: a list of pairs of a text "
            "and the position of its first character; [] if the context does not "
            f"answer the question. Received: {answers!r:.80} in row {row}. Leave out "
            "questions whose answers are unknown."
        )
    return found
