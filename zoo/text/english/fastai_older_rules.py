"""The rules of fastai 0.7 and 1, as far as they differ from those of fastai 2."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.ragged_rows import owners, row_ids
from zoo.text.english.fastai_rules import (
    INNER_SPACE,
    REPAIRS,
    SPACE,
    WORD,
    count_characters,
    has_runs,
    join_rows,
    to_valid,
)
from zoo.text.english.html_entities import lower_case, on_rows, substitute, unescape
from zoo.text.words.word_tokenizer import to_lower

MIN_REPETITIONS = 4  # equal characters or words
# Characters that Python counts as capitals and as small letters beside Lu and Ll.
UPPER = r"\p{Lu}\x{2160}-\x{216f}\x{24b6}-\x{24cf}\x{1f130}-\x{1f149}"
UPPER += r"\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}"
LOWER = r"\p{Ll}ªº\x{2b0}-\x{2b8}\x{2c0}\x{2c1}\x{2e0}-\x{2e4}\x{345}\x{37a}"
LOWER += r"\x{1d2c}-\x{1d6a}\x{1d78}\x{1d9b}-\x{1dbf}\x{2071}\x{207f}\x{2090}-\x{209c}"
LOWER += r"\x{2170}-\x{217f}\x{24d0}-\x{24e9}\x{2c7c}\x{2c7d}"
IN_CAPITALS = rf"(?s)[^{LOWER}\p{{Lt}}]*[{UPPER}][^{LOWER}\p{{Lt}}]*"
CAPITALISED = rf"(?s)[{UPPER}][^{UPPER}\p{{Lt}}]*[{LOWER}][^{UPPER}\p{{Lt}}]*"


def clean_as_1(texts, names):
    """Applies the rules of fastai 1 before the split; texts begin with "xxbos "."""
    # fastai 1.0.61, `text/transform.py`: fix_html, replace_rep, replace_wrep,
    # spec_add_spaces, rm_useless_spaces.
    more = ((" @,@ ", ","), (r"\\", r" \\ "))
    texts = _repair(texts, names, "xxbos ", (*REPAIRS[:-1], *more))
    texts = _count(texts, "xxrep", "xxwrep")
    texts = tf.strings.regex_replace(texts, r"([/#\n])", r" \1 ")
    return tf.strings.regex_replace(texts, "  +", " ")


def clean_as_07(texts, names):
    """Applies the rules of fastai 0.7, in lower case; each text begins with "xfld "."""
    # fastai 0.7, `text.py`, and `imdb_scripts/create_toks.py` of the paper: fixup,
    # replace_rep, replace_wrep, do_caps, and the line breaks of HTML.
    repairs = [(p, "u_n" if r == "xxunk" else r) for p, r in REPAIRS[:-1]]
    texts = _repair(texts, names, "xfld ", (*repairs, (r"\\", r" \\ ")))
    texts = _count(texts, "tk_rep", "tk_wrep")
    texts = substitute(texts, WORD, _lower_words)
    texts = tf.strings.regex_replace(texts, "([/#])", r" \1 ")
    texts = tf.strings.regex_replace(texts, "  +", " ")
    return tf.strings.regex_replace(texts, rf"<[{SPACE}]*br[{SPACE}]*/?>", "\n")


def _repair(texts, names, begin, repairs):
    texts = tf.strings.join([" ", to_valid(texts)])
    for pattern, replacement in repairs:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    texts = tf.strings.regex_replace(unescape(texts, names), "  +", " ")
    return tf.strings.join([begin, tf.strings.regex_replace(texts, "^ ", "")])


def _count(texts, characters, words):
    """Replaces repeated characters and words, see `count_characters`."""
    texts = on_rows(
        texts,
        has_runs(texts),
        lambda part: count_characters(part, MIN_REPETITIONS, characters),
    )
    return _count_words(texts, words)


def _lower_words(words):
    """Lowers words, and puts ` t_up ` before those of three or more capitals."""
    upper = tf.strings.regex_full_match(words, IN_CAPITALS)
    upper = upper & (tf.strings.length(words, "UTF8_CHAR") > 2)
    return tf.strings.join([tf.where(upper, " t_up ", ""), to_lower(words)])


def mark_capitals(tokens):
    """The mark that fastai 1 puts before each token, or "", and the lower token."""
    several = tf.strings.length(tokens, "UTF8_CHAR") > 1
    upper = several & tf.strings.regex_full_match(tokens, IN_CAPITALS)
    title = ~upper & tf.strings.regex_full_match(tokens, CAPITALISED)
    marks = tf.where(upper, "xxup", tf.where(title, "xxmaj", ""))
    return marks, lower_case(tokens)


def _count_words(texts, mark):
    """Replaces four or more equal words by ` xxwrep n word `."""
    # A unit is a word with what separates it from the next one. The separator of the
    # last unit may go on. The number is one more than the number of spans between white
    # space in all units but the first, as in fastai.
    pieces = tf_text.regex_split(tf.strings.join([texts, INNER_SPACE]), WORD, WORD)
    rows = row_ids(pieces)[::2]
    words, marks = pieces.values[::2], pieces.values[1::2]
    total = tf.size(words, tf.int64)
    first = (words[1:] != words[:-1]) | (marks[1:] != marks[:-1])
    first = first | (rows[1:] != rows[:-1])
    first = tf.concat([[True], first], 0)[:total]
    starts = tf.where(first)[:, 0]
    ends = tf.concat([starts[1:], total[None]], 0)[: tf.size(starts)]
    word, separator = tf.gather(words, starts), tf.gather(marks, starts)
    after = tf.minimum(ends, total - 1)
    next_mark = tf.gather(marks, after)
    length = tf.strings.length(separator)
    part = (after == ends) & (tf.gather(rows, after) == tf.gather(rows, starts))
    part = part & (tf.gather(words, after) == word)
    part = part & (tf.strings.substr(next_mark, length - length, length) == separator)
    blocked, found = _find(ends - starts, part)
    counts = ends - starts - blocked + tf.cast(part, tf.int64)
    unit = tf.strings.join([word, separator])
    number = tf.strings.as_string(_count_spans(unit, counts - 1) + 1)
    marked = tf.strings.join([f" {mark} ", number, " ", unit, " "])
    size = tf.strings.length(next_mark)
    rest = tf.strings.substr(next_mark, tf.minimum(length, size), size)
    out = tf.strings.join([words, marks])
    run = owners(ends - starts)
    place = tf.range(total)
    covered = tf.gather(found, run) & (place >= tf.gather(starts + blocked, run))
    out = tf.where(covered, "", out)
    cut = found & part
    for places, kept, values in ((starts + blocked, found, marked), (ends, cut, rest)):
        out = tf.tensor_scatter_nd_update(
            out, tf.boolean_mask(places, kept)[:, None], tf.boolean_mask(values, kept)
        )
    return tf.strings.regex_replace(join_rows(out, rows, texts), INNER_SPACE, "")


def _find(counts, part):
    """Which runs are replaced, boolean (N,), and units that the run before took."""

    # A run that goes on into the first unit of the next run takes this unit.
    def block(found):
        taken = tf.concat([[False], (found & part)[:-1]], 0)[: tf.size(found)]
        return tf.cast(taken, tf.int64)

    def find(found):
        return counts - block(found) + tf.cast(part, tf.int64) >= MIN_REPETITIONS

    start = find(tf.zeros_like(part))
    _, found = tf.while_loop(
        lambda old, new: tf.reduce_any(old != new),
        lambda old, new: (new, find(new)),
        (tf.zeros_like(start), start),
        shape_invariants=(tf.TensorShape([None]),) * 2,
    )
    return block(found), found


def _count_spans(units, times):
    """The number of spans between white space in repeated units, int64 (N,)."""
    plain = tf.strings.regex_replace(units, f"[{SPACE}]+", " ")
    spans = tf.strings.split(plain).row_lengths()
    closed = tf.strings.regex_full_match(units, rf"(?s).*[{SPACE}]")
    return tf.where(closed, spans * times, (spans - 1) * times + 1)
