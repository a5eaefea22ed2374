"""Training examples of masked and causal language models."""

import tensorflow as tf


def mask_tokens(
    token_ids,
    tokenizer,
    seed,
    mask_rate=0.15,
    max_predictions=20,
    mask_token_rate=0.8,
    random_token_rate=0.1,
    replacements=None,
    whole_words=False,
):
    """Chooses the tokens to predict and replaces most of them by [MASK].

    In a row of n tokens, with special ones, `min(max_predictions, max(1, round(r n)))`
    tokens are chosen without replacement, never special ones, where r is `mask_rate`. A
    chosen token becomes [MASK] or a random token, or does not change.

    Source: Devlin et al. 2019, section 3.1, and `create_pretraining_data.py`.
    `keras_nlp.layers.MaskedLMMaskGenerator` takes more than twice the time.

    Args:
        token_ids: int32 (B, L), padded with `tokenizer.pad_id`.
        tokenizer: object with pad_id, cls_id, sep_id, mask_id and vocabulary_size.
        seed: int32 or int64 (2,). The same seed gives the same masks.
        mask_rate: float in (0, 1), share of tokens to choose.
        max_predictions: int; P is at most that and `max(1, round(mask_rate L))`.
        mask_token_rate: float, probability that a chosen token becomes [MASK].
        random_token_rate: float, probability that it becomes a random token.
        replacements: tuple (low, high): the ids of random tokens are in [low, high). By
            default the whole vocabulary, special tokens included, as in the source.
        whole_words: bool, whether to choose all pieces of a word together ("##"
            continues a word), in random order. Words with too many pieces are ignored.

    Returns:
        dict of token_ids int32 (B, L), mask_positions int32 (B, P), ascending with
        zeros at the end, mask_ids int32 (B, P), and mask_weights float32 (B, P).
    """
    shape = tf.shape(token_ids)
    draws = tf.random.stateless_uniform((shape[0], 3, shape[1]), seed)
    tokens = tf.reduce_sum(tf.cast(token_ids != tokenizer.pad_id, tf.float32), axis=1)
    limit = tf.minimum(max_predictions, _count(shape[1], mask_rate))
    wanted = tf.minimum(_count(tokens, mask_rate), limit)
    score = tf.where(_special(token_ids, tokenizer), -1.0, draws[:, 0])
    if whole_words:
        continues = _continues(token_ids, tokenizer)
        score = tf.where(_choose_words(score, continues, wanted), score, -1.0)
    positions, chosen = _choose(score, wanted, limit)
    mask_ids = tf.where(chosen, tf.gather(token_ids, positions, batch_dims=1), 0)
    kind = tf.gather(draws[:, 1], positions, batch_dims=1)
    low, high = replacements or (0, tokenizer.vocabulary_size)
    random = tf.gather(draws[:, 2], positions, batch_dims=1) * float(high - low)
    random = low + tf.cast(random, tf.int32)
    hidden = tf.where(kind < mask_token_rate + random_token_rate, random, mask_ids)
    hidden = tf.where(kind < mask_token_rate, tokenizer.mask_id, hidden)
    return {
        "token_ids": _put(hidden, chosen, positions, token_ids),
        "mask_positions": positions,
        "mask_ids": mask_ids,
        "mask_weights": tf.cast(chosen, tf.float32),
    }


def _put(values, chosen, positions, token_ids):
    """Writes the chosen values (B, P) to their positions in `token_ids` (B, L)."""
    cell = tf.where(chosen)
    row = tf.cast(cell[:, 0], tf.int32)
    index = tf.stack([row, tf.gather_nd(positions, cell)], axis=1)
    return tf.tensor_scatter_nd_update(token_ids, index, tf.gather_nd(values, cell))


def _special(token_ids, tokenizer):
    specials = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id)
    return tf.reduce_any([token_ids == id for id in specials], axis=0)


def _continues(token_ids, tokenizer):
    continues = [token.startswith("##") for token in tokenizer.vocabulary]
    return tf.gather(tf.constant(continues), token_ids)


def _count(tokens, mask_rate):
    """The number of tokens to predict in a row of `tokens` tokens, int32."""
    # Python and TensorFlow round halves to even numbers.
    count = tf.round(tf.cast(tokens, tf.float32) * mask_rate)
    return tf.maximum(1, tf.cast(count, tf.int32))


def _choose(score, wanted, limit):
    """The positions of the `wanted` (B,) highest scores of each row, float32 (B, L).

    Negative scores are never chosen. The positions are int32 (B, P), ascending, with
    zeros at the end; P is `limit`. The second result, bool (B, P), is True for chosen
    ones.
    """
    length = tf.shape(score)[1]
    best, positions = tf.math.top_k(score, limit)
    chosen = (tf.range(limit)[None] < wanted[:, None]) & (best >= 0)
    positions = tf.sort(tf.where(chosen, positions, length), axis=1)
    chosen = positions < length
    return tf.where(chosen, positions, 0), chosen


def _choose_words(score, continues, wanted):
    """Chooses whole words by the scores of their first pieces, bool (B, L) of pieces.

    The score is negative where nothing may be chosen. `continues` says whether a piece
    continues the previous word; `wanted` (B,) is an upper bound of the pieces.
    """
    rows, length = tf.unstack(tf.shape(score))
    candidate = score >= 0
    first = tf.cumsum(tf.cast(candidate, tf.int32), axis=1) == 1
    begins = candidate & (first | ~continues)
    word = tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1
    cell = tf.where(candidate, word + tf.range(rows)[:, None] * length, rows * length)
    sizes = tf.math.bincount(tf.reshape(cell, [-1]), minlength=rows * length + 1)
    sizes = tf.reshape(sizes[:-1], (rows, length))
    # Words in the order of the score of their first piece, other pieces last.
    order = tf.argsort(tf.where(begins, -score, 1.0), axis=1)
    order = tf.gather(word, order, batch_dims=1)
    rank = tf.range(length)[None] < tf.reduce_sum(tf.cast(begins, tf.int32), 1)[:, None]
    order = tf.where(rank, order, length - 1)
    sizes = tf.where(rank, tf.gather(sizes, order, batch_dims=1), length + 1)

    def excess(sizes):
        return tf.cumsum(sizes, axis=1) > wanted[:, None]

    def leave_out(sizes):
        # From the first word that does not fit, drops all words that do not fit.
        over = excess(sizes)
        missing = wanted - tf.reduce_sum(tf.where(over, 0, sizes), axis=1)
        return tf.where(over & (sizes > missing[:, None]), 0, sizes)

    (sizes,) = tf.while_loop(
        lambda sizes: tf.reduce_any(excess(sizes)),
        lambda sizes: (leave_out(sizes),),
        (sizes,),
    )
    taken = sizes > 0
    target = tf.where(taken, order + tf.range(rows)[:, None] * length, rows * length)
    chosen = tf.math.bincount(tf.reshape(target, [-1]), minlength=rows * length + 1) > 0
    return candidate & tf.gather(chosen, cell)
