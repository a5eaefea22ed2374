"""From the scores of tokens to the answers to questions, in a graph."""

import tensorflow as tf

from zoo.ragged_rows import owners, row_ids
from zoo.text.offsets import to_characters
from zoo.text.white_space import is_blank

NO_ANSWER_SCORE = -1e9  # the score of what is no answer
# Times as many answers are kept, of which several may have the same text.
SPARE_FACTOR = 4


def token_places(rows, windows, contexts, places):
    """The first and the last token of answers in their rows.

    Characters at the ends of an answer that belong to no token, such as spaces, do not
    count.

    Args:
        rows: dict of ragged int32 (M, None), from `zoo.data.QuestionPacker`.
        windows: int32 (B,), the rows of each question, which follow each other.
        contexts: string (B,).
        places: int32 (B, 2), beginnings and ends of answers in characters, -1 for none.

    Returns:
        int32 (M, 2); zeros if the row does not have the whole answer.
    """
    owner = owners(windows)
    begins, ends = rows["begins"].values, rows["ends"].values
    row = row_ids(rows["begins"])
    question, inside = tf.gather(owner, row), begins >= 0
    begin, end = (
        tf.gather(part, question)
        for part in tf.unstack(_in_bytes(places, contexts), axis=1)
    )
    after, before = inside & (ends > begin), inside & (begins < end)

    def first(values, groups, count):
        """The smallest value after the beginning, for each group."""
        values = tf.where(after, values, tf.int32.max)
        return tf.math.unsorted_segment_min(values, groups, count)

    def last(values, groups, count):
        """The largest value before the end, for each group."""
        values = tf.where(before, values, -1)
        return tf.math.unsorted_segment_max(values, groups, count)

    whole, count = tf.gather(places[:, 0] >= 0, owner), tf.size(owner)
    for edge, values in ((first, begins), (last, ends)):
        place = edge(values, row, count)
        whole &= place == tf.gather(edge(values, question, tf.size(windows)), owner)
    position = tf.ragged.range(rows["begins"].row_lengths()).values
    position = tf.cast(position, tf.int32)
    found = tf.stack([first(position, row, count), last(position, row, count)], axis=1)
    known = whole & (found[:, 0] <= found[:, 1])
    return tf.where(known[:, None], found, 0)


def _in_bytes(places, texts):
    """Positions (B, N) in bytes, from those in characters; 0 for negative ones."""
    whole = tf.repeat(texts[:, None], places.shape[1], axis=1)
    characters = tf.maximum(places, 0)
    before = tf.strings.substr(
        whole, tf.zeros_like(characters), characters, "UTF8_CHAR"
    )
    return tf.strings.length(before)


def kept_spans(count):
    """How many answers of a row are kept, for `count` answers with different texts."""
    return min(SPARE_FACTOR, count) * count


