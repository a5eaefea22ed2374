"""The losses of the words of a text, whatever the tokens of a language model are."""

import difflib
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

import zoo
from zoo.data import (
    DocumentStreams,
    TokenStreams,
    read_documents,
    read_word_corpus,
    split_sentences,
    stream_batches,
    tokenize_texts,
    write_word_corpus,
)

MARK, UNKNOWN = "[UNK]", "xxunk"  # of `read_documents`, and of fastai's tokens
ORIGINAL_MARK = "<unk>"  # of WikiText, which a GPT reads as text
CHARACTERS = 2000  # of a text of ULMFiT, as in its pretraining
ROWS, WINDOW, STEPS = 8, 70, 10  # streams, and tokens that are read together
BATCH_SIZE = 16  # windows of a GPT
TEXTS_AT_ONCE = 8192  # short texts that are tokenized together


def read_lines(path):
    """The lines of the documents of a file, list of list of str, split at white space.

    An empty list is between two documents.
    """
    found = []
    for document in read_documents(path):
        found += [line.split() for line in document] + [[]]
    return found


def cut_texts(lines):
    """The texts that ULMFiT reads, each of them a list of lines of words."""
    texts, size = [[]], 0
    for line in lines:
        if line:
            texts[-1].append(line)
            size += sum(map(len, line)) + len(line)
        if texts[-1] and (not line or size >= CHARACTERS):
            texts.append([])
            size = 0
    return [text for text in texts if text]


def tokens_by_text(texts, tokenizer):
    """The tokens of each of some short texts, dict of str to list of int."""
    distinct, found = sorted({*texts}), {}
    for start in range(0, len(distinct), TEXTS_AT_ONCE):
        part = distinct[start : start + TEXTS_AT_ONCE]
        found |= zip(part, tokenizer(part).to_list(), strict=True)
    return found


class Scores:
    """The losses of words.

    Args:
        losses: float (N,), in nats, of the tokens of each word; nan if it was not
            predicted, at the ends of streams, or if its tokens are not known.
        known: bool (N,), whether the word has no unknown token.
        owned: bool (N,), whether the tokens of the word are known.
        total: float, the loss of all tokens.
    """

    def __init__(self, losses, known, owned, total):
        self.losses, self.known, self.owned = losses, known, owned
        self.total = total

    def summary(self, known):
        """The numbers of the table; `known` is of all models, bool (N,)."""
        predicted = np.isfinite(self.losses)
        both = self.losses[known & predicted]
        count = len(self.losses) - (self.owned & ~predicted).sum()
        return {
            "perplexity": float(np.exp(self.total / count)),
            "unknown": float(1 - self.known[self.owned].mean()),
            "known_to_all": float(np.exp(both.mean())),
            "share_known": float(known.mean()),
        }


def add_up(token_losses, owners, unknown, count):
    """Adds up the losses of T tokens by the `count` words that they belong to.

    A loss is nan where a token was not predicted. The owner of a token is the number of
    its word, or -1 for marks between words.
    """
    inside = owners >= 0
    owned = owners[inside]
    losses = np.bincount(owned, token_losses[inside], minlength=count)
    some = np.bincount(owned, minlength=count) > 0
    losses[~some] = np.nan
    known = (np.bincount(owned, unknown[inside], minlength=count) == 0) & some
    return Scores(losses, known, some, float(np.nansum(token_losses)))


