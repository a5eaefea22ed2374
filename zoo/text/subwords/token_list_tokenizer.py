"""Looks up the tokens of texts that are tokenized already."""

import tensorflow as tf

from zoo.text.subwords.source_target import SourceTargetTokenizer, read_entries
from zoo.text.tokenizer import Framing
from zoo.text.vocabulary import lookup


class TokenListTokenizer(SourceTargetTokenizer):
    """Splits texts on white space, and looks the tokens up in a list.

    OpenNMT and CTranslate2 take such texts, which another program has tokenized. The
    texts that a model writes are tokens with spaces between them, too.

    Source: `SpaceTokenizer` of OpenNMT-tf 2.32. White space is that of ASCII. Of
    repeated tokens, the first one counts, as in CTranslate2.

    Args:
        tokens: path of a file with one token per line, or a sequence of str. The id of
            a token is its number, from 0.
        target_tokens: the same for texts that a model writes, by default those of the
            source.
        pad, start, end, unknown: str, tokens of both lists. Padding, the token that a
            target begins with, the one after the last, and that of tokens that are not
            in the list. Of these, `pad` must have the same id on both sides.
        source_start, source_end: bool, whether `start` stands before a source, and
            `end` after it.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file at the path.
        TypeError: if a token is not a str.
        ValueError: if a list lacks a special token, both have padding at different
            ids, or a file is not UTF-8.

    Example:
        >>> tokenizer = TokenListTokenizer(["<blank>", "<s>", "</s>", "a", "<unk>"])
        >>> tokenizer(["a b a"]).to_list()
        [[3, 4, 3]]
    """

    files = {"tokens": "tokens.txt", "target_tokens": "target_tokens.txt"}

    def __init__(
        self,
        tokens,
        target_tokens=None,
        pad="<blank>",
        start="<s>",
        end="</s>",
        unknown="<unk>",
        source_start=False,
        source_end=False,
    ):
        super().__init__()
        self._marks = {"pad": pad, "start": start, "end": end, "unknown": unknown}
        self._ends = {"source_start": source_start, "source_end": source_end}
        self.tokens = read_entries(tokens, "tokens")
        self.target_tokens = self.tokens
        if target_tokens is not None:
            self.target_tokens = read_entries(target_tokens, "target_tokens")
        source, target = (
            [_first(side, token) for token in self._marks.values()]
            for side in (self.tokens, self.target_tokens)
        )
        if source[0] != target[0]:
            raise ValueError(
                "Both lists must have padding at the same id. Received: "
                f"{source[0]} and {target[0]} for {pad!r}."
            )
        self.pad_id, self.start_id, self.end_id, _ = target
        begin = (source[1],) if source_start else ()
        end = (source[2],) if source_end else ()
        self.framing = Framing(begin, end, end)
        self.vocabulary_size = len(self.tokens)
        self.target_vocabulary_size = None
        if target_tokens is not None:
            self.target_vocabulary_size = len(self.target_tokens)
        self._table = _table(self.tokens, source[-1])
        self._target_table = self._table
        if target_tokens is not None:
            self._target_table = _table(self.target_tokens, target[-1])
        with tf.init_scope(), tf.device("CPU:0"):
            # An id that is too large is unknown.
            self._spelling = tf.constant([*self.target_tokens, unknown])

    def __call__(self, texts):
        """Returns the ids of the source; see the class."""
        return _look_up(self._table, texts)

    def targets(self, texts):
        """Returns the ids of texts that a model shall write; as `__call__`."""
        return _look_up(self._target_table, texts)

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        ids = self.written(ids)
        ids = ids.with_values(tf.minimum(ids.values, len(self.target_tokens)))
        tokens = tf.gather(self._spelling, ids)
        return tf.strings.reduce_join(tokens, axis=-1, separator=" ")

    def all_tokens(self, target=False):
        """The list of the source, or of the target; see `Tokenizer`."""
        return self.target_tokens if target else self.tokens

    def get_config(self):
        """The constructor's arguments, with the content of the lists."""
        shared = self.target_tokens is self.tokens
        target = None if shared else list(self.target_tokens)
        lists = {"tokens": list(self.tokens), "target_tokens": target}
        return {**lists, **self._marks, **self._ends}


def _first(tokens, token):
    """The id of a special token."""
    if token not in tokens:
        raise ValueError(
            f"`tokens` must include the special token {token!r}. Received: "
            f"{len(tokens)} tokens without it. Name the list's own in the arguments."
        )
    return tokens.index(token)


def _table(tokens, unknown):
    """The lookup table of tokens."""
    ids = {token: i for i, token in reversed([*enumerate(tokens)])}
    return lookup([*ids], unknown, ids.values())


def _look_up(table, texts):
    """The ids of texts, ragged int32 (B, None), or (None,) for a single text."""
    texts = tf.convert_to_tensor(texts, tf.string)
    words = tf.strings.split(tf.reshape(texts, [-1]))
    ids = words.with_values(table.lookup(words.values))
    return ids if texts.shape.rank else ids.values
