"""Files, scores and reports of a model that writes a text for a text."""

from zoo.checks.user_warnings import warn_user
from zoo.data import read_bitext
from zoo.evaluation import assess_texts, copied_texts, group_references, nearest_targets
from zoo.tasks.answering import as_numpy
from zoo.tasks.files.labelled_files import LabelledFiles


class TranslatedFiles(LabelledFiles):
    """Files, scores and reports of a model with a `writer`.

    Args:
        answer_name: str, the name of the written text.
        pipeline_tag: str, see `TextFiles`.
    """

    baselines = {
        "copy of the source": copied_texts,
        "target of the most similar source": nearest_targets,
    }
    takes_target_file = True

    def __init__(self, answer_name="translation", pipeline_tag=None):
        super().__init__(pipeline_tag)
        self.answer_name = answer_name

    def read(
        self,
        path,
        text_column=None,
        pair_column=None,
        label_column=None,
        target=None,
    ):
        """Reads sources and targets from one file, or from two with `target`.

        `text_column` and `label_column` are the columns, int, of source and target in
        one file, by default 0 and 1; see `zoo.data.read_bitext`. Pairs with an empty
        text are left out, with a warning.
        """
        columns = text_column, label_column
        if pair_column is not None or (target and columns != (None, None)):
            raise ValueError(
                "A task that writes texts reads a column of sources and one of targets "
                "in one file, or two files without columns. Received: columns "
                f"{columns}, pair_column={pair_column!r}, target={target!r}. Give "
                "either the two columns of one file, or the second file."
            )
        chosen = zip(columns, (0, 1), strict=True)
        pairs = read_bitext(path, target, [b if a is None else a for a, b in chosen])
        kept = [p for p in zip(*pairs, strict=True) if all(map(str.strip, p))]
        if not kept:
            raise ValueError(
                f"There must be a pair of texts. Received: none in {path}."
            )
        if len(kept) < len(pairs[0]):
            warn_user(
                f"{path} has pairs with an empty text: {len(pairs[0]) - len(kept)}. "
                "They are left out."
            )
        return tuple(map(list, zip(*kept, strict=True)))

    def describe_labels(self, labels):
        """The number of words that are separated by white space."""
        return {"words": sum(len(text.split()) for text in labels)}

    def rows_to_score(self, model, x, labels):
        """Different sources, and all the targets of each."""
        return group_references(as_numpy(model.text_columns(x)[0]).tolist(), labels)

    def predict_labels(self, model, x):
        """What the model writes, list of str, without probabilities."""
        return model.writer.write_texts(x), None

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses written texts, see `zoo.evaluation.assess_texts`."""
        return assess_texts(labels, predicted)

    def describe_error(self, model, text, label, predicted):
        """The right texts and the written one."""
        right = label if isinstance(label, str) else " / ".join(label)
        return {"true": right, self.answer_name: predicted}
