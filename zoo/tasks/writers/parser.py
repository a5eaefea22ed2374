"""From a sentence to the tree of its phrases."""

import keras
import numpy as np

from zoo.tasks.files.tree_files import TreeFiles
from zoo.tasks.inputs.text_input import check_targets
from zoo.tasks.writers.translator import Translator
from zoo.tasks.writers.tree_writer import TreeWriter
from zoo.text import find_leaves, read_tree
from zoo.text.parsing.linear_trees import linearize


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
        **kwargs: longest_source, see `zoo.Translator`; sequence_length and name, see
            `zoo.tasks.Task`.

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
    writer_class = TreeWriter
    columns = ("sentence",)
    joins_words = True
    keyword_options = (*Translator.keyword_options, "longest_source")
    text_methods = ("parse", "answer")
    files = TreeFiles("tree")

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

    def encode_labels(self, y, columns=None):
        """Trees in brackets as an array of linear trees, string (B,), checked."""
        texts = super().encode_labels(y)
        trees = [read_tree(text.decode(), clean=True) for text in texts]
        if columns is not None:
            check_leaves(self.tokenizer, columns, trees)
        kind = self.tokenizer.linearization
        texts = [" ".join(linearize(tree, kind)) for tree in trees]
        return np.array([text.encode() for text in texts], object)

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
        return self.writer.write_texts(
            sentences, batch_size, return_scores, False, **options
        )


def check_leaves(tokenizer, columns, trees):
    """Raises ValueError unless a tree has a leaf for every word."""
    check_targets(columns, trees)
    words = tokenizer.split(columns[0])[0].row_lengths().numpy().tolist()
    for row, (count, tree) in enumerate(zip(words, trees, strict=True)):
        leaves = len(find_leaves(tree))
        if leaves != count:
            raise ValueError(
                "A tree must have a leaf for every word. Received: "
                f"{leaves} leaves for {count} words in row {row}. Words are "
                "separated by white space, and traces do not count."
            )
