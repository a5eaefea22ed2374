"""The compilations of an epoch of texts of mixed lengths, with XLA.

    KERAS_BACKEND=jax python -m benchmarks.compilations --data DIR [--rows N]

DIR has `glue`, `imdb` and `squad1.1`. A BERT of one layer of width 8 is trained for an
epoch of batches of 32, and then for another one. Each line of JSON has the shapes of
the batches, the last one included, the training steps that XLA compiled in each epoch,
which it writes to a directory, and the share of the tokens that is padding.
"""

import argparse
import json
import os
import pathlib
import re
import tempfile

PRESET = "bert_mini_en_uncased_distilled"
# XLA's file of a step: the number of the module, and the name that Keras gives a step.
STEP = re.compile(r"module_(\d+)\..*(train_step|one_step_on_data).*optimizations\.txt")


def read_sets(data):
    """Name, task, its options, texts and labels of each set."""
    import zoo

    labels = {"labels": ["0", "1"], "sequence_length": 512}
    sentences, classes = zoo.data.read_glue(data / "glue", "sst2", "train")
    reviews = zoo.data.read_bitext(next((data / "imdb").glob("train.tsv*")))
    questions = zoo.data.read_squad(next((data / "squad1.1").glob("train.json*")))
    columns = [q.question for q in questions], [q.context for q in questions]
    return [
        ("SST-2", zoo.TextClassifier, labels, sentences, [*map(str, classes)]),
        ("IMDb", zoo.TextClassifier, labels, reviews[1], reviews[0]),
        (
            "SQuAD",
            zoo.QuestionAnswerer,
            {"sequence_length": 384},
            columns,
            [q.answers for q in questions],
        ),
    ]


def make_model(kind, options):
    """A small task with the words of a preset."""
    import zoo

    tokenizer = zoo.from_preset(PRESET).tokenizer
    sizes = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 8}
    count = tokenizer.vocabulary_size
    config = zoo.models.bert.BERTConfig(vocabulary_size=count, **sizes)
    model = kind(zoo.models.bert.BERT(config), tokenizer, **options)
    model.compile(jit_compile=True)
    return model


def measure(name, kind, options, texts, labels, directory):
    """The line of a set, dict."""
    model, shapes, tokens, padded = make_model(kind, options), set(), 0, 0
    batches = model.batches(texts, labels, batch_size=32, shuffle=True)
    for x, *_ in batches:
        mask = x["padding_mask"].numpy()
        shapes.add(mask.shape)
        tokens, padded = tokens + mask.size, padded + (mask == 0).sum()
    compiled = [steps_in(directory)]
    for _ in range(2):
        model.fit(texts, labels, batch_size=32, epochs=1, verbose=0)
        compiled.append(steps_in(directory))
    return {
        "set": name,
        "batches": int(batches.cardinality()),
        "shapes": len(shapes),
        "first_epoch": compiled[1] - compiled[0],
        "second_epoch": compiled[2] - compiled[1],
        "padding": round(float(padded / tokens), 3),
    }


def steps_in(directory):
    """The number of training steps that XLA has written, int."""
    names = map(STEP.match, os.listdir(directory))
    return len({found[1] for found in names if found})


def main(arguments=None):
    """Prints one JSON line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, help="the first rows of each set only")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XLA_FLAGS"] = f"--xla_dump_to={directory}"
        for name, kind, arguments, texts, labels in read_sets(options.data):
            rows = slice(options.rows)
            if isinstance(texts, tuple):
                texts = tuple(column[rows] for column in texts)
            else:
                texts = texts[rows]
            result = measure(name, kind, arguments, texts, labels[rows], directory)
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
