"""Files, scores, answers and reports of a question answerer."""

from zoo.data import read_squad, write_squad_predictions
from zoo.evaluation import assess_answers, most_similar_sentences, no_answers
from zoo.tasks.answering import as_numpy
from zoo.tasks.files.labelled_files import LabelledFiles, check_no_columns
from zoo.tasks.questions.true_answers import answer_texts


class QuestionFiles(LabelledFiles):
    """Files and scores of a question answerer; labels are tuples of `Answer`."""

    pipeline_tag = "question-answering"
    baselines = {
        "no answer": no_answers,
        "sentence with the rarest words of the question": most_similar_sentences,
    }
    split_column = 1  # several questions have the same context
    answer_names = ("text", "score", "begin", "end")  # of the best answer

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Reads questions, contexts and answers, see `zoo.data.read_squad`."""
        rule = "A file of SQuAD has no columns."
        check_no_columns(rule, text_column, pair_column, label_column)
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

    def options(self, kind, x, labels):
        """A threshold for no answer, if there are questions without answers."""
        return {} if all(map(len, labels)) else {"null_threshold": 0.0}

    def calibrated(self, model):
        """The threshold for no answer, if there is one."""
        return () if model.options["null_threshold"] is None else ("null_threshold",)

    def calibrate(self, model, x, labels):
        """Finds the best threshold, see `find_null_threshold`."""
        found = model.find_null_threshold(x, labels)
        return {name: found[name] for name in self.calibrated(model)}

    def describe_labels(self, labels):
        """How many questions have an answer, and how many have none."""
        answerable = sum(len(row) > 0 for row in labels)
        counts = {"answer": answerable, "no answer": len(labels) - answerable}
        return {"counts": {name: count for name, count in counts.items() if count}}

    def predict_labels(self, model, x):
        """The texts of the answers, and their probabilities."""
        found = model.answer(x)
        return found["text"].tolist(), found["score"].tolist()

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses answers, see `zoo.evaluation.assess_answers`."""
        return assess_answers([answer_texts(row) for row in labels], predicted)

    def describe_error(self, model, text, label, predicted):
        """The true answers and the predicted one."""
        true = " / ".join(dict.fromkeys(answer_texts(label)))
        return {"true": true or "no answer", "predicted": predicted or "no answer"}

    def answer_file(self, model, path, output):
        """Answers questions in the form of `zoo.data.write_squad_predictions`."""
        questions = read_squad(path)
        texts = [row["text"] for row in self.answer_rows(model, questions)]
        write_squad_predictions(output, questions, texts)
        return len(texts)

    def marked_texts(self, model, x, answers):
        """Contexts with the best answers."""
        contexts = as_numpy(model.text_columns(x)[1]).tolist()
        return contexts, [[row] for row in answers]
