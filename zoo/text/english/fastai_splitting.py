"""Splits texts into the tokens of fastai's ULMFiT, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.ragged_rows import keep
from zoo.text.english.fastai_older_rules import clean_as_07, clean_as_1, mark_capitals
from zoo.text.english.fastai_rules import INNER_SPACE, OTHER_SPACE, clean, split_spans
from zoo.text.english.html_entities import lower_case, named_references
from zoo.text.english.spacy_splitting import EnglishSplitter

UNKNOWN, PAD, BEGIN, END, FIELD = "xxunk", "xxpad", "xxbos", "xxeos", "xxfld"
CHARACTERS, WORDS, CAPITALS, CAPITAL = "xxrep", "xxwrep", "xxup", "xxmaj"
# In the order of their ids in fastai 2.
SPECIALS = (UNKNOWN, PAD, BEGIN, END, FIELD, CHARACTERS, WORDS, CAPITALS, CAPITAL)
# fastai adds such tokens, so that the size of a vocabulary is a multiple of 8.
FILLER = "xxfake"


VERSIONS = ("v2", "v1", "0.7")


class FastaiSplitter(tf.Module):
    """Splits texts into the tokens of a version of fastai, as strings.

    Source: fastai 2.8, `text/core.py`, the default rules and `WordTokenizer`. A capital
    of the Latin alphabet at the start of a span between white space becomes a mark, in
    the rules replace_all_caps and replace_maj. fastai 1 marks tokens instead of spans,
    of all alphabets, and fastai 0.7 marks words of three or more capitals.
    """

    def __init__(self, version="v2"):
        super().__init__()
        self._version = version
        self._names = named_references()
        self._english = EnglishSplitter(cased=version == "v1")

    def spans(self, texts):
        """Numbers of spans, ragged (B, None), and their tokens, ragged (N, None)."""
        # Distinct spans are split once, in the order in which the texts have them.
        # `NULL` stands for the character 0.
        if self._version == "v2":
            spans = split_spans(clean(texts, self._names))
        else:
            rules = clean_as_1 if self._version == "v1" else clean_as_07
            spans = split_spans(rules(texts, self._names))[:, 1:]
        distinct, numbers = tf.unique(spans.values)
        return spans.with_values(numbers), self._tokens(distinct)

    def _tokens(self, spans):
        space = tf.strings.regex_full_match(spans, f"[{OTHER_SPACE}{INNER_SPACE}]+")
        if self._version != "v2":
            return self._older_tokens(spans, space)
        tokens = self._english.split(lower_case(tf.where(space, "", spans)))
        # Every span has room for a mark before its tokens.
        whole = tf.strings.regex_replace(spans, INNER_SPACE, "▁")
        upper = tf.strings.regex_full_match(spans, "[A-Z][^a-z]+")
        title = tf.strings.regex_full_match(spans, "[A-Z][^A-Z]+") & ~upper
        marks = tf.where(upper, CAPITALS, tf.where(title, CAPITAL, ""))
        marks = tf.where(space, whole, marks)
        tokens = tf.concat([marks[:, None], tokens], axis=1)
        return keep(tokens, tokens.values != "")

    def _older_tokens(self, spans, space):
        whole = tf.where(space, tf.strings.regex_replace(spans, INNER_SPACE, " "), "")
        tokens = self._english.split(tf.where(space, "", spans))
        tokens = tf.concat([whole[:, None], tokens], axis=1)
        if self._version == "v1":
            pairs = tf.stack(mark_capitals(tokens.values), axis=1)
            splits = 2 * tokens.row_splits
            tokens = tf.RaggedTensor.from_row_splits(tf.reshape(pairs, [-1]), splits)
        return keep(tokens, tokens.values != "")
