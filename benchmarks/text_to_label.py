"""Raw text to label: SST-2's dev set through a small BERT classifier, on the CPU.

The input is a list of 872 sentences of 25 word pieces on average, at most 55. The
output is an array of logits in the same order. The weights are random, and a batch has
32 rows. Every peer makes batches as the prediction of its library does.
"""

import csv
import gzip
import pathlib

from benchmarks.peers import (
    facts_of,
    keras_nlp_backbone,
    transformers_config,
    zoo_backbone,
)

UNIT = "texts"
NEEDS = ("data", "vocabulary")
BATCH_SIZE = 32
LABELS = 2
SIZES = (4, 256, 4, 1024)  # layers, width, heads, inner width


def read_texts(data, part="dev"):
    """Reads the sentences of `glue/SST-2/dev.tsv` or `dev.tsv.gz` in a directory.

    Args:
        data: path of the directory.
        part: str, "dev" or "train".

    Raises:
        FileNotFoundError: if both files are missing.
    """
    plain = pathlib.Path(data) / "glue" / "SST-2" / f"{part}.tsv"
    packed = plain.with_suffix(".tsv.gz")
    if not plain.exists() and not packed.exists():
        raise FileNotFoundError(f"No such file: {plain} or {packed.name}.")
    path, opener = (plain, open) if plain.exists() else (packed, gzip.open)
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row["sentence"] for row in rows]


def build_zoo(vocabulary):
    """Makes our classifier."""
    import zoo

    tokenizer = zoo.text.WordPieceTokenizer(vocabulary)
    backbone = zoo_backbone(tokenizer.vocabulary_size, *SIZES)
    return zoo.TextClassifier(backbone, tokenizer, labels=LABELS)


def build_keras_nlp(vocabulary, sequence_length):
    """Makes keras-nlp's classifier, whose preprocessor pads every row to a length."""
    import keras_nlp

    # Without `strip_accents`, words with accents would be [UNK].
    tokenizer = keras_nlp.models.BertTokenizer(
        vocabulary, lowercase=True, strip_accents=True
    )
    backbone = keras_nlp_backbone(tokenizer.vocabulary_size(), *SIZES)
    preprocessor = keras_nlp.models.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    return keras_nlp.models.BertTextClassifier(
        backbone, num_classes=LABELS, preprocessor=preprocessor
    )


def build_transformers(vocabulary):
    """Makes Hugging Face's classifier and its tokenizer."""
    import transformers

    tokenizer = transformers.BertTokenizerFast(vocab=str(vocabulary))
    config = transformers_config(len(tokenizer), *SIZES, num_labels=LABELS)
    return transformers.BertForSequenceClassification(config).eval(), tokenizer


def make_zoo(data, vocabulary):
    """Ours: `TextClassifier.predict` on a list of str."""
    texts = read_texts(data)
    model = build_zoo(vocabulary)
    lengths = model.tokenizer(texts).row_lengths().numpy() + 2
    shape = (len(texts), LABELS)
    facts = facts_of(lengths, model.count_params(), shape, "zoo")
    return lambda: model.predict(texts, batch_size=BATCH_SIZE, verbose=0), facts


def make_keras_nlp(data, vocabulary, sequence_length, count=None):
    """keras-nlp's `BertTextClassifier.predict` on texts padded to a length."""
    texts = read_texts(data)[:count]
    model = build_keras_nlp(vocabulary, sequence_length)
    lengths = model.preprocessor(texts)["padding_mask"].numpy().sum(axis=1)
    shape = (len(texts), LABELS)
    facts = facts_of(lengths, model.count_params(), shape, "keras_nlp")
    return lambda: model.predict(texts, batch_size=BATCH_SIZE, verbose=0), facts


def make_keras_nlp_64(data, vocabulary):
    """Rows of 64 tokens, into which the longest sentence fits."""
    return make_keras_nlp(data, vocabulary, sequence_length=64)


def make_keras_nlp_512(data, vocabulary):
    """Rows of 512 tokens, the default, for 128 sentences only, to save time."""
    return make_keras_nlp(data, vocabulary, sequence_length=512, count=128)


def make_transformers(data, vocabulary):
    """Hugging Face on PyTorch: rows sorted by length, padded to the longest of a batch.

    These are the steps of its `pipeline("text-classification")`, except that the
    pipeline does not sort the rows and so has more padding.
    """
    import torch

    texts = read_texts(data)
    model, tokenizer = build_transformers(vocabulary)

    def call():
        rows = tokenizer(texts, truncation=True, max_length=512)
        lengths = torch.tensor([len(ids) for ids in rows["input_ids"]])
        order = torch.argsort(lengths, descending=True, stable=True)
        logits = torch.empty(len(texts), LABELS)
        with torch.no_grad():
            for index in order.split(BATCH_SIZE):
                batch = {key: [rows[key][i] for i in index] for key in rows}
                batch = tokenizer.pad(batch, return_tensors="pt")
                logits[index] = model(**batch).logits
        return logits.numpy()

    lengths = [len(ids) for ids in tokenizer(texts)["input_ids"]]
    shape = (len(texts), LABELS)
    return call, facts_of(lengths, model.num_parameters(), shape, "transformers")


PEERS = {
    "zoo": make_zoo,
    "keras_nlp_64": make_keras_nlp_64,
    "transformers": make_transformers,
    "keras_nlp_512": make_keras_nlp_512,
}
