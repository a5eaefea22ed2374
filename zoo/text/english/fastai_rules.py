"""The rules that fastai applies to texts before it splits them, in the graph."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.ragged_rows import owners, row_ids
from zoo.text import white_space
from zoo.text.english.html_entities import on_rows, unescape

SPACE = white_space.SPACE[1:-1]  # without the brackets of a character class
OTHER_SPACE = SPACE.replace(r"\x{20}", "")
# Noncharacters, which texts do not contain. They stand for a space inside of a token of
# white space, and for the character 0, at which some operations truncate texts.
INNER_SPACE, NULL = "\U0010ffff", "\U0010fffe"
WORD = r"[\pL\pN_]+"
# Patterns and replacements, in the order of fastai. Patterns with the same replacement
# are one pattern where their order makes no difference.
REPAIRS = (
    ("#39;|#146;|quot;", "'"),
    ("amp;", "&"),
    ("nbsp;", " "),
    (r"#36;", "$"),
    (r"\\n|<br />", "\n"),
    (r'\\"', '"'),
    ("<unk>", "xxunk"),
    (r" @\.@ ", "."),
    (" @-@ ", "-"),
    (r"\.\.\.", " …"),
)


def clean(texts, names):
    """Applies all rules but those about capitals; `NULL` replaces the character 0."""
    # fastai 2.8, `text/core.py`: fix_html, replace_rep, replace_wrep, spec_add_spaces,
    # rm_useless_spaces, and the stripping of `lowercase`. Invalid UTF-8 becomes U+FFFD.
    texts = to_valid(texts)
    for pattern, replacement in REPAIRS:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    texts = unescape(texts, names)
    texts = on_rows(texts, has_runs(texts), count_characters)
    texts = on_rows(texts, _has_repeated_words(texts), _count_words)
    texts = tf.strings.regex_replace(texts, r"([/#\\])", r" \1 ")
    texts = tf.strings.regex_replace(texts, "  +", " ")
    return white_space.strip(texts)


def to_valid(texts):
    """Makes texts valid UTF-8, with `NULL` in place of the character 0."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    texts = tf.strings.regex_replace(texts, f"[{INNER_SPACE}{NULL}]", "\ufffd")
    return tf.strings.regex_replace(texts, r"\x00", NULL)


def split_spans(texts):
    """Splits texts into words and white space as spaCy does, ragged (B, None)."""
    # A space after a word is the border. Any other white space is a span, which
    # includes the spaces after it, as `INNER_SPACE`. The span of "" is "". The texts
    # have no white space at their ends and no two spaces in succession.
    texts = tf.strings.regex_replace(texts, f"([{OTHER_SPACE}]) ", rf"\1{INNER_SPACE}")
    pattern = f" ?([{OTHER_SPACE}][{OTHER_SPACE}{INNER_SPACE}]*)"
    texts = tf.strings.regex_replace(texts, pattern, r" \1 ")
    return tf.strings.split(texts, " ")


def has_runs(texts):
    """Whether texts have three equal characters in succession, boolean (B,)."""
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    rows, values = row_ids(codes), codes.values
    equal = (values[2:] == values[1:-1]) & (values[2:] == values[:-2])
    equal = equal & (rows[2:] == rows[:-2])
    found = tf.boolean_mask(rows[2:], equal)
    counts = tf.math.bincount(tf.cast(found, tf.int32), minlength=tf.size(texts))
    return counts > 0


def count_characters(texts, least=3, mark="xxrep"):
    """Replaces `least` or more equal characters by ` xxrep n c `, not white space."""
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    characters = tf.strings.unicode_split(texts, "UTF-8").values
    rows = row_ids(codes)
    first = (codes.values[1:] != codes.values[:-1]) | (rows[1:] != rows[:-1])
    first = tf.concat([tf.ones_like(rows[:1], tf.bool), first], 0)
    places = tf.where(first)[:, 0]
    total = tf.size(rows, tf.int64)
    counts = tf.concat([places[1:], total[None]], 0) - places
    run = tf.cumsum(tf.cast(first, tf.int32)) - 1
    letter = tf.gather(characters, places)
    space = tf.strings.regex_full_match(letter, f"[{SPACE}]")
    long = tf.gather((counts >= least) & ~space, run)
    number = tf.strings.as_string(counts)
    marked = tf.strings.join([f" {mark} ", number, " ", letter, " "])
    parts = tf.where(long, tf.gather(marked, run), characters)
    kept = first | ~long
    return join_rows(parts[kept], rows[kept], texts)


def join_rows(parts, rows, texts):
    """Joins parts (N,) of texts (B,) whose numbers are `rows`, string (B,)."""
    return tf.strings.unsorted_segment_join(parts, rows, tf.size(texts))


