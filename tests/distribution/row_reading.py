"""A program, one of several workers: the rows that it reads in the updates of a run.

It takes the folder of `jobs.write_data`, the folder of the runs, the file to write, and
the names of objectives.
"""

import pathlib
import sys

import jobs
import keras
import numpy as np
import tensorflow as tf

import zoo
from zoo.distribution import chief_first
from zoo.pretraining.running import prepare


def first_inputs(batch):
    """The rows of one input of a batch, those of all replicas of this worker."""
    found = keras.tree.flatten(batch)[0]
    values = tf.distribute.get_strategy().experimental_local_results(found)
    values = [v.to_tensor() if isinstance(v, tf.RaggedTensor) else v for v in values]
    return np.concatenate([value.numpy() for value in values])


def read(folder, output, name):
    """The inputs of each update of the recipe of an objective, a dict of arrays."""
    recipe = jobs.make_recipe(name, folder)
    objective = chief_first(prepare, recipe, folder, output / name)
    dataset = objective.batches(objective.build(), 0)
    strategy = tf.distribute.get_strategy()
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    return {f"{name}/{i}": first_inputs(next(batches)) for i in range(recipe.steps)}


def read_all(folder, output, names):
    """As `read`, of several objectives."""
    found = {}
    for name in names:
        (output / name).mkdir(parents=True, exist_ok=True)
        found |= read(folder, output, name)
    return found


if __name__ == "__main__":
    folder, output, file, *names = sys.argv[1:]
    with zoo.strategy("multi_worker").scope():
        np.savez(file, **read_all(pathlib.Path(folder), pathlib.Path(output), names))
