"""Writes `presets/bert/published.json`, the records of the published BERTs.

    python -m benchmarks.tables.published_bert

It prints a table. It builds the models of up to `BUILT` parameters, to check the
formula for the number of parameters.
"""

import collections
import dataclasses
import json
import pathlib

from benchmarks.files import write_whole
from zoo.models.bert import BERT, BERTConfig

OUTPUT = pathlib.Path(__file__).parents[2] / "presets" / "bert" / "published.json"
BUILT = 12_000_000

BERT_PAPER = "https://arxiv.org/abs/1810.04805"
WHOLE_WORDS = "https://github.com/google-research/bert"
SMALL_PAPER = "https://arxiv.org/abs/1908.08962"
MINILM_PAPER = ("https://arxiv.org/abs/2002.10957", "Apache-2.0")
BGE_PAPER = ("https://arxiv.org/abs/2309.07597", "MIT")
E5_PAPER = ("https://arxiv.org/abs/2212.03533", "MIT")

GOOGLE_ZIPS = "https://storage.googleapis.com/bert_models/2020_02_20"
GOOGLE_FILES = [
    "bert_config.json",
    "bert_model.ckpt.data-00000-of-00001",
    "bert_model.ckpt.index",
    "vocab.txt",
]
HUB_FILES = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]
EMBEDDER_FILES = [
    *HUB_FILES,
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
]

Text = collections.namedtuple("Text", "name vocabulary_size lowercase")
UNCASED = Text("English, lower-cased", 30522, True)
CASED = Text("English, cased", 28996, False)
CHINESE = Text("Chinese, cased", 21128, False)
MULTI_CASED = Text("104 languages, cased", 119547, False)
MULTI_UNCASED = Text("102 languages, lower-cased", 105879, True)

BASE, LARGE = (12, 768, 12), (24, 1024, 16)  # layers, width, heads
MINI, MASKED = (384, 12), "whole-word-masking"  # width and heads of small embedders
MINILM_SHA = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SEEN = {"all_minilm_l6_v2_en": {"sha256": {"model.safetensors": MINILM_SHA}}}
MEAN, FIRST = "mean of the tokens", "first token"
E5_MEAN = f'{MEAN} of texts that begin with "query: " or "passage: "'
SMALL_NAMES = {
    (2, 128): "tiny",
    (4, 256): "mini",
    (4, 512): "small",
    (8, 512): "medium",
}


def count_parameters(config):
    """Computes the number of parameters of a `BERTConfig` by a formula."""
    width, inner = config.hidden_dim, config.intermediate_dim
    rows = config.vocabulary_size + config.num_segments + config.max_sequence_length
    dense, norm = width * width + width, 2 * width
    block = 4 * dense + 2 * width * inner + inner + width + 2 * norm
    return rows * width + norm + config.num_layers * block + config.pooler * dense


def make_record(size, text, description, activation, published_in, licence, **source):
    """Makes one record; `size` is layers, width and heads."""
    layers, width, heads = size
    config = BERTConfig(
        vocabulary_size=text.vocabulary_size,
        hidden_dim=width,
        num_layers=layers,
        num_heads=heads,
        intermediate_dim=4 * width,
        activation=activation,
    )
    return {
        "family": "bert",
        "description": f"{description}: {layers} layers of width {width}; {text.name}.",
        "backbone": dataclasses.asdict(config),
        "parameters": count_parameters(config),
        "lowercase": text.lowercase,
        "licence": licence,
        "published_in": published_in,
        "source": {**source, "verified": "sha256" in source},
    }


def google_record(repository, size, text, whole_words=False):
    """The record of a BERT of 2018 or 2019, from Hugging Face, with the exact GELU."""
    return make_record(
        size,
        text,
        "BERT, whole words masked" if whole_words else "BERT",
        "gelu",
        WHOLE_WORDS if whole_words else BERT_PAPER,
        "Apache-2.0",
        uri=f"hf://google-bert/bert-{repository}",
        layout="hugging_face",
        files=HUB_FILES,
    )


