"""Workloads of benchmarks at tiny sizes, and their files."""

import contextlib
import functools
import importlib

import tiny
from tiny_inputs import write

from benchmarks import peers
from zoo.data import Answer, Question, write_squad
from zoo.models.bert import BERT, BERTConfig
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.transformer import TransformerConfig

SIZES = {"VOCABULARY": 50, "WIDTH": 16, "HEADS": 2, "INNER": 32}
FLOAT32 = {"dtype": "float32"}
ELMO = ELMoConfig(
    embedding_dim=4, filters=((1, 4), (2, 8)), lstm_dim=10, projection_dim=6
)
TRAINED = {"DROPOUT": 0.0, "LEARNING_RATE": 1e-2, "ROWS": 4, "LENGTH": 8}
AWD = {"ROWS": 4, "LENGTH": 9, "VOCABULARY": 60, "EMBEDDING": 6, "WIDTH": 10}
CLASSIFIER = {"embedding_dim": 6, "lstm_dim": 10, "num_layers": 2}
# Each workload: the sizes of its module, what it is given, the tokens of its rows, the
# shape of the output, and the updates after which the loss is lower by a factor.
WORKLOADS = {
    "dense_forward": (
        {
            **SIZES,
            **{"LAYERS": 2, "ROWS": 2, "LENGTH": 8},
            "build_zoo": lambda dtype: BERT(BERTConfig(50, 16, 2, 2, 32), dtype=dtype),
        },
        *(FLOAT32, [8, 8], [2, 8, 16], None),
    ),
    "finetune_step": (
        {**TRAINED, "VOCABULARY": 50, "SIZES": (50, 1, 16, 2, 32)},
        *(FLOAT32, [8] * 4, [], (12, 0.5)),
    ),
    "masked_batch": (
        {"WORDS": 10, "CHUNKS": 6, "BATCH_SIZE": 4, "LENGTH": 16},
        *({}, [12] * 6, [6, 16], None),
    ),
    "elmo_forward": (
        {"SENTENCES": 4, "build_zoo": lambda: ELMo(ELMO)},
        *({}, [23, 29, 33, 25], [4, 33, 12], None),
    ),
    "lstm": (
        {"ROWS": 2, "LENGTH": 5, "WIDTH": 8},
        *({"training": False}, [5, 5], [2, 5, 8], None),
    ),
    "awd_lstm_step": (AWD, FLOAT32, [9] * 4, [], (12, 0.987)),
    "awd_lstm_classify": (
        {"COUNT": 5, "FOR_VOCABULARY": 30, "MEDIAN": 60, "SIZES": CLASSIFIER},
        *({"data": None}, None, [5, 2], None),
    ),
    "translation_step": (
        {**TRAINED, "VOCABULARY": 50},
        *(FLOAT32, [16] * 4, [], (25, 0.7)),
    ),
    "decode": (
        {**SIZES, "BLOCKS": 1, "ROWS": 3, "LENGTH": 6, "NEW": 5},
        *({**FLOAT32, "beams": 1}, [6] * 3, [3, 5], None),
    ),
    "question_answers": ({"SIZES": (2, 16, 2, 32)}, {}, None, [9, 2], None),
    "sentence_embedding": ({"SIZES": (2, 16, 2, 32)}, {}, None, [9, 16], None),
}


def write_files(folder):
    """Writes the files of all workloads to a folder."""
    sentences = [" ".join(["Ça", "va"] * n) + " ?" for n in (10, 13, 15, 16, 11, 12)]
    short = "Too short for this . One two three ."
    heading = " = A Heading of enough words to be taken = "
    valid = [heading, "", short, " ".join(sentences)]
    train = ["", " = A Title = ", " ".join(["good", "film"] * 33)]
    for part, lines in (("train", train), ("valid", valid)):
        write(folder / f"wikitext2/wiki.{part}.tokens.gz", lines)
    texts, _ = tiny.make_texts(9, seed=2, longest=20)
    rows = [
        Question(str(i), "how is it", text, (Answer(text.split()[0], 0),))
        for i, text in enumerate(texts)
    ]
    (folder / "squad1.1").mkdir()
    write_squad(folder / "squad1.1/dev.json", rows)
    lines = ["sentence\tlabel", *(f"{text}\t1" for text in texts)]
    write(folder / "glue/SST-2/train.tsv.gz", lines)
    words = [*tiny.VOCABULARY, "=", "a", "title"]
    (folder / "vocab.txt").write_text("\n".join([*dict.fromkeys(words), ""]))


def shrink(monkeypatch, folder):
    """A function of a name that returns the module of a workload, at a tiny size."""

    @contextlib.contextmanager
    def prepared_files(name, *arguments):
        directory = folder / name
        if not directory.exists():
            directory.mkdir()
            module = importlib.import_module(f"benchmarks.{name}")
            module.prepare(*arguments, directory)
        yield directory

    def find(name):
        module = importlib.import_module(f"benchmarks.{name}")
        for key, value in WORKLOADS[name][0].items():
            monkeypatch.setattr(module, key, value)
        if hasattr(module, "prepared_files"):
            monkeypatch.setattr(module, "prepared_files", prepared_files)
        if name == "translation_step":
            monkeypatch.setattr("benchmarks.decode.VOCABULARY", 50)
            sizes = {"hidden_dim": 16, "num_heads": 2, "intermediate_dim": 32}
            config = functools.partial(TransformerConfig, **sizes, num_encoder_layers=1)
            monkeypatch.setattr("zoo.models.transformer.TransformerConfig", config)
        return module

    monkeypatch.setattr(peers, "SQUARE", 16)
    return find
