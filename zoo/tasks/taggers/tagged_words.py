"""The words of texts with their tags, and the spans that the tags make."""

from zoo.evaluation import find_spans
from zoo.tasks.answering import as_numpy
from zoo.tasks.inputs.word_weights import word_classes

# The name of an answer for all words, and for one word.
WORD_KEYS = {
    "words": "word",
    "tags": "tag",
    "scores": "score",
    "begins": "begin",
    "ends": "end",
}


def tagged_texts(task, texts, batch_size=None):
    """Pairs of a text, str, and its words, see `tag`; an iterator."""
    columns = as_numpy(task.text_columns(texts)[0]).tolist()
    return zip(columns, task.tag(texts, batch_size), strict=True)


def label_names_of(task, y):
    """The names of the labels of every word, list of lists of str, checked."""
    rows = word_classes(task.encode_labels(y))
    return [[task.labels[number] for number in row] for row in rows]


def spans_of_text(text, words):
    """The spans of a text from its tagged words, see `TokenClassifier.entities`."""
    found = []
    for label, first, last in find_spans([word["tag"] for word in words]):
        span = words[first:last]
        begin, end = span[0]["begin"], span[-1]["end"]
        score = sum(word["score"] for word in span) / len(span)
        place = {"text": text[begin:end], "begin": begin, "end": end}
        found.append({**place, "label": label, "score": score})
    return found
