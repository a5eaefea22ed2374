"""Compares a parser with a plain baseline, and greedy search with a beam.

    python -m benchmarks.tables.trees --data DIR

DIR has `gum_trees` and `craft_trees`. The trees are written to `trees/results`, which
git ignores, and not computed again. The tables are written to the `notes.md` of the
preset, the end of its card. Then `python -m benchmarks.tables.preset_card` writes it.
"""

import functools
import pathlib

import click

import zoo
from benchmarks.tables.stored_results import lines, stored, told, write_table
from zoo.evaluation import bracketing_scores, right_branching_trees
from zoo.text import find_leaves, read_tree, read_trees, write_tree

HERE = pathlib.Path(__file__).parents[1]
FOLDER = HERE / "trees"
PRESET = "transformer_mini_en_parser_gum"
NOTES = HERE.parent / "presets" / "transformer" / PRESET / "notes.md"
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


def trees_of(system, name, data, golds):
    """The stored trees of a system for a set: dict with "trees", list of str."""

    def compute():
        found = SYSTEMS[system](data, [words_of(tree) for tree in golds])
        return {"trees": [write_tree(tree) for tree in found]}

    key = f"{system}-{name}".replace(", ", "-").replace(" ", "_")
    return stored(key, compute, FOLDER)


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
    """The rows of the table by length, of sentences from all test sets.

    Args:
        golds: list of trees.
        trees: list of str, those of the preset.
    """
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


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
def main(data):
    """Computes missing trees and writes the table."""
    rows, results, tests = [], [], ([], [])
    for name, file in SETS.items():
        golds = [stripped(t) for t in read_trees(data / file) if find_leaves(t)]
        for system in SYSTEMS:
            results.append(trees_of(system, name, data, golds))
            rows.append(row(name, system, golds, results[-1]))
        if name.endswith("test"):
            tests[0].extend(golds)
            tests[1].extend(results[-1]["trees"])
    heads = ["set", "parser", "trees over all words", "precision", "recall", "F1"]
    table = lines([*heads, "exact", "tags"], rows)
    table += f"\n{told(results)}"
    write_table("results", table, NOTES)
    heads = ["words", "sentences", "F1", "tags"]
    write_table("lengths", lines(heads, length_rows(*tests)), NOTES)
    click.echo(table)


if __name__ == "__main__":
    main()
