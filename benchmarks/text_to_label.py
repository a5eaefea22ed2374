"""Raw text to label: SST-2's dev set through a small BERT classifier, on the CPU.

872 sentences of 25 word pieces on average, the longest of 55; random weights, batches
of 32, from a list of str to an array of logits in the list's order. Every peer makes
its own batches as its library does when it is asked to predict.
"""

import csv
import gzip
import importlib.metadata
import pathlib

UNIT = "texts"
BATCH_SIZE = 32
LABELS = 2
LAYERS, WIDTH, HEADS, INNER = 4, 256, 4, 1024


def read_texts(data):
    """The sentences of `glue/SST-2/dev.tsv`, or `dev.tsv.gz`, below a directory.

    Raises:
        FileNotFoundError: if there is neither.
    """
    plain = pathlib.Path(data) / "glue" / "SST-2" / "dev.tsv"
    packed = plain.with_suffix(".tsv.gz")
    if not plain.exists() and not packed.exists():
        raise FileNotFoundError(f"No such file: {plain}, nor {packed.name} beside it.")
    path, opener = (plain, open) if plain.exists() else (packed, gzip.open)
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row["sentence"] for row in rows]


def facts_of(lengths, parameters, packages):
    """What the runner compares between peers and writes down.

    Args:
        lengths: list of int, tokens of every text, special ones included.
        parameters: int, in the whole model.
        packages: names of the distributions that do the work.
    """
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {
        "items": len(lengths),
        "lengths": [int(length) for length in lengths],
        "parameters": int(parameters),
        "shape": [len(lengths), LABELS],
        "versions": versions,
    }


def limit_tensorflow(threads):
    """Gives TensorFlow so many threads, before its first operation."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def make_zoo(data, vocabulary, threads):
    """Ours: `TextClassifier.predict` on a list of str."""
    limit_tensorflow(threads)
    import zoo

    texts = read_texts(data)
    tokenizer = zoo.text.WordPieceTokenizer(vocabulary)
    config = zoo.models.bert.BERTConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        num_layers=LAYERS,
        hidden_dim=WIDTH,
        num_heads=HEADS,
        intermediate_dim=INNER,
    )
    model = zoo.TextClassifier(zoo.models.bert.BERT(config), tokenizer, labels=LABELS)
    lengths = tokenizer(texts).row_lengths().numpy() + 2
    facts = facts_of(lengths, model.count_params(), ("tensorflow", "keras"))
    return lambda: model.predict(texts, batch_size=BATCH_SIZE, verbose=0), facts


def make_keras_nlp(data, vocabulary, threads, sequence_length, count=None):
    """keras-nlp's `BertTextClassifier.predict` on a list of str.

    Args:
        data, vocabulary, threads: as for every peer.
        sequence_length: int, to which its preprocessor pads every row.
        count: int, only so many sentences, or None for all.
    """
    limit_tensorflow(threads)
    import keras_nlp

    texts = read_texts(data)[:count]
    # Without `strip_accents` its uncased words with accents are [UNK].
    tokenizer = keras_nlp.models.BertTokenizer(
        vocabulary, lowercase=True, strip_accents=True
    )
    backbone = keras_nlp.models.BertBackbone(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=LAYERS,
        num_heads=HEADS,
        hidden_dim=WIDTH,
        intermediate_dim=INNER,
    )
    preprocessor = keras_nlp.models.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    model = keras_nlp.models.BertTextClassifier(
        backbone, num_classes=LABELS, preprocessor=preprocessor
    )
    lengths = preprocessor(texts)["padding_mask"].numpy().sum(axis=1)
    packages = ("keras-nlp", "keras-hub", "keras", "tensorflow", "tensorflow-text")
    facts = facts_of(lengths, model.count_params(), packages)
    return lambda: model.predict(texts, batch_size=BATCH_SIZE, verbose=0), facts


def make_keras_nlp_64(data, vocabulary, threads):
    """Rows of 64 tokens, which the longest sentence just fits."""
    return make_keras_nlp(data, vocabulary, threads, sequence_length=64)


def make_keras_nlp_512(data, vocabulary, threads):
    """Rows of 512 tokens, the default; only 128 sentences, as it takes so long."""
    return make_keras_nlp(data, vocabulary, threads, sequence_length=512, count=128)


def make_transformers(data, vocabulary, threads):
    """Hugging Face on PyTorch: rows sorted by length, each batch padded to its longest.

    The steps of its `pipeline("text-classification")`, whose batches keep the caller's
    order and so hold more padding.
    """
    import torch
    import transformers

    torch.set_num_threads(threads)
    texts = read_texts(data)
    tokenizer = transformers.BertTokenizerFast(vocab=str(vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=LAYERS,
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        num_labels=LABELS,
    )
    model = transformers.BertForSequenceClassification(config).eval()

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
    parameters = sum(parameter.numel() for parameter in model.parameters())
    packages = ("torch", "transformers", "tokenizers")
    return call, facts_of(lengths, parameters, packages)


PEERS = {
    "zoo": make_zoo,
    "keras_nlp_64": make_keras_nlp_64,
    "transformers": make_transformers,
    "keras_nlp_512": make_keras_nlp_512,
}