def tokens_of(texts, tokenizer):
    """The tokens (T,) of texts, lengths of the texts, and which word owns each token.

    The tokens of a text are those of its words, a line break between lines, and the
    tokens that begin a row. Where it has others, such as `xxwrep 3 ha` for three words,
    these have no owner, and the words count in the total only.
    """
    begin = len(tokenizer.framing.begin)
    words = [w.replace(MARK, UNKNOWN) for text in texts for row in text for w in row]
    own = tokens_by_text(words, tokenizer)
    joint = ["\n".join(" ".join(row) for row in text) for text in texts]
    joint = [text.replace(MARK, UNKNOWN) for text in joint]
    parts = list(tokenize_texts(joint, tokenizer))
    ids, lengths = map(np.concatenate, zip(*parts, strict=True))
    owners, place, number = np.full(len(ids), -1), 0, 0
    between = tokenizer(["a\nb"]).to_list()[0][1:-1]
    for text, length in zip(texts, lengths, strict=True):
        expected, marks = [], []
        for i, row in enumerate(text):
            expected += between if i else []
            marks += [-1] * len(between) if i else []
            for word in row:
                found = own[word.replace(MARK, UNKNOWN)]
                expected += found
                marks += [number] * len(found)
                number += 1
        first = place + begin
        found = ids[first : place + length].tolist()
        for ours, theirs, size in equal_parts(expected, found):
            owners[first + theirs : first + theirs + size] = marks[ours : ours + size]
        # A word of which a token is missing has no tokens.
        sizes = np.bincount([mark + 1 for mark in marks], minlength=number + 1)
        part = owners[first : place + length]
        part[
            np.bincount(part + 1, minlength=number + 1)[part + 1] < sizes[part + 1]
        ] = -1
        place += length
    return ids, lengths, owners


def equal_parts(a, b):
    """The equal parts of two lists: tuples of a place in each of them, and the size."""
    if a == b:
        return [(0, 0, len(a))]
    return difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()


def causal_losses(model, ids, lengths):
    """The loss of each token of some texts, float (T,), nan if it was not predicted."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    options = (offsets, ROWS, WINDOW, model.backbone.reverse)
    streams = DocumentStreams(ids, *options, seed=None)
    places = DocumentStreams(np.arange(len(ids)), *options, seed=None)

    @tf.function(reduce_retracing=True)
    def score(batch):
        batch = dict(batch)
        following = batch.pop("next_ids")
        return tf.nn.sparse_softmax_cross_entropy_with_logits(
            following, tf.cast(model(batch, training=False), tf.float32)
        )

    losses = np.full(len(ids), np.nan)
    for step in range(streams.steps_per_epoch):
        batch = {k: tf.constant(v) for k, v in streams.batch(step).items()}
        losses[places.batch(step)["next_ids"]] = score(batch).numpy()
    return losses


def score_ulmfit(preset, text):
    """The `Scores` of an ULMFiT; `text` is what `read_lines` returns."""
    options = {"rows": ROWS, "window": WINDOW, "dtype": "float32"}
    model = zoo.from_preset(preset, "causal_lm", **options)
    ids, lengths, owners = tokens_of(cut_texts(text), model.tokenizer)
    losses = causal_losses(model, ids, lengths)
    count = sum(map(len, text))
    return add_up(losses, owners, ids == model.tokenizer.unknown_id, count)


def score_unigram(preset, text):
    """The `Scores` of the frequencies of an ULMFiT's tokens in the same text."""
    tokenizer = zoo.from_preset(preset, "causal_lm", load_weights=False).tokenizer
    ids, _, owners = tokens_of(cut_texts(text), tokenizer)
    losses = -np.log(np.bincount(ids)[ids] / len(ids))
    count = sum(map(len, text))
    return add_up(losses, owners, ids == tokenizer.unknown_id, count)


def byte_tokens(text, tokenizer):
    """The tokens (T,) that a GPT reads, and which word owns each, -1 between words.

    A document begins with the end token, and a line ends with a line break.
    """
    pieces, owners, number = [], [], 0
    for before, row in zip([[], *text[:-1]], text, strict=True):
        words = [word.replace(MARK, ORIGINAL_MARK) for word in row]
        first = [""] if row and not before else []
        pieces += [*first, *words[:1], *(f" {word}" for word in words[1:])]
        pieces += ["\n"] if row else []
        owners += [-1] * len(first) + [*range(number, number + len(row))]
        owners += [-1] if row else []
        number += len(row)
    own = tokens_by_text(pieces, tokenizer) | {"": [tokenizer.end_id]}
    found = [own[piece] for piece in pieces]
    sizes = [len(ids) for ids in found]
    return np.concatenate(found).astype(np.int32), np.repeat(owners, sizes)