def best_spans(logits, x, count, longest):
    """The best answers of each row.

    An answer begins and ends at tokens of the context, has at most `longest` tokens,
    and begins at a token that has its widest context in the row.

    Source: Devlin et al. 2019, released code `run_squad.py`. It takes the best
    beginnings and ends of all tokens first, and then those that are possible.

    Args:
        logits: float32 (M, 2, L), scores of the first and the last token.
        x: dict of int32 (M, L), from `zoo.data.QuestionPacker`.
        count: int, the most beginnings and ends that are combined, and answers.
        longest: int, the most tokens of an answer.

    Returns:
        dict of (M, K), see `kept_spans`: scores float32, `NO_ANSWER_SCORE` if there are
        fewer answers; begins and ends int32, positions in bytes. And `null` float32
        (M,), the score of no answer, which is that of the first token.
    """
    inside = x["begins"] >= 0
    allowed = tf.stack([inside & (x["widest"] > 0), inside], axis=1)
    masked = tf.where(allowed, logits, NO_ANSWER_SCORE)
    kept = kept_spans(count)
    count = tf.minimum(count, tf.shape(logits)[2])  # a row has no more
    scores, places = tf.math.top_k(masked, count)
    sums = scores[:, 0, :, None] + scores[:, 1, None]
    first, last = places[:, 0, :, None], places[:, 1, None]
    fits = (last >= first) & (last - first < longest) & (sums > NO_ANSWER_SCORE / 2)
    sums = tf.reshape(tf.where(fits, sums, NO_ANSWER_SCORE), (-1, count * count))
    found = tf.minimum(kept, count * count)
    best, index = tf.math.top_k(sums, found)

    def pad(values, constant=0):
        padded = tf.pad(values, [[0, 0], [0, kept - found]], constant_values=constant)
        return tf.ensure_shape(padded, [None, kept])

    def at(name, side, number):
        chosen = tf.gather(places[:, side], number, batch_dims=1)
        return pad(tf.gather(x[name], chosen, batch_dims=1))

    return {
        "scores": pad(best, NO_ANSWER_SCORE),
        "begins": at("begins", 0, index // count),
        "ends": at("ends", 1, index % count),
        "null": tf.reduce_sum(logits[:, :, 0], axis=1),
    }


def best_answers(spans, windows, contexts, count, null_threshold=None):
    """The best answers to each question, from those of its rows.

    Of answers with the same text, the best one counts, and those of white space do not.
    Only the best `SPARE_FACTOR` times `count` answers are compared, so that a text
    which repeats itself may have fewer than `count`. The probabilities are a softmax
    over the answers, and with `null_threshold` over no answer, too.

    Args:
        spans: dict from `best_spans`, of M rows.
        windows: int32 (B,), the rows of each question, which follow each other.
        contexts: string (B,).
        count: int, N.
        null_threshold: float, how much larger the score of no answer must be than that
            of the best answer, to be the answer; or None for an answer in any case.

    Returns:
        dict of text string, score float32, begin and end int32 (B,), in characters; ""
        and -1 for no answer. null_odds float32 (B,), the score of no answer minus that
        of the best answer. texts, scores, begins and ends (B, N), the best answers,
        with "", 0 and -1 as padding.
    """
    scores, texts, begins, ends = _distinct_answers(spans, windows, contexts, count)
    real = scores > NO_ANSWER_SCORE / 2
    begins, ends = (
        tf.where(real, _in_characters(part, contexts), -1) for part in (begins, ends)
    )
    null = tf.RaggedTensor.from_row_lengths(spans["null"], windows)
    null = tf.reduce_min(null, axis=1)
    odds, empty = null - scores[:, 0], ~real[:, 0]
    possible = tf.pad(
        real, [[0, 0], [0, 1]], constant_values=null_threshold is not None
    )
    shares = tf.concat([scores, null[:, None]], axis=1)
    shares = tf.nn.softmax(tf.where(possible, shares, NO_ANSWER_SCORE))
    shares = tf.where(possible, shares, 0.0)
    if null_threshold is not None:
        empty |= odds > null_threshold
    return {
        "text": tf.where(empty, "", texts[:, 0]),
        "score": tf.where(empty, shares[:, -1], shares[:, 0]),
        "begin": tf.where(empty, -1, begins[:, 0]),
        "end": tf.where(empty, -1, ends[:, 0]),
        "null_odds": odds,
        "texts": texts,
        "scores": shares[:, :-1],
        "begins": begins,
        "ends": ends,
    }


def _distinct_answers(spans, windows, contexts, count):
    """The best answers whose texts differ, (B, count), best first, see `best_answers`.

    Scores float32, texts, begins and ends int32 in bytes; `NO_ANSWER_SCORE`, "" and 0
    are the padding.
    """

    def per_question(name, pad):
        rows = tf.RaggedTensor.from_row_lengths(spans[name], windows).to_tensor(pad)
        size = tf.shape(rows)
        rows = tf.reshape(rows, (size[0], size[1] * size[2]))
        return tf.pad(rows, [[0, 0], [0, count]], constant_values=pad)

    scores = per_question("scores", NO_ANSWER_SCORE)
    # Two rows have no answer in common, but two answers may have the same text.
    real = tf.math.count_nonzero(scores > NO_ANSWER_SCORE / 2, axis=1, dtype=tf.int32)
    most = tf.clip_by_value(tf.reduce_max(real, 0), count, SPARE_FACTOR * count)
    scores, index = tf.math.top_k(scores, tf.minimum(most, tf.shape(scores)[1]))
    begins, ends = (
        tf.maximum(tf.gather(per_question(name, 0), index, batch_dims=1), 0)
        for name in ("begins", "ends")
    )
    texts = _parts(contexts, begins, ends)
    scores = tf.where(is_blank(texts) | _repeated(texts), NO_ANSWER_SCORE, scores)
    scores, index = tf.math.top_k(scores, count)
    real = scores > NO_ANSWER_SCORE / 2
    chosen = (
        tf.where(real, tf.gather(part, index, batch_dims=1), pad)
        for part, pad in ((texts, ""), (begins, 0), (ends, 0))
    )
    return scores, *chosen


def _parts(contexts, begins, ends):
    """Parts (B, K) of contexts (B,), from positions in bytes."""
    begins = tf.minimum(begins, tf.strings.length(contexts)[:, None])
    sizes = tf.maximum(ends - begins, 0)
    # Column by column, since an operation on all would copy each context K times.
    columns = tf.map_fn(
        lambda part: tf.strings.substr(contexts, *part),
        (tf.transpose(begins), tf.transpose(sizes)),
        fn_output_signature=tf.TensorSpec([None], tf.string),
    )
    return tf.transpose(columns)


def _repeated(texts):
    """Whether an earlier text of the row is the same, bool (B, K)."""
    shape = tf.shape(texts)
    rows = tf.strings.as_string(tf.range(shape[0]))
    rows = tf.broadcast_to(rows[:, None], shape)
    keys = tf.reshape(tf.strings.join([rows, texts], " "), (-1,))
    _, groups = tf.unique(keys)
    places = tf.range(tf.size(keys))
    first = tf.math.unsorted_segment_min(places, groups, tf.size(keys))
    return tf.reshape(tf.gather(first, groups) < places, shape)


def _in_characters(places, texts):
    """Positions (B, N) in characters, from those in bytes."""
    shape = tf.shape(places)
    spans = tf.RaggedTensor.from_tensor(tf.cast(places, tf.int64))
    found = to_characters(spans, texts)
    return tf.reshape(tf.cast(found.values, tf.int32), shape)
