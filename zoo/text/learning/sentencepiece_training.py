"""Learns a SentencePiece model of byte-pair encoding from texts."""

import collections
import re

from zoo.checks.number_rules import numbers_checked
from zoo.files.lines import corpus_lines
from zoo.text.learning.pair_joining import counted, frequent_characters, join_pairs
from zoo.text.subwords.sentencepiece_model import SPACE, encode_model

MARKS = ("<pad>", "<unk>", "<s>", "</s>")
NUM_BYTES = 256
MAX_CHARACTERS = 50  # characters; longer words are not learned from
# Letters and digits are never joined with other characters.
RUN_PATTERN = re.compile(r"\w+|[^\w\s]+")


@numbers_checked()
def train_sentencepiece(texts, vocabulary_size, character_coverage=0.9999):
    """Learns a model for `SentencePieceTokenizer`.

    The texts do not change, except that white space becomes single spaces. A piece may
    begin with a space and has none inside. The most frequent pair of neighbouring
    pieces is joined, again and again. Equal texts give equal models.

    Source: Sennrich et al. 2016; Kudo and Richardson 2018. As in `spm_train` with
    `split_by_unicode_script`, letters are not joined with punctuation.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`, see
            `zoo.text.train_wordpiece`.
        vocabulary_size: int, maximum number of tokens. Four special tokens and 256
            bytes are included.
        character_coverage: float in (0, 1], share of the characters in the corpus that
            have a piece. Others are written as bytes.

    Returns:
        bytes, the content of a `.model` file.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if `vocabulary_size` is too small for the characters, or
            `character_coverage` is not in (0, 1].
    """
    words = counted(texts, count_plain_words)
    runs = collections.Counter()
    for word, count in words.items():
        first, *later_runs = RUN_PATTERN.findall(word) or [word]
        runs[SPACE + first] += count
        for run in later_runs:
            runs[run] += count
    alphabet = {SPACE} | frequent_characters(runs, character_coverage)
    room = vocabulary_size - len(MARKS) - NUM_BYTES - len(alphabet)
    if room < 0:
        raise ValueError(
            "`vocabulary_size` must hold the special tokens, 256 bytes and the "
            f"characters, {vocabulary_size - room} in this corpus. Received: "
            f"vocabulary_size={vocabulary_size}. Increase it, or decrease "
            "`character_coverage`."
        )
    known = {
        run: count
        for run, count in runs.items()
        if len(run) <= MAX_CHARACTERS and alphabet.issuperset(run)
    }
    pieces, spelled = {}, [list(run) for run in known]
    for piece, *_ in join_pairs(spelled, list(known.values()), str.__add__):
        if len(pieces) == room:
            break
        pieces[piece] = None
    return encode_model([*pieces, *sorted(alphabet)], MARKS)


def count_plain_words(texts):
    """Counts what is between white space in texts."""
    words = collections.Counter()
    for line in corpus_lines(texts):
        words.update(line.split())
    return words
