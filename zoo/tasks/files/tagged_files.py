"""Files, scores, answers and reports of a tagger."""

import itertools

from zoo.data import read_conll
from zoo.evaluation import assess_tags, find_scheme, most_frequent_tags
from zoo.tasks.answering import as_numpy
from zoo.tasks.files.labelled_files import LabelledFiles
from zoo.tasks.taggers.tagged_words import (
    WORD_KEYS,
    label_names_of,
    spans_of_text,
    tagged_texts,
)
from zoo.tasks.taggers.word_answers import word_probabilities


class TaggedFiles(LabelledFiles):
    """Files, scores, answers and reports of a tagger."""

    pipeline_tag = "token-classification"
    baselines = {"most frequent tag of each word": most_frequent_tags}
    read_options = ("documents", "skip_empty_words")
    counted = "words"
    answer_names = padded_names = tuple(WORD_KEYS)

    def probabilities(self, model, x, temperature=1.0, batch_size=None):
        """See `TextFiles`: for each text (W, C); of "crf" the marginals."""
        return word_probabilities(model, x, temperature, batch_size)

    def read(
        self,
        path,
        text_column=None,
        pair_column=None,
        label_column=None,
        documents=False,
        skip_empty_words=False,
    ):
        """Reads words and tags from a file of columns, see `zoo.data.read_conll`.

        With `documents`, the sentences of a document are one text. With
        `skip_empty_words`, lines without a word are skipped.
        """
        if pair_column is not None:
            raise ValueError(
                "Tags belong to the words of one text. Received: "
                f"pair_column={pair_column!r}. Leave it out."
            )
        columns = text_column, label_column
        words, tags = read_conll(path, *columns, documents, skip_empty_words)
        if not words:
            raise ValueError(
                f"There must be a sentence with tags. Received: none in {path}."
            )
        return words, tags

    def options(self, kind, x, labels):
        """The names of the tags, and the scheme of spans if they follow one."""
        names = sorted({tag for tags in labels for tag in tags})
        return {"labels": names, "scheme": find_scheme(labels)}

    def answer_rows(self, model, x, batch_size=None):
        """Yields a dict for each text: lists of values of words, and `entities`."""
        for text, words in tagged_texts(model, x, batch_size):
            row = {k: [word[key] for word in words] for k, key in WORD_KEYS.items()}
            if model.options["scheme"]:
                row["entities"] = spans_of_text(text, words)
            yield row

    def marked_texts(self, model, x, answers):
        """Texts with their spans, or without a scheme with the tags of all words."""
        texts = as_numpy(model.text_columns(x)[0]).tolist()
        if model.options["scheme"]:
            return texts, [row["entities"] for row in answers]
        keys = {"tags": "label", "scores": "score", "begins": "begin", "ends": "end"}
        return texts, [
            [
                dict(zip(keys.values(), word, strict=True))
                for word in zip(*(row[key] for key in keys), strict=True)
            ]
            for row in answers
        ]

    def describe_labels(self, labels):
        """How often each tag occurs, and the number of words."""
        tags = list(itertools.chain.from_iterable(labels))
        return {"words": len(tags), **super().describe_labels(tags)}

    def predict_labels(self, model, x):
        """The tags of all words and their probabilities, two lists of lists."""
        rows = model.tag(x)
        return tuple(
            [[word[key] for word in row] for row in rows] for key in ("tag", "score")
        )

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses predicted tags, see `zoo.evaluation.assess_tags`."""
        scheme, names = model.options["scheme"], label_names_of(model, labels)
        return assess_tags(names, predicted, model.labels, scheme, confidence)

    def describe_error(self, model, text, label, predicted):
        """The words with a wrong tag, with the true and the predicted tag."""
        words = zip(text, label, predicted, strict=True)
        wrong = [
            f"{word}: {tag}, not {found}" for word, tag, found in words if tag != found
        ]
        return {"wrong tags": "; ".join(wrong)}