def small_record(layers, width):
    """The record of one of the 24 small BERTs of 2020, from Google.

    Hugging Face has most of them in the old format of torch only, which only torch
    reads.
    """
    size = (layers, width, width // 64)
    name = f"uncased_L-{layers}_H-{width}_A-{width // 64}"
    return make_record(
        size,
        UNCASED,
        "Small BERT" if size != BASE else "BERT-base, trained as the small ones",
        "gelu_tanh",
        SMALL_PAPER,
        "Apache-2.0",
        uri=f"{GOOGLE_ZIPS}/{name}.zip",
        layout="google",
        files=GOOGLE_FILES,
    )


def embedder_record(repository, size, pooling, published_in, licence, **seen):
    """The record of a sentence embedder of Hugging Face; `seen` has its checksums."""
    return make_record(
        size,
        UNCASED,
        f"Sentence embedder, {pooling}, unit length",
        "gelu",
        published_in,
        licence,
        uri=f"hf://{repository}",
        layout="hugging_face",
        files=EMBEDDER_FILES,
        **seen,
    )


# Names to the arguments of `google_record`.
GOOGLE = {
    "bert_base_en_uncased": ("base-uncased", BASE, UNCASED),
    "bert_base_en": ("base-cased", BASE, CASED),
    "bert_base_zh": ("base-chinese", BASE, CHINESE),
    "bert_base_multi": ("base-multilingual-cased", BASE, MULTI_CASED),
    "bert_base_multi_uncased": ("base-multilingual-uncased", BASE, MULTI_UNCASED),
    "bert_large_en_uncased": ("large-uncased", LARGE, UNCASED),
    "bert_large_en": ("large-cased", LARGE, CASED),
    "bert_large_en_uncased_wwm": (f"large-uncased-{MASKED}", LARGE, UNCASED, True),
    "bert_large_en_wwm": (f"large-cased-{MASKED}", LARGE, CASED, True),
}
# Names to the arguments of `embedder_record`.
SENTENCES = "sentence-transformers/all-MiniLM"
EMBEDDERS = {
    "all_minilm_l6_v2_en": (f"{SENTENCES}-L6-v2", (6, *MINI), MEAN, *MINILM_PAPER),
    "all_minilm_l12_v2_en": (f"{SENTENCES}-L12-v2", (12, *MINI), MEAN, *MINILM_PAPER),
    "bge_small_v1.5_en": ("BAAI/bge-small-en-v1.5", (12, *MINI), FIRST, *BGE_PAPER),
    "bge_base_v1.5_en": ("BAAI/bge-base-en-v1.5", BASE, FIRST, *BGE_PAPER),
    "e5_small_v2_en": ("intfloat/e5-small-v2", (12, *MINI), E5_MEAN, *E5_PAPER),
}


def make_records():
    """Makes all records, a dict of name to record."""
    records = {name: google_record(*fields) for name, fields in GOOGLE.items()}
    for layers in (2, 4, 6, 8, 10, 12):
        for width in (128, 256, 512, 768):
            size = SMALL_NAMES.get((layers, width), f"l{layers}_h{width}")
            records[f"bert_{size}_en_uncased"] = small_record(layers, width)
    for name, fields in EMBEDDERS.items():
        records[name] = embedder_record(*fields, **SEEN.get(name, {}))
    return records


def main():
    """Writes the file and prints the table."""
    records = make_records()
    for name, record in records.items():
        checked = ""
        if record["parameters"] <= BUILT:
            built = BERT(BERTConfig(**record["backbone"])).count_params()
            if built != record["parameters"]:
                raise ValueError(f"{name} has {built} parameters. Correct the formula.")
            checked = "built"
        uri = record["source"]["uri"]
        print(f"{name:28}{record['parameters']:>13,}  {checked:6}{uri}")
    write_whole(OUTPUT, json.dumps(records, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
