"""What the command line asks of a tagger: sentences in, scores, tags, reports out."""

import itertools
import pathlib

from zoo.data import read_conll
from zoo.evaluation import assess_tags, find_spans, most_frequent_tags
from zoo.tasks.labelled_files import LabelledFiles


class TaggedFiles(LabelledFiles):
    """What a tagger reads from files, trains on, scores, answers and reports with.

    A subclass has `labels`, `options`, `tag` and `score`.
    """

    baselines = {"most frequent tag of each word": most_frequent_tags}
    has_documents = True

    @classmethod
    def read(
        cls,
        path,
        text_column=None,
        pair_column=None,
        label_column=None,
        documents=False,
    ):
        """Reads words and tags from a file of columns, see `zoo.data.read_conll`.

        By default, words and tags are in the first and the last column. In a file whose
        name ends in `.conllu` they are in the second and the fourth column. With
        `documents`, the sentences of a document are one text.
        """
        if pair_column is not None:
            raise ValueError(
                "Tags belong to the words of one text. Received: "
                f"pair_column={pair_column!r}. Leave it out."
            )
        chosen = (1, 3) if ".conllu" in pathlib.Path(path).suffixes else (0, -1)
        columns = zip((text_column, label_column), chosen, strict=True)
        columns = (b if a is None else a for a, b in columns)
        return read_conll(path, *columns, documents=documents)

    @classmethod
    def data_options(cls, labels):
        """The names of the tags."""
        return {"labels": sorted({tag for tags in labels for tag in tags})}

    def measure(self, x, labels):
        """Scores as of every task, and with a scheme precision, recall and F1."""
        scores = super().measure(x, labels)
        if self.options["scheme"]:
            spans = self.score(x, labels)
            scores |= {name: spans[name] for name in ("precision", "recall", "f1")}
        return scores

    def answer_rows(self, x):
        """Yields a dict of lists for each text, with one value for each word."""
        for words in self.tag(x):
            keys = ("word", "tag", "score", "begin", "end")
            yield {f"{key}s": [word[key] for word in words] for key in keys}

    @classmethod
    def describe_labels(cls, labels):
        """How often each tag occurs, and the number of words."""
        tags = list(itertools.chain.from_iterable(labels))
        return {"words": len(tags), **super().describe_labels(tags)}

    def predict_labels(self, x):
        """The tags of all words and their probabilities, two lists of lists."""
        rows = self.tag(x)
        return tuple(
            [[word[key] for word in row] for row in rows] for key in ("tag", "score")
        )

    def assess(self, labels, predicted, confidence=None):
        """Assesses predicted tags, see `zoo.evaluation.assess_tags`."""
        scheme = self.options["scheme"]
        return assess_tags(labels, predicted, self.labels, scheme, confidence)

    def describe_error(self, text, label, predicted):
        """The words with a wrong tag, with the true and the predicted tag."""
        words = zip(text, label, predicted, strict=True)
        wrong = [
            f"{word}: {tag}, not {found}" for word, tag, found in words if tag != found
        ]
        return {"wrong tags": "; ".join(wrong)}


def spans_of_text(text, words):
    """The spans of a text, see `zoo.TokenClassifier.entities`.

    Args:
        text: str.
        words: list of dict of tag, score, begin and end, from `tag`.

    Returns:
        list of dict of text, begin, end, label and score.
    """
    found = []
    for label, first, last in find_spans([word["tag"] for word in words]):
        own = words[first:last]
        begin, end = own[0]["begin"], own[-1]["end"]
        score = sum(word["score"] for word in own) / len(own)
        place = {"text": text[begin:end], "begin": begin, "end": end}
        found.append({**place, "label": label, "score": score})
    return found
