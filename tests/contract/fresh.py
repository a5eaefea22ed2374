"""A program: loads every .keras file with `zoo.load_model` and evaluates its text.

Arguments: the file of the results, then the .keras files.
"""

import pathlib
import sys

import numpy as np

import zoo

import cases  # isort: skip
import eager  # isort: skip
import own_family  # isort: skip # noqa: F401, which registers it
import tiny  # isort: skip

TEXTS = tiny.make_texts(8, seed=4)[0]


def answers(model):
    """What the model answers to the tiny texts, one [MASK] in each."""
    texts = [f"{text} [MASK]" for text in TEXTS]
    with eager.without_graphs():
        return model.answer(cases.columns_of(model, texts))


if __name__ == "__main__":
    results = {}
    for path in map(pathlib.Path, sys.argv[2:]):
        for key, value in answers(zoo.load_model(path)).items():
            if value.dtype == object:
                value = value.astype(str)
            results[f"{path.stem}/{key}"] = value
    np.savez(sys.argv[1], **results)
