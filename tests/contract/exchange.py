"""A program: writes files of every family, unless they are there, and reads them.

Arguments: the directory of the files, then the file of the results.
"""

import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

import zoo
from zoo.registry import build_backbone
from zoo.tasks import TASKS

import cases  # isort: skip
import eager  # isort: skip
import fresh  # isort: skip
import tiny  # isort: skip

TASKS_OF_FAMILIES = {
    "bert": "question_answerer",
    "elmo": "bidirectional_lm",
    "taglm": "token_classifier_crf",
    "ulmfit": "text_classifier",
    "gpt": "causal_lm",
    "transformer": "translator",
    "transformer_encoder": "text_embedder",
    "cove": "text_regressor",
    "bag": "pair_ranker",
}


def write(family, case, directory):
    """Writes a task after a step of training: a file, a preset and an export."""
    keras.utils.set_random_seed(1)
    backbone = build_backbone(family.family, family.config)
    task = TASKS[case.task](backbone, family.tokenizer(), **case.options)
    texts, labels = tiny.make_texts(8, seed=4)
    with eager.without_graphs():
        y = case.targets(texts, labels)
        task.fit(cases.columns_of(task, texts), y, verbose=0)
    task.save(directory / "a.keras")
    task.save_to_preset(directory / "preset")
    task.export(directory / "export")


def read(directory):
    """What the file, the preset and the export answer."""
    task = zoo.load_model(directory / "a.keras")
    yield "file", fresh.answers(task)
    yield "preset", fresh.answers(zoo.from_preset(directory / "preset"))
    yield "optimizer", {v.path: v.numpy() for v in task.optimizer.variables}
    texts = cases.columns_of(task, list(fresh.TEXTS))
    yield "export", zoo.serving.ask(directory / "export", texts)


if __name__ == "__main__":
    root, results = pathlib.Path(sys.argv[1]), {"tensorflow": tf.__version__}
    families = {family.name: family for family in cases.FAMILIES}
    tasks = {case.name: case for case in cases.TASKS}
    for name, task in TASKS_OF_FAMILIES.items():
        if not (root / name).is_dir():
            (root / name).mkdir(parents=True)
            write(families[name], tasks[task], root / name)
        for kind, answers in read(root / name):
            for key, value in answers.items():
                if value.dtype == object:
                    value = np.array([tf.compat.as_str(v) for v in value.ravel()])
                results[f"{name}/{kind}/{key}"] = value
    np.savez(sys.argv[2], **results)
