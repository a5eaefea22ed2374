"""Looks up the tokens of texts that are tokenized already."""

import tensorflow as tf

from zoo.text.subwords.source_target import SourceTargetTokenizer, read_entries
from zoo.text.tokenizer import Framing
from zoo.text.vocabulary import constant, lookup


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
        source, target = _Tokens(read_entries(tokens, "tokens"), self._marks), None
        if target_tokens is not None:
            target = _Tokens(read_entries(target_tokens, "target_tokens"), self._marks)
        self._set_sides(source, target)
        self.tokens, self.target_tokens = source.tokens, self._target.tokens
        self.pad_id, self.start_id, self.end_id, _ = self._target.marks
        if source.marks[0] != self.pad_id:
            raise ValueError(
                "Both lists must have padding at the same id. Received: "
                f"{source.marks[0]} and {self.pad_id} for {pad!r}."
            )
        begin = (source.marks[1],) if source_start else ()
        end = (source.marks[2],) if source_end else ()
        self.framing = Framing(begin, end, end)
        # An id that is too large is unknown.
        self._spelling = constant([*self.target_tokens, unknown])

    def _encode(self, side, texts):
        """The ids of texts on one side."""
        texts = tf.convert_to_tensor(texts, tf.string)
        words = tf.strings.split(tf.reshape(texts, [-1]))
        ids = words.with_values(side.table.lookup(words.values))
        return ids if texts.shape.rank else ids.values

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        ids = self.written(ids)
        ids = ids.with_values(tf.minimum(ids.values, len(self.target_tokens)))
        tokens = tf.gather(self._spelling, ids)
        return tf.strings.reduce_join(tokens, axis=-1, separator=" ")

    def get_config(self):
        """The constructor's arguments, with the content of the lists."""
        shared = self._target is self._source
        target = None if shared else list(self.target_tokens)
        lists = {"tokens": list(self.tokens), "target_tokens": target}
        return {**lists, **self._marks, **self._ends}


class _Tokens(tf.Module):
    """The list of one side, the ids of its special tokens, and its lookup table."""

    def __init__(self, tokens, specials):
        super().__init__()
        ids = {token: i for i, token in reversed([*enumerate(tokens)])}
        missing = [token for token in specials.values() if token not in ids]
        if missing:
            raise ValueError(
                f"`tokens` must include the special token {missing[0]!r}. Received: "
                f"{len(tokens)} tokens without it. Name the list's own in the "
                "arguments."
            )
        self.tokens, self.marks = tokens, [ids[token] for token in specials.values()]
        self.table = lookup([*ids], self.marks[-1], ids.values())
