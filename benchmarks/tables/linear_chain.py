"""A linear chain over features of words: the classical tagger of names.

It needs `pip install python-crfsuite`.
"""

import pathlib
import re
import tempfile

ITERATIONS = 150  # of L-BFGS
NEAR = (-2, -1, 1, 2)  # positions of the neighbours that are features


def shape(word):
    """The kinds of characters of a word: Xx for John, 0-0 for 12-13."""
    for pattern, kind in ((r"\d", "0"), ("[A-Z]", "X"), ("[a-z]", "x")):
        word = re.sub(pattern, kind, word)
    return re.sub(r"(.)\1+", r"\1", word)


def word_features(word):
    """Features of a word alone, list of str."""
    low = word.lower()
    found = [f"word={word}", f"lower={low}", f"shape={shape(word)}"]
    for size in (1, 2, 3, 4):
        found += [f"prefix={low[:size]}", f"suffix{size}={low[-size:]}"]
    tests = {
        "capital": word[0].isupper(),
        "capitals": word.isupper(),
        "digit": any(character.isdigit() for character in word),
    }
    return found + [name for name, true in tests.items() if true]


def features(words):
    """Features of the words of a sentence, a list of str for each.

    These are those of `word_features`, the lower case, the shape and the suffix of
    neighbours, pairs of words, and pairs and triples of shapes.
    """
    low = ["<s>", *(word.lower() for word in words), "</s>"]
    shapes = ["<s>", *map(shape, words), "</s>"]
    rows = []
    for place, word in enumerate(words):
        row = ["bias", *word_features(word)]
        for step in NEAR:
            other = place + step
            if not 0 <= other < len(words):
                row.append(f"{step}:none")
                continue
            row += [f"{step}:{low[other + 1]}", f"{step}:shape={shapes[other + 1]}"]
            if abs(step) == 1:
                row.append(f"{step}:suffix={low[other + 1][-3:]}")
        left, middle, right = low[place : place + 3]
        row += [f"pair={left}|{middle}", f"next={middle}|{right}"]
        triple = shapes[place : place + 3]
        row += [f"shapes2={'|'.join(triple[:2])}", f"shapes3={'|'.join(triple)}"]
        rows.append(row)
    return rows


def train_chain(words, tags, l1, l2):
    """Trains a chain with two penalties; returns a function of sentences to tags."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for row, target in zip(words, tags, strict=True):
        trainer.append(features(row), target)
    trainer.set_params(
        {
            "c1": l1,
            "c2": l2,
            "max_iterations": ITERATIONS,
            "feature.possible_transitions": True,
        }
    )
    tagger = pycrfsuite.Tagger()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "chain"
        trainer.train(str(path))
        tagger.open(str(path))  # it reads the whole file
    return lambda rows: [tagger.tag(features(row)) for row in rows]
