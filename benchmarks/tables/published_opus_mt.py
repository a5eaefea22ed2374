"""Writes `presets/transformer/published.json`, the records of translators of OPUS-MT.

    python -m benchmarks.tables.published_opus_mt

It prints a table. Nobody has loaded these files here: the sizes of the vocabularies and
the licences are those that others have read from the `config.json` and the model card
of each repository.
"""

import dataclasses
import json
import math
import pathlib

from benchmarks.files import write_whole
from zoo.models.transformer import Transformer, TransformerConfig

OUTPUT = pathlib.Path(__file__).parents[2] / "presets/transformer/published.json"
PAPER = "https://aclanthology.org/2020.eamt-1.61"
FILES = [
    "config.json",
    "generation_config.json",
    "pytorch_model.bin",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
]
LANGUAGES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "ru": "Russian",
    "zh": "Chinese",
}
# Size of the joint vocabulary to the pairs that have it, in the names of repositories.
PAIRS = {
    58101: ["en-de", "de-en"],
    59514: ["en-fr", "fr-en"],
    61153: ["fr-de", "de-fr"],
    61301: ["es-de", "de-es"],
    62518: ["ru-en"],
    65001: ["en-es", "es-en", "en-zh"],
    74822: ["fr-es", "es-fr"],
}
ATTRIBUTION = {"en-de", "ru-en"}  # the licence is CC-BY-4.0, else Apache-2.0


def make_record(pair, vocabulary_size):
    """The record of a translator; `pair` is such as "en-de"."""
    source, target = pair.split("-")
    config = TransformerConfig(
        vocabulary_size=vocabulary_size,
        activation="silu",
        attention_bias=True,
        positions="marian_hugging_face",
        output_bias=True,
        layer_norm_epsilon=1e-5,
        pad_id=vocabulary_size - 1,
    )
    shapes = Transformer.weight_shapes(config)
    return {
        "family": "transformer",
        "description": f"OPUS-MT: {LANGUAGES[source]} to {LANGUAGES[target]}; "
        "6 layers on each side, of width 512.",
        "backbone": dataclasses.asdict(config),
        "parameters": sum(map(math.prod, shapes.values())),
        "licence": "CC-BY-4.0" if pair in ATTRIBUTION else "Apache-2.0",
        "published_in": PAPER,
        "source": {
            "uri": f"hf://Helsinki-NLP/opus-mt-{pair}",
            "layout": "hugging_face",
            "files": FILES,
            "verified": False,
        },
    }


def make_records():
    """Makes all records, a dict of name to record."""
    sizes = {pair: size for size, pairs in PAIRS.items() for pair in pairs}
    return {
        f"opus_mt_{pair.replace('-', '_')}": make_record(pair, sizes[pair])
        for pair in sorted(sizes)
    }


def main():
    """Writes the file and prints the table."""
    records = make_records()
    for name, record in records.items():
        uri = record["source"]["uri"]
        print(f"{name:16}{record['parameters']:>13,}  {record['licence']:12}{uri}")
    write_whole(OUTPUT, json.dumps(records, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
