"""Files, scores, answers and reports of a parser."""

from zoo.evaluation import assess_trees, right_branching_trees
from zoo.tasks.files.labelled_files import check_no_columns
from zoo.tasks.files.translated_files import TranslatedFiles
from zoo.tasks.inputs.text_input import join_words
from zoo.text import find_leaves, phrase_spans, read_tree, read_trees, write_tree


def _right_branching(sentences, trees, new_texts):
    """`right_branching_trees` on sentences and trees as `TreeFiles.read` gives them."""
    trees = [read_tree(text, clean=True) for text in trees]
    found = right_branching_trees(trees, [text.split() for text in new_texts])
    return list(map(write_tree, found))


class TreeFiles(TranslatedFiles):
    """Files, scores, answers and reports of a parser."""

    baselines = {"right branching": _right_branching}
    takes_target_file = False

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Reads sentences and trees, cleaned, without those that have no words."""
        rule = "A file of trees has no columns."
        check_no_columns(rule, text_column, pair_column, label_column)
        trees = [tree for tree in read_trees(path) if find_leaves(tree)]
        if not trees:
            raise ValueError(f"A tree must have a word. Received: none in {path}.")
        words = [[word for _, word in find_leaves(tree)] for tree in trees]
        return join_words(words), list(map(write_tree, trees))

    def describe_labels(self, labels):
        """The number of words, which are the leaves of the trees."""
        return {"words": sum(len(find_leaves(read_tree(tree))) for tree in labels)}

    def rows_to_score(self, model, x, labels):
        """All sentences, also equal ones."""
        return x, labels

    def predict_labels(self, model, x):
        """The trees, list of str, without probabilities."""
        return model.parse(x), None

    def marked_texts(self, model, x, answers):
        """Sentences with their phrases."""
        marked = [phrase_spans(read_tree(row[self.answer_name])) for row in answers]
        return [text for text, _ in marked], [spans for _, spans in marked]

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses trees; the tags of the right tree say what is punctuation."""
        golds = [read_tree(text, clean=True) for text in labels]
        return assess_trees(golds, list(map(read_tree, predicted)), "gold")
