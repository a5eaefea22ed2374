"""Masked-language-model examples, dense and vectorised."""

import tensorflow as tf


def mask_tokens(
    token_ids,
    tokenizer,
    seed,
    mask_rate=0.15,
    max_predictions=20,
    mask_token_rate=0.8,
    random_token_rate=0.1,
):
    """Chooses tokens to predict and hides most of them.

    Of a row of n tokens, special ones included, `min(max_predictions, max(1,
    round(mask_rate n)))` are chosen without replacement, never special ones. A chosen
    token becomes [MASK], or a random token of the whole vocabulary, or stays.

    Source: Devlin et al. 2019, section 3.1, and `create_pretraining_data.py`.
    `keras_nlp.layers.MaskedLMMaskGenerator` works on ragged rows, and takes more than
    twice the time.

    Args:
        token_ids: int32 (B, L), padded with `tokenizer.pad_id`.
        tokenizer: has pad_id, cls_id, sep_id, mask_id and vocabulary_size.
        seed: int (2,), the same seed gives the same masks.
        mask_rate: float in (0, 1), share of tokens to predict.
        max_predictions: int, P.
        mask_token_rate: float, probability that a chosen token becomes [MASK].
        random_token_rate: float, probability that it becomes a random one.

    Returns:
        dict of token_ids int32 (B, L), mask_positions int32 (B, P) ascending and then
        0, mask_ids int32 (B, P), and mask_weights float32 (B, P), 1 = predicted.
    """
    special = tf.reduce_any(
        [
            token_ids == getattr(tokenizer, name)
            for name in ("pad_id", "cls_id", "sep_id")
        ],
        axis=0,
    )
    shape = tf.shape(token_ids)
    predictions = tf.minimum(max_predictions, shape[1])
    draws = tf.random.stateless_uniform((shape[0], 3, shape[1]), seed)
    score = tf.where(special, -1.0, draws[:, 0])
    best, positions = tf.math.top_k(score, predictions)
    tokens = tf.reduce_sum(tf.cast(token_ids != tokenizer.pad_id, tf.float32), axis=1)
    # Python's and TensorFlow's rounding agree: halves go to the even neighbour.
    wanted = tf.maximum(1, tf.cast(tf.round(tokens * mask_rate), tf.int32))
    chosen = (tf.range(predictions)[None] < wanted[:, None]) & (best >= 0)
    positions = tf.sort(tf.where(chosen, positions, shape[1]), axis=1)
    chosen = positions < shape[1]
    positions = tf.where(chosen, positions, 0)
    mask_ids = tf.where(chosen, tf.gather(token_ids, positions, batch_dims=1), 0)

    rows = tf.where(chosen)
    row = tf.cast(rows[:, 0], tf.int32)
    index = tf.stack([row, tf.gather_nd(positions, rows)], axis=1)
    kind = tf.gather_nd(draws[:, 1], index)
    random = tf.gather_nd(draws[:, 2], index) * float(tokenizer.vocabulary_size)
    hidden = tf.where(
        kind < mask_token_rate,
        tokenizer.mask_id,
        tf.where(
            kind < mask_token_rate + random_token_rate,
            tf.cast(random, tf.int32),
            tf.gather_nd(mask_ids, rows),
        ),
    )
    return {
        "token_ids": tf.tensor_scatter_nd_update(token_ids, index, hidden),
        "mask_positions": positions,
        "mask_ids": mask_ids,
        "mask_weights": tf.cast(chosen, tf.float32),
    }
