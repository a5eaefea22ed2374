"""Sentences to pieces, and trees to tokens and back, for a model that parses."""

import tensorflow as tf

from zoo.ragged_rows import before, join, keep
from zoo.text.parsing.linear_trees import NUMBERED, NUMBERS, find_labels
from zoo.text.parsing.tree_grammar import TreeGrammar
from zoo.text.subwords.sentencepiece import SentencePieceTokenizer
from zoo.text.tokenizer import checked_id
from zoo.text.vocabulary import Vocabulary, lookup
from zoo.text.white_space import split_words


class ParsingTokenizer(SentencePieceTokenizer):
    """Pieces of SentencePiece for sentences, and one id for each token of linear trees.

    The words of a sentence are separated by white space. With the linearization
    "numbered", the number of a word stands before its pieces; its id follows the last
    piece of the model.

    Args:
        model: see `SentencePieceTokenizer`, of the sentences.
        target_tokens: list of str, or path of a file of lines: the tokens of the trees,
            see `zoo.text.list_tokens`.
        linearization: str, see `zoo.text.linearize`.

    Attributes:
        pad_id, start_id, end_id: ints, the same for sentences and trees.
        labels: tuple of str, the labels of phrases.
        grammar: `zoo.text.parsing.tree_grammar.TreeGrammar` of the ids.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        ValueError: if the model cannot be read, a token is repeated or empty, no token
            is the tag of a leaf, the linearization is unknown, or it is "numbered" and
            a number is missing.

    Example:
        >>> from zoo.text import train_sentencepiece
        >>> model = train_sentencepiece(["a cat", "a dog"], 270)
        >>> tokenizer = ParsingTokenizer(model, ["(NP", ")NP", "DT", "NN"])
        >>> ids = tokenizer.targets(["(NP DT NN )NP"])
        >>> tokenizer.detokenize(ids).numpy().tolist()
        [b'(NP DT NN )NP']
    """

    files = {"model": "sentencepiece.model", "target_tokens": "target_tokens.txt"}

    def __init__(self, model, target_tokens, linearization="tensor2tensor"):
        super().__init__(model)
        tokens = Vocabulary(target_tokens).tokens
        self.target_tokens = tokens
        self.linearization = linearization
        self.labels = tuple(sorted(find_labels(tokens, linearization)))
        marks = {self.pad_id, self.start_id, self.end_id}
        unknown = min({*range(len(marks) + 1)} - marks)
        first = max(*marks, unknown) + 1
        self._ids = lookup(tokens, unknown, range(first, first + len(tokens)))
        self._names = ("",) * first + tokens
        self.grammar = TreeGrammar(
            self._names, linearization, range(first), self.end_id
        )
        self.target_vocabulary_size = first + len(tokens)
        if linearization == NUMBERED:
            self._first_number = self.vocabulary_size
            self.vocabulary_size += len(NUMBERS)
            self.word_prefix = 1

    def __call__(self, texts):
        """Returns the ids of sentences; see the class."""
        if self.linearization != NUMBERED:
            return super().__call__(texts)
        texts = tf.convert_to_tensor(texts, tf.string)
        words = split_words(tf.reshape(texts, [-1]))[0]
        ids = words.with_values(self.row_pieces(words)).merge_dims(1, 2)
        return ids if texts.shape.rank else ids.values

    def row_pieces(self, words):
        """Returns the tokens of words, with their numbers; see `Tokenizer`."""
        if self.linearization != NUMBERED:
            return super().row_pieces(words)
        places = tf.ragged.range(words.row_lengths()).values
        numbers = self._first_number + places % len(NUMBERS)
        numbers = tf.cast(numbers, tf.int32)[:, None]
        return tf.concat([numbers, super().__call__(words.values)], axis=1)

    def id_to_token(self, id, target=False):
        """Returns the token of a tree, or the piece or number of a sentence."""
        numbers = NUMBERS if self.linearization == NUMBERED else ()
        tokens = self.target_tokens if target else numbers
        size = self.target_vocabulary_size if target else self.vocabulary_size
        place = checked_id(id, size) - size + len(tokens)
        return tokens[place] if place >= 0 else super().id_to_token(id)

    def targets(self, texts):
        """Returns the ids of linear trees, tokens separated by spaces; as `__call__`.

        Unknown tokens have an id of their own, which no tree is made from.
        """
        texts = tf.convert_to_tensor(texts, tf.string)
        tokens = tf.strings.split(tf.reshape(texts, [-1]))
        ids = tokens.with_values(self._ids.lookup(tokens.values))
        return ids if texts.shape.rank else ids.values

    def detokenize(self, ids):
        """Returns linear trees, string (B,), from ids int32 (B, T) up to an end."""
        ids = before(ids, self.end_id)
        names = ids.with_values(tf.gather(tf.constant(self._names), ids.values))
        return join(keep(names, names.values != ""), " ")

    def write_trees(self, ids, texts):
        """Trees in brackets over the words of texts (B,), whatever the ids are."""
        return self.grammar.write(ids, split_words(texts)[0])

    def get_config(self):
        """The model in base64, the tokens and the linearization."""
        return {
            "model": super().get_config()["model"],
            "target_tokens": list(self.target_tokens),
            "linearization": self.linearization,
        }
