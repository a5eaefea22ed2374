"""Pretraining of every objective under any strategy; also a program, a worker of a job.

As a program, it takes the folder of `write_data`, the folder of the runs, the name of a
strategy and the names of objectives. It trains in the scope of the strategy.
"""

import csv
import pathlib
import sys

import numpy as np
import tiny

import zoo
from zoo import pretraining
from zoo.data import write_conll
from zoo.pretraining import Recipe
from zoo.registry import build_backbone
from zoo.tasks import TextEmbedder
from zoo.text import WordPieceTokenizer

HERE = pathlib.Path(__file__).parent
EVERY = 2
BERT = {**tiny.CONFIG, "vocabulary_size": 140}
TREE = "( (S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .)) )"
TEXT = {"train": ["a.txt"], "valid": ["valid.txt"]}
PAIRS = {"train": ["train.tsv"], "valid": ["valid.tsv"]}
COMMON = {"learning_rate": 0.01, "warmup_steps": 2, "clip_norm": 1.0}
SIZES = {"vocabulary_size": 320}
# Of each objective, a run of a few updates whose rows no number of workers divides,
# unless the model carries states.
RECIPES = {
    "masked_lm": {
        "family": "bert",
        "objective": {"name": "masked_lm", "shards": 3, "next_sentence": True},
        "config": BERT,
        "stages": [[16, 9, 4], [24, 5, 2]],
        **TEXT,
    },
    "causal_rows": {
        "family": "gpt",
        "objective": {"name": "causal_rows"},
        "config": {**tiny.GPT_CONFIG, **SIZES},
        "stages": [[16, 5, 4], [24, 3, 2]],
        **TEXT,
    },
    "causal_streams": {
        "family": "ulmfit",
        "objective": {"name": "causal_streams", "characters": 200},
        "config": {**tiny.ULMFIT_CONFIG, "vocabulary_size": 40},
        "stages": [[7, 4, 6]],
        **TEXT,
    },
    "bidirectional_lm": {
        "family": "elmo",
        "objective": {
            "name": "bidirectional_lm",
            "tokenizer": {"max_characters": 12},
            "num_words": 40,
        },
        "config": tiny.ELMO_CONFIG,
        "stages": [[5, 4, 6]],
        **TEXT,
    },
    "translator": {
        "family": "transformer",
        "objective": {"name": "translator"},
        "config": {**tiny.TRANSFORMER_CONFIG, **SIZES, "target_vocabulary_size": 320},
        "stages": [[16, 7, 6]],
        **PAIRS,
    },
    "token_classifier": {
        "family": "taglm",
        "objective": {"name": "token_classifier", "tagger": {"head_dropout": 0.0}},
        "config": {
            "filters": [[2, 3]],
            "lstm_dim": 4,
            "num_layers": 1,
            "dropout": 0.0,
            "lm_dropout": 0.0,
        },
        "train": ["a.conll"],
        "valid": ["valid.conll"],
        "stages": [[20, 7, 6]],
    },
    "distillation": {
        "family": "bert",
        "objective": {"name": "distillation"},
        "config": BERT,
        "stages": [[16, 7, 6]],
        **TEXT,
    },
    "parser": {
        "family": "transformer",
        "objective": {"name": "parser"},
        "config": {**tiny.TRANSFORMER_CONFIG, "vocabulary_size": 320},
        "train": ["train.mrg"],
        "valid": ["valid.mrg"],
        "stages": [[48, 3, 4]],
    },
}
CARRYING = (
    "causal_streams",
    "bidirectional_lm",
)  # objectives whose models carry states


def make_recipe(name, folder):
    """The recipe of an objective, on the data of a folder."""
    fields = {**COMMON, **RECIPES[name]}
    if name == "distillation":
        teacher = {"teacher": str(folder / "teacher")}
        fields["objective"] = {**fields["objective"], **teacher}
    return Recipe(**fields)


def write_data(folder):
    """Writes the text of all objectives, and the teacher of the distillation."""
    tiny.write_corpus(folder / "a.txt")
    for name, seed in (("train", 0), ("valid", 1)):
        lines = map("\t".join, zip(*tiny.make_pairs(60, seed), strict=True))
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.mrg").write_text("\n".join([TREE] * 9))
        texts, _ = tiny.make_texts(40, seed)
        words = [text.split() for text in texts]
        file = folder / ("a.conll" if name == "train" else "valid.conll")
        write_conll(file, words, tiny.make_tags(texts))
    backbone = build_backbone("bert", {**tiny.CONFIG, "hidden_dim": 24})
    tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    teacher = TextEmbedder(backbone, tokenizer, normalize=True)
    teacher.save_to_preset(folder / "teacher")


def pretrain(folder, output, names):
    """Runs the recipes of some objectives, each in a folder of `output`."""
    for name in names:
        pretraining.run(make_recipe(name, folder), folder, output / name, EVERY)


def losses(output, name):
    """The loss of each interval of a run."""
    with open(output / name / "log.csv", newline="") as file:
        return np.array([float(row["loss"]) for row in csv.DictReader(file)])


def weights(output, name):
    """The weights of the preset of a run, dict of float32."""
    model = zoo.from_preset(output / name / "preset")
    return {variable.path: variable.numpy() for variable in model.weights}


if __name__ == "__main__":
    folder, output, strategy, *names = sys.argv[1:]
    with zoo.strategy(strategy).scope():
        pretrain(pathlib.Path(folder), pathlib.Path(output), names)
