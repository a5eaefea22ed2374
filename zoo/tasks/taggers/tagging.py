"""The words of texts with their tags, and the spans that the tags make."""

from zoo.evaluation import find_spans, span_scores
from zoo.tasks.answering import answer_parts, as_numpy
from zoo.tasks.inputs.reading import read_data

# The name of an answer for all words, and for one word.
WORD_KEYS = {
    "words": "word",
    "tags": "tag",
    "scores": "score",
    "begins": "begin",
    "ends": "end",
}


class Tagging:
    """What a task does that has a tag for every word of a text, see `TokenClassifier`.

    A subclass has `answer`, which returns words, tags, scores, begins and ends.
    """

    def tag(self, texts, batch_size=None):
        """The words of texts with their tags and positions.

        Args:
            texts: list of str, or of lists of words.
            batch_size: int, 32 by default.

        Returns:
            list with one list for each text. It has a dict for each word: word, tag,
            score, and begin and end in characters. `tag` joins a list of words with
            spaces before it counts characters.

        Raises:
            TypeError: if `texts` is one string, or not text.
        """
        found, names = {}, WORD_KEYS.values()
        for numbers, answers in answer_parts(self, texts, batch_size):
            columns = [answers[key].tolist() for key in WORD_KEYS]
            for number, *row in zip(numbers.tolist(), *columns, strict=True):
                words = (
                    dict(zip(names, word, strict=True))
                    for word in zip(*row, strict=True)
                )
                found[number] = [word for word in words if word["begin"] >= 0]
        return [found[number] for number in range(len(found))]

    def tagged_texts(self, texts, batch_size=None):
        """Pairs of a text, str, and its words, see `tag`; an iterator."""
        columns = as_numpy(self.text_columns(texts)[0]).tolist()
        return zip(columns, self.tag(texts, batch_size), strict=True)

    def entities(self, texts, batch_size=None):
        """The spans of texts, such as names.

        Args:
            texts: one str; or list of str, or of lists of words.
            batch_size: int, 32 by default.

        Returns:
            list with a dict for each span: text, label, score, the mean probability of
            its tags, and begin and end in characters. For several texts, a list with
            one such list for each text.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: if the labels are not tags of spans, such as B-PER.
        """
        if isinstance(texts, str):
            return self.entities([texts])[0]
        rows = self.tagged_texts(texts, batch_size)
        return [spans_of_text(text, words) for text, words in rows]

    def score(self, x, y, batch_size=None):
        """Precision, recall and F1 of spans; see `zoo.evaluation.span_scores`.

        Args:
            x: texts, or lists of words.
            y: labels of every word.
            batch_size: int, 32 by default.

        Raises:
            ValueError: if labels are unknown, or a word has no label.
        """
        data = read_data(self, (x, y, None), "score")
        tagged = self.tag(data.columns, batch_size)
        found = [[word["tag"] for word in row] for row in tagged]
        return span_scores(self.label_names(y), found)

    def label_names(self, y):
        """The names of the labels of every word, list of lists of str, checked."""
        rows = [row.split() for row in self.encode_labels(y)]
        return [[self.labels[int(number)] for number in row] for row in rows]


def spans_of_text(text, words):
    """The spans of a text, see `Tagging.entities`.

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