def _has_repeated_words(texts):
    """Whether texts may have three equal words in succession, boolean (B,)."""
    plain = tf.strings.regex_replace(texts, f"[{OTHER_SPACE}]", " ")
    words = tf.strings.split(plain)
    rows, values = row_ids(words), words.values
    equal = (values[1:-1] == values[:-2]) & (rows[2:] == rows[:-2])
    places = tf.where(equal)[:, 0]
    word, third = tf.gather(values, places), tf.gather(values, places + 2)
    length = tf.strings.length(word)
    start = tf.strings.substr(third, tf.zeros_like(length), length)
    found = tf.gather(rows, tf.boolean_mask(places, start == word))
    counts = tf.math.bincount(tf.cast(found, tf.int32), minlength=tf.size(texts))
    return counts > 0


def _count_words(texts):
    """Replaces three or more equal words by ` xxwrep n word `."""
    # The last word may be the start of a longer span, as in "no no no!". The rule takes
    # one white space before the words and one after them. Words after a single space
    # that the rule took already are counted from the second one, as in fastai.
    # Spans alternate: white space, word, white space, word, ...
    spans = tf_text.regex_split(
        tf.strings.join([" ", white_space.strip(texts)]), f"[{SPACE}]+", f"[{SPACE}]+"
    )
    rows = row_ids(spans)[::2]
    spaces, words = spans.values[::2], spans.values[1::2]
    plain = tf.strings.regex_full_match(words, WORD)
    first = (words[1:] != words[:-1]) | (rows[1:] != rows[:-1]) | ~plain[1:]
    first = tf.concat([[True], first], 0)
    starts = tf.where(first)[:, 0]
    ends = tf.concat([starts[1:], tf.size(words, tf.int64)[None]], 0)
    word = tf.gather(words, starts)
    # The span after the words, if the words are its beginning.
    after = tf.minimum(ends, tf.size(words, tf.int64) - 1)
    next_span = tf.gather(words, after)
    length = tf.strings.length(word)
    begin = tf.strings.substr(next_span, tf.zeros_like(length), length)
    size = tf.strings.length(next_span)
    rest = tf.strings.substr(next_span, tf.minimum(length, size), size)
    same_row = (after == ends) & (tf.gather(rows, after) == tf.gather(rows, starts))
    part = (
        same_row
        & (begin == word)
        & tf.strings.regex_full_match(rest, r"(?s)[^\pL\pN_].*")
    )
    counts = ends - starts + tf.cast(part, tf.int64)
    width = tf.strings.length(tf.gather(spaces, starts), "UTF8_CHAR")
    previous = tf.gather(rows, tf.maximum(starts - 1, 0)) == tf.gather(rows, starts)
    chained = previous & (starts > 0) & (width == 1)
    plain = tf.gather(plain, starts)
    blocked, found = _find_repetitions(plain, counts, chained, part)
    return _write_repetitions(
        (spaces, words, rows),
        (starts, ends, word, rest),
        (counts, blocked, found, part),
        texts,
    )


def _find_repetitions(plain, counts, chained, part):
    """Whether the space before a run was taken, and the run is replaced; bool (N,).

    Of each run: `plain`, whether it is of words; `counts`, its equal words; `chained`,
    whether one space stands between it and the last run; `part`, whether its last word
    is the start of a longer span.
    """

    def block(found):
        taken = tf.concat([[False], (found & ~part)[:-1]], 0)
        return taken & chained

    def find(blocked):
        return plain & (counts - tf.cast(blocked, tf.int64) > 2)

    start = find(tf.zeros_like(plain))
    _, found = tf.while_loop(
        lambda old, new: tf.reduce_any(old != new),
        lambda old, new: (new, find(block(new))),
        (tf.zeros_like(start), start),
        shape_invariants=(tf.TensorShape([None]),) * 2,
    )
    return block(found), found


def _write_repetitions(spans, runs, results, texts):
    """Writes the texts again, see `_count_words`."""
    spaces, words, rows = spans
    starts, ends, word, rest = runs
    counts, blocked, found, part = results
    number = counts - tf.cast(blocked, tf.int64)
    at = tf.boolean_mask(starts + tf.cast(blocked, tf.int64), found)[:, None]
    mark = tf.strings.join([" xxwrep ", tf.strings.as_string(number), " ", word, " "])
    out = tf.strings.join([spaces, words])
    run = owners(ends - starts)
    place = tf.range(tf.size(words, tf.int64))
    covered = tf.gather(found, run) & (
        place >= tf.gather(starts + tf.cast(blocked, tf.int64), run)
    )
    out = tf.where(covered, "", out)
    before = tf.gather_nd(spaces, at)
    width = tf.strings.length(before, "UTF8_CHAR") - 1
    before = tf.strings.substr(before, tf.zeros_like(width), width, "UTF8_CHAR")
    marked = tf.strings.join([before, tf.boolean_mask(mark, found)])
    out = tf.tensor_scatter_nd_update(out, at, marked)
    cut = found & part
    out = tf.tensor_scatter_nd_update(
        out, tf.boolean_mask(ends, cut)[:, None], tf.boolean_mask(rest, cut)
    )
    return join_rows(out, rows, texts)
