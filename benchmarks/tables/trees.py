"""Compares a parser with a plain baseline, and greedy search with a beam.

    python -m benchmarks.tables trees --data DIR

DIR has `gum_trees` and `craft_trees`. The trees are results, which git ignores. The
tables are in the notes of the preset, the end of its card.
"""

import functools

import zoo
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import lines, markdown
from zoo.evaluation import bracketing_scores, right_branching_trees
from zoo.text import find_leaves, read_tree, read_trees, write_tree

PRESET = "transformer_mini_en_parser_gum"
TRAIN = "gum_trees/train.ptb.gz"
SETS = {
    "GUM, development": "gum_trees/dev.ptb.gz",
    "GUM, test": "gum_trees/test.ptb.gz",
    "CRAFT, test": "craft_trees/test.mrg.xz",
}
BOUNDS = 1, 20, 40, 60, 80, 10**9  # words of a sentence, for the table by length
SCORES = "precision", "recall", "f1", "exact_match", "tagging_accuracy"


def words_of(tree):
    """The words of a tree, list of str."""
    return [word for _, word in find_leaves(tree)]


def stripped(tree):
    """A tree whose words have no white space around them, as some of CRAFT have."""
    label, *inner = tree
    return label, *(x.strip() if isinstance(x, str) else stripped(x) for x in inner)


def right_branching(data, sentences):
    """Trees of the baseline."""
    return right_branching_trees(read_trees(data / TRAIN), sentences)


def parse(data, sentences, **options):
    """Trees of the preset."""
    texts = [" ".join(words) for words in sentences]
    return [read_tree(tree) for tree in preset().parse(texts, **options)]


@functools.cache
def preset():
    """The parser."""
    return zoo.from_preset(PRESET)


SYSTEMS = {
    "right branching": right_branching,
    "greedy": functools.partial(parse, num_beams=1),
    "beam 4": functools.partial(parse, num_beams=4),
}


def name_of(system, name):
    """The name of the result of a system for a set."""
    return f"{system}-{name}".replace(", ", "-").replace(" ", "_")


def cells(run):
    """The names of results to sets and systems."""
    return {name_of(s, name): (s, name) for name in SETS for s in SYSTEMS}


def read_golds(run, name):
    """The right trees of a set."""
    trees = read_trees(run.data / SETS[name])
    return [stripped(tree) for tree in trees if find_leaves(tree)]


def compute(run, system, name):
    """The trees of a system for a set: dict with "trees", list of str."""
    sentences = [words_of(tree) for tree in read_golds(run, name)]
    found = SYSTEMS[system](run.data, sentences)
    return {"trees": [write_tree(tree) for tree in found]}


def row(name, system, golds, found):
    """The cells of a row of the table."""
    trees = [read_tree(text) for text in found["trees"]]
    pairs = zip(golds, trees, strict=True)
    valid = sum(words_of(gold) == words_of(tree) for gold, tree in pairs)
    scores = bracketing_scores(golds, trees, "gold")
    low, high = (100 * bound for bound in scores["f1_interval"])
    numbers = [f"{100 * scores[key]:.1f}" for key in SCORES]
    numbers[2] += f" ({low:.1f} to {high:.1f})"
    return [name, system, f"{valid} of {len(golds)}", *numbers]


def length_rows(golds, trees):
    """The rows of the table by length, of sentences from all test sets."""
    rows = []
    for low, high in zip(BOUNDS, BOUNDS[1:], strict=False):
        pairs = [
            (gold, read_tree(tree))
            for gold, tree in zip(golds, trees, strict=True)
            if low <= len(words_of(gold)) < high
        ]
        if pairs:
            scores = bracketing_scores(*map(list, zip(*pairs, strict=True)), "gold")
            name = f"{low} to {high - 1}" if high < BOUNDS[-1] else f"{low} and more"
            numbers = (100 * scores[key] for key in ("f1", "tagging_accuracy"))
            rows.append([name, len(pairs), *(f"{number:.1f}" for number in numbers)])
    return rows


def score_table(run):
    """The table of the scores, or None without data or results."""
    rows, results = [], []
    for name in SETS if run.data else ():
        for system in SYSTEMS:
            found = run.stored(name_of(system, name))
            if found:
                golds = run.load(name, functools.partial(read_golds, run, name))
                rows.append(row(name, system, golds, found))
                results.append(found)
    heads = ["set", "parser", "trees over all words", "precision", "recall", "F1"]
    return markdown([*heads, "exact", "tags"], rows, results)


def length_table(run):
    """The table of the last system by the length of sentences of all tests."""
    golds, trees = [], []
    for name in SETS if run.data else ():
        found = run.stored(name_of([*SYSTEMS][-1], name))
        if found and name.endswith("test"):
            golds += run.load(name, functools.partial(read_golds, run, name))
            trees += found["trees"]
    heads = ["words", "sentences", "F1", "tags"]
    return lines(heads, length_rows(golds, trees)) if trees else None


TABLE = Table(
    "trees",
    cells,
    compute,
    tables={"results": score_table, "lengths": length_table},
    cards=lambda run: (PRESET,),
)
