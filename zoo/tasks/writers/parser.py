"""From a sentence to the tree of its phrases."""

import keras
import numpy as np
import tensorflow as tf

from zoo.evaluation import assess_trees, right_branching_trees
from zoo.tasks.inputs.text_input import join_words
from zoo.tasks.writers.translator import Translator
from zoo.text import find_leaves, phrase_spans, read_tree, read_trees, write_tree
from zoo.text.parsing.linear_trees import find_labels, linearize, read_token


def _right_branching(sentences, trees, others):
    """`right_branching_trees` on sentences and trees as `Parser.read` gives them."""
    trees = [read_tree(text, clean=True) for text in trees]
    found = right_branching_trees(trees, [text.split() for text in others])
    return list(map(write_tree, found))


@keras.saving.register_keras_serializable(package="zoo")
class Parser(Translator):
    """Writes the constituency tree of every sentence.

    The decoder writes a linear tree without words. At each step, it chooses only among
    tokens that can still lead to a tree over all words, see
    `zoo.text.parsing.tree_grammar.TreeGrammar`. So every answer is a tree with the
    words of its sentence in their order. The probabilities of these tokens add up to 1
    at each step.

    Source: Vaswani et al. 2017, section 6.3; Vinyals et al. 2015. The default of
    `extra_tokens` is 300, as in the paper. The paper does not restrict which token may
    come next.

    Args:
        backbone: `zoo.backbone.Backbone` with an encoder and a decoder of
            `tokenizer.target_vocabulary_size` tokens.
        tokenizer: `zoo.text.ParsingTokenizer`.
        label_smoothing, smoothing_kind: see `zoo.Translator`.
        generation: dict, the defaults of `parse`, see `zoo.Translator`.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        sentences (B,), str of words that are separated by white space, or lists of
        words; and as `y` their trees in brackets, which `fit` cleans, see
        `zoo.text.clean_tree`.

    Returns:
        float32 (B, T, V), logits of the token after each position of the linear tree.

    Raises:
        ValueError: if the backbone has no decoder of the tokenizer's size.

    Example:
        >>> import zoo
        >>> parser = zoo.from_preset("transformer_mini_en_parser_gum")
        >>> parser.tokenizer.labels[:3]
        ('ADJP', 'ADVP', 'CAPTION')
    """

    task_name = "parser"
    generation = {"extra_tokens": 300}
    # They could forbid the only tokens that lead to a tree.
    unused_options = (
        "min_new_tokens",
        "no_repeat_ngram_size",
        "first_token",
        "last_token",
        "suppressed",
        "stop",
    )
    columns = ("sentence",)
    text_methods = ("parse", "answer")
    answer_name = "tree"
    baselines = {"right branching": _right_branching}
    takes_target_file = False

    def __init__(
        self,
        backbone,
        tokenizer=None,
        label_smoothing=0.1,
        smoothing_kind="paper",
        generation=None,
        **kwargs,
    ):
        options = (label_smoothing, smoothing_kind, generation)
        super().__init__(backbone, tokenizer, *options, **kwargs)
        size = self.output.shape[-1]
        if tokenizer is not None and tokenizer.target_vocabulary_size != size:
            raise ValueError(
                "The decoder must have the tokens of the tokenizer's trees. Received: "
                f"{size} and {tokenizer.target_vocabulary_size}. Set the config's "
                "`target_vocabulary_size`."
            )

    def as_text(self, x):
        """Joins words to texts; see `TextColumns.as_text` and `join_words`."""
        return join_words(super().as_text(x))

    def encode_labels(self, y):
        """Trees in brackets as an array of linear trees, string (B,), checked."""
        texts = super().encode_labels(y)
        trees = [read_tree(text.decode(), clean=True) for text in texts]
        kind = self.tokenizer.linearization
        texts = [" ".join(linearize(tree, kind)) for tree in trees]
        return np.array([text.encode() for text in texts], object)

    def encode_label_tensor(self, y):
        """`encode_labels` in a tf.data pipeline."""
        texts = tf.numpy_function(self.encode_labels, [y], tf.string)
        return tf.ensure_shape(texts, [None])

    def check_rows(self, columns, y):
        """Raises ValueError unless a tree has a leaf for every word."""
        words = self.tokenizer.split(columns[0])[0].row_lengths().numpy().tolist()
        for row, (count, text) in enumerate(zip(words, y, strict=True)):
            leaves = _count_leaves(text.decode().split(), self.tokenizer.linearization)
            if leaves != count:
                raise ValueError(
                    "A tree must have a leaf for every word. Received: "
                    f"{leaves} leaves for {count} words in row {row}. Words are "
                    "separated by white space, and traces do not count."
                )

    def check_tensors(self, columns, y):
        """`check_rows` in a tf.data pipeline."""

        def check(sentences, trees):
            self.check_rows([tf.constant(sentences)], trees)
            return np.int32(0)

        tf.numpy_function(check, [columns[0], y], tf.int32)

    def encode_prompt(self, texts, options):
        """What the encoder reads, and the number of words, int32 (B,)."""
        words = self.tokenizer.split(texts)[0].row_lengths()
        inputs = super().encode_prompt(texts, options)
        return {**inputs, "num_words": tf.cast(words, tf.int32)}

    def init_search(self, inputs, options, grows=True):
        """See `TextGeneration`; also the number of words of each hypothesis."""
        inputs = {**inputs}
        words = inputs.pop("num_words")
        several = tf.where(options.samples, options.num_return, options.num_beams)
        begun = super().init_search(inputs, options, grows)
        return {**begun, "words": tf.repeat(words, several)}

    def constrain(self, step, begun):
        """A step that leads to a tree over all words; see the class."""
        words, limits = begun["words"], begun["limits"]
        beams = tf.shape(words)[0] // tf.maximum(tf.shape(limits)[0], 1)
        limits = tf.repeat(limits, beams)
        return self.tokenizer.grammar.constrain(step, begun["states"], words, limits)

    def stop_finder(self, options):
        """None, since a tree ends where it is complete."""
        return None

    def writer(self, inputs, texts, options):
        """A function of tokens to trees; see `Translator.writer`."""
        return lambda tokens, done=None: self.tokenizer.write_trees(tokens, texts)

    def parse(self, sentences, batch_size=None, return_scores=False, **options):
        """Writes the tree of every sentence.

        Args:
            sentences: list of str, or of lists of words.
            batch_size, return_scores, **options: see `Translator.translate`. There are
                no streams.

        Returns:
            list of str, trees in one line that `zoo.text.read_tree` reads, such as
            "(S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .))"; "(TOP)" for a sentence
            without words. With `num_return`, list of lists of str, the best one first.
            With `return_scores`, a tuple of it and of the scores in the same form.

        Raises:
            TypeError: if `sentences` is one string, or not text.
            ValueError: if an option is unknown or out of its range.
        """
        return self.write_texts(sentences, batch_size, return_scores, False, **options)

    @classmethod
    def read(cls, path, text_column=None, pair_column=None, label_column=None):
        """Reads sentences and trees from a file of brackets.

        Trees are cleaned. Those without words are left out.

        Args:
            path: see `zoo.text.read_trees`.
            text_column, pair_column, label_column: None.

        Returns:
            two lists of str.

        Raises:
            ValueError: if a column is given, the file cannot be read, or no tree has a
                word.
        """
        columns = text_column, pair_column, label_column
        if columns != (None, None, None):
            raise ValueError(
                f"A file of trees has no columns. Received: {columns}. Leave them out."
            )
        trees = [tree for tree in read_trees(path) if find_leaves(tree)]
        if not trees:
            raise ValueError(f"A tree must have a word. Received: none in {path}.")
        words = [[word for _, word in find_leaves(tree)] for tree in trees]
        return join_words(words), list(map(write_tree, trees))

    @classmethod
    def describe_labels(cls, labels):
        """The number of words, which are the leaves of the trees."""
        return {"words": sum(len(find_leaves(read_tree(tree))) for tree in labels)}

    def rows_to_score(self, x, labels):
        """All sentences, also equal ones."""
        return x, labels

    def predict_labels(self, x):
        """The trees, list of str, without probabilities."""
        return self.parse(x), None

    def marked_texts(self, x, answers):
        """Sentences with their phrases."""
        marked = [phrase_spans(read_tree(row[self.answer_name])) for row in answers]
        return [text for text, _ in marked], [spans for _, spans in marked]

    def assess(self, labels, predicted, confidence=None):
        """Assesses trees, see `zoo.evaluation.assess_trees`.

        Punctuation is what has the tag of punctuation in the right tree.
        """
        golds = [read_tree(text, clean=True) for text in labels]
        return assess_trees(golds, list(map(read_tree, predicted)), "gold")


def _count_leaves(tokens, kind):
    """How many leaves a linear tree has."""
    labels = find_labels(tokens, kind)
    return sum(read_token(token, kind, labels)[0] == "leaf" for token in tokens)
