"""Raw text to masked batches, as for the pretraining of BERT, on the CPU.

The input is the first 4096 chunks of 90 words of the training text of WikiText-2. The
output is batches of 64 rows [CLS] ... [SEP], padded to 128 tokens. 15 % of the tokens
are masked, at most 20 in a row, with new masks in every pass.
"""

import gzip
import itertools
import pathlib

from benchmarks.peers import facts_of
from benchmarks.worker import Measured

UNIT = "tokens"
NEEDS = ("data", "vocabulary")
WORDS, CHUNKS = 90, 4096
OTHER_TOKENS = 0.01  # share of rows, since keras-nlp and TensorFlow Text are not exact
BATCH_SIZE, LENGTH, PREDICTIONS, MASK_RATE = 64, 128, 20, 0.15


def read_chunks(data, count):
    """Reads the first chunks of `wikitext2/wiki.train.tokens.gz`, list of str."""
    path = pathlib.Path(data) / "wikitext2" / "wiki.train.tokens.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        words = (word for line in file for word in line.split())
        taken = list(itertools.islice(words, WORDS * count))
    return [" ".join(taken[i : i + WORDS]) for i in range(0, len(taken), WORDS)]


def batch_facts(lengths, library, note=""):
    """The facts of a peer that returns the shape of all rows together."""
    return facts_of(
        lengths,
        None,
        (len(lengths), LENGTH),
        library,
        items=sum(lengths),
        note=note,
        may_differ=OTHER_TOKENS,
    )


def count_rows(batches):
    """Reads all batches of token ids (B, L); returns the shape of all rows."""
    rows, length = 0, None
    for token_ids in batches:
        rows, length = rows + len(token_ids), token_ids.shape[1]
    return Measured((rows, length))


def make_zoo(data, vocabulary):
    """Ours: the tokenizer, `Packer` and `mask_tokens`, mapped over batches of text."""
    import tensorflow as tf

    import zoo

    texts = read_chunks(data, CHUNKS)
    tokenizer = zoo.text.WordPieceTokenizer(vocabulary)
    packer = zoo.data.Packer(tokenizer, LENGTH)

    def example(seed, texts):
        rows, _ = packer.pack((texts,))
        x = packer.dense(rows, LENGTH)
        return x | zoo.data.mask_tokens(
            x["token_ids"], tokenizer, seed, MASK_RATE, PREDICTIONS
        )

    seeds = tf.data.Dataset.random(rerandomize_each_iteration=True).batch(2)
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(BATCH_SIZE)
    dataset = tf.data.Dataset.zip(seeds, batches)
    dataset = dataset.map(example, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    lengths = packer.pack((tf.constant(texts),))[0]["tokens"].row_lengths().numpy()
    facts = batch_facts(lengths, "zoo")
    return lambda: count_rows(x["token_ids"] for x in dataset), facts


def make_keras_nlp(data, vocabulary):
    """keras-nlp's `BertMaskedLMPreprocessor` on half of the chunks, to save time."""
    import keras_nlp
    import tensorflow as tf

    texts = read_chunks(data, CHUNKS // 2)
    tokenizer = keras_nlp.models.BertTokenizer(
        vocabulary, lowercase=True, strip_accents=True
    )
    preprocessor = keras_nlp.models.BertMaskedLMPreprocessor(
        tokenizer,
        sequence_length=LENGTH,
        mask_selection_rate=MASK_RATE,
        mask_selection_length=PREDICTIONS,
    )
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(BATCH_SIZE)
    dataset = dataset.map(preprocessor, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    rows = tf.concat([x["padding_mask"] for x, *_ in dataset], 0)
    lengths = tf.reduce_sum(tf.cast(rows, tf.int32), axis=1).numpy()
    facts = batch_facts(lengths, "keras_nlp")
    return lambda: count_rows(x["token_ids"] for x, *_ in dataset), facts


def make_transformers(data, vocabulary):
    """Hugging Face: its fast tokenizer and `DataCollatorForLanguageModeling`."""
    import transformers

    texts = read_chunks(data, CHUNKS)
    tokenizer = transformers.BertTokenizerFast(vocab=str(vocabulary))
    collate = transformers.DataCollatorForLanguageModeling(
        tokenizer, mlm_probability=MASK_RATE
    )

    def batches():
        for start in range(0, len(texts), BATCH_SIZE):
            rows = tokenizer(
                texts[start : start + BATCH_SIZE],
                truncation=True,
                padding="max_length",
                max_length=LENGTH,
                return_special_tokens_mask=True,
            )
            examples = [
                {name: column[i] for name, column in rows.items()}
                for i in range(len(rows["input_ids"]))
            ]
            yield collate(examples)["input_ids"]

    rows = tokenizer(texts, truncation=True, max_length=LENGTH)["input_ids"]
    facts = batch_facts([len(row) for row in rows], "transformers", "no limit in a row")
    return lambda: count_rows(batches()), facts


def make_tensorflow_text(data, vocabulary):
    """TensorFlow Text: `FastBertTokenizer` and `mask_language_model`."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    texts = read_chunks(data, CHUNKS)
    tokens = pathlib.Path(vocabulary).read_text("utf-8").split("\n")[:-1]
    tokenizer = tf_text.FastBertTokenizer(
        tokens, lower_case_nfd_strip_accents=True, token_out_type=tf.int32
    )
    cls, sep, mask = (tokens.index(name) for name in ("[CLS]", "[SEP]", "[MASK]"))
    selector = tf_text.RandomItemSelector(PREDICTIONS, MASK_RATE, [cls, sep])
    chooser = tf_text.MaskValuesChooser(len(tokens), mask)

    def pack(texts):
        rows = tokenizer.tokenize(texts)[:, : LENGTH - 2]
        return tf_text.combine_segments([rows], cls, sep)

    def example(texts):
        ids, segments = pack(texts)
        ids, positions, masked = tf_text.mask_language_model(ids, selector, chooser)
        ids, padding = tf_text.pad_model_inputs(ids, LENGTH)
        segments, _ = tf_text.pad_model_inputs(segments, LENGTH)
        positions, weights = tf_text.pad_model_inputs(positions, PREDICTIONS)
        masked, _ = tf_text.pad_model_inputs(masked, PREDICTIONS)
        return ids, segments, padding, positions, masked, weights

    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(BATCH_SIZE)
    dataset = dataset.map(example, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    lengths = pack(tf.constant(texts))[0].row_lengths().numpy()
    facts = batch_facts(lengths, "tensorflow_text")
    return lambda: count_rows(ids for ids, *_ in dataset), facts


PEERS = {
    "zoo": make_zoo,
    "keras_nlp": make_keras_nlp,
    "transformers": make_transformers,
    "tensorflow_text": make_tensorflow_text,
}