def window_losses(model, ids):
    """The loss of each token of a text, float (T,), nan for the first one.

    Windows of all positions overlap by half. A loss is that of the window in which
    the token has more tokens before it.
    """
    length = model.backbone.config.max_sequence_length
    stride = length // 2
    starts = np.arange(0, max(len(ids) - 1 - stride, 1), stride)
    padded = np.pad(ids, (0, length + 1))

    @tf.function(input_signature=[tf.TensorSpec([None, length + 1], tf.int32)])
    def score(rows):
        inputs = rows[:, :-1]
        batch = {"token_ids": inputs, "padding_mask": tf.ones_like(inputs)}
        return tf.nn.sparse_softmax_cross_entropy_with_logits(
            rows[:, 1:], tf.cast(model(batch, training=False), tf.float32)
        )

    losses = np.full(len(padded), np.nan)
    for part in range(0, len(starts), BATCH_SIZE):
        places = starts[part : part + BATCH_SIZE, None] + np.arange(length + 1)
        found = score(tf.constant(padded[places], tf.int32)).numpy()
        for row, own in zip(places, found, strict=True):
            skipped = length - stride if row[0] else 0
            losses[row[1 + skipped :]] = own[skipped:]
    return losses[: len(ids)]


def score_gpt(preset, text):
    """The `Scores` of a GPT of bytes, for which no word is unknown."""
    model = zoo.from_preset(preset, "causal_lm", dtype="float32")
    ids, owners = byte_tokens(text, model.tokenizer)
    losses, count = window_losses(model, ids), sum(map(len, text))
    return add_up(losses, owners, np.zeros(len(ids), bool), count)


def write_words(text, tokenizer, directory):
    """Writes the sentences of a text as ELMo reads them; returns the owners (T,)."""
    sentences = [s for row in text if row for s in split_sentences(" ".join(row))]
    write_word_corpus(sentences, tokenizer, directory)
    words = [word for sentence in sentences for word in sentence.split()]
    hidden = [word.replace(MARK, "\ue000") for word in words]
    own = tokens_by_text(hidden, tokenizer)
    return np.repeat(np.arange(len(words)), [len(own[word]) for word in hidden])


def score_elmo(preset, text):
    """The `Scores` of both directions of an ELMo, a list."""
    options = {"rows": ROWS, "dtype": "float32"}
    model = zoo.from_preset(preset, "bidirectional_lm", **options)
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory) / "words"
        owners = write_words(text, model.tokenizer, folder)
        corpus = read_word_corpus(folder)
        ids, offsets = np.array(corpus.ids), corpus.offsets
    if len(ids) != len(owners):
        raise ValueError(
            "The tokens of sentences must be those of their words. Received: "
            f"{len(ids)} and {len(owners)} tokens."
        )
    streams = TokenStreams(ids, offsets, ROWS, STEPS, seed=None)
    # Numbers of places instead of ids; 0 and 1 are the sentence markers.
    numbers = np.arange(len(ids)) + 2
    places = TokenStreams(numbers, offsets, ROWS, STEPS, seed=None)
    score = tf.function(lambda batch: model(batch, training=False))
    losses, total = np.full((2, len(ids) + 2), np.nan), np.zeros(2)
    batches = stream_batches(streams, corpus.words, model.tokenizer)
    for step, batch in enumerate(batches.take(streams.steps_per_epoch)):
        found = score(batch).numpy()
        total += found.sum(axis=(0, 2))
        where = places.batch(step)
        for i, name in enumerate(("forward_targets", "backward_targets")):
            losses[i, where[name]] = found[:, i]
    targets = model.tokenizer.word_ids(tf.constant(corpus.words)).numpy()[ids]
    unknown = targets == model.tokenizer.word_ids(tf.constant([""])).numpy()[0]
    count = sum(map(len, text))
    scores = [add_up(row[2:], owners, unknown, count) for row in losses]
    for part, value in zip(scores, total, strict=True):
        part.total = float(value)
    return scores
