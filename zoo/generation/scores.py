"""From the scores of a model to those that tokens are chosen by."""

from keras import ops

LOWEST = -1e9  # the score of a token that is not chosen; finite in float32
PART = 128  # tokens whose greatest score is found first


def adjust_scores(scores, tokens, step, options, end, last):
    """Applies the limits of a generation to the scores of the next token.

    Args:
        scores: float32 (R, V), logits or log-probabilities.
        tokens: int32 (R, T), the tokens so far; places from `step` on are not read.
        step: int32 scalar, how many tokens there are.
        options: `GenerationOptions`.
        end: int, the token that ends a sequence.
        last: bool (R,), whether the token is the last one that the limits allow.

    Returns:
        float32 (R, V).
    """
    if options.repetition_penalty != 1.0:
        scores = _penalize(scores, tokens, step, options.repetition_penalty)
    if options.suppressed:
        never = {*options.suppressed}
        never = [[token in never for token in range(scores.shape[-1])]]
        scores = ops.where(ops.convert_to_tensor(never), LOWEST, scores)
    if options.min_new_tokens and end < scores.shape[-1]:
        early = step < options.min_new_tokens - 1
        scores = _forbid(scores, end, early | ops.zeros_like(last))
    every = ops.arange(scores.shape[-1], dtype="int32")[None]
    for token, here in (
        (options.first_token, ops.equal(step, 0)[None]),
        (options.last_token, last),
    ):
        if token is not None:
            here = here[:, None]
            if options.penalty == "hugging_face":  # a forced token costs nothing
                scores = ops.where(here, 0.0, scores)
            scores = ops.where(here & (every != token), LOWEST, scores)
    return ops.log_softmax(scores, axis=-1) if options.renormalize else scores


def _forbid(scores, token, here):
    """Gives a token the lowest score in some rows, bool (R,)."""
    rows = ops.arange(ops.shape(here)[0], dtype="int32")
    index = ops.stack([rows, ops.zeros_like(rows) + token], axis=-1)
    score = ops.where(here, LOWEST, scores[:, token])
    return ops.scatter_update(scores, index, score)


def top_scores(scores, count):
    """The greatest scores of each row and their tokens, as `keras.ops.top_k` does it.

    First it finds the parts of a row that can hold them, by their greatest scores. That
    is four times as fast for 32,000 tokens.

    Args:
        scores: float32 (R, V).
        count: int, N.

    Returns:
        float32 (R, N), in descending order, and int32 (R, N).
    """
    size = scores.shape[-1]
    parts = -(-size // PART)
    if parts <= count:
        found, index = ops.top_k(scores, count)
        return found, ops.cast(index, "int32")
    if size % PART:
        missing = (0, parts * PART - size)
        scores = ops.pad(scores, ((0, 0), missing), constant_values=2 * LOWEST)
    padded = ops.reshape(scores, (-1, parts, PART))
    # In ascending order, so that of equal scores the first one is found.
    chosen = ops.sort(ops.top_k(ops.max(padded, axis=-1), count)[1], axis=-1)
    chosen = ops.cast(chosen, "int32")
    own = ops.take_along_axis(padded, chosen[:, :, None], axis=1)
    found, index = ops.top_k(ops.reshape(own, (-1, count * PART)), count)
    index = ops.cast(index, "int32")
    part = ops.take_along_axis(chosen, index // PART, axis=1)
    return found, part * PART + index % PART


def _penalize(scores, tokens, step, penalty):
    """Lowers the scores of the tokens that a sequence has already.

    Source: Keskar et al. 2019 (CTRL), section 4.1; negative scores as in Hugging Face.
    """
    size = ops.shape(scores)[1]
    places = ops.arange(ops.shape(tokens)[1], dtype="int32")[None]
    # A row that has ended is filled with the end token, which need not exist.
    known = (places < step) & (tokens < size)
    # A place that is not read repeats the first token, which does not change the set.
    index = ops.where(known, tokens, ops.minimum(tokens[:, :1], size - 1))
    found = ops.take_along_axis(scores, index, axis=1)
    lowered = ops.where(found < 0, found * penalty, found / penalty)
    lowered = ops.where(known | known[:, :1], lowered, found)
    rows = ops.arange(ops.shape(tokens)[0], dtype="int32")[:, None]
    rows = ops.broadcast_to(rows, ops.shape(index))
    places = ops.stack([ops.reshape(rows, (-1,)), ops.reshape(index, (-1,))], axis=-1)
    return ops.scatter_update(scores, places, ops.reshape(lowered, (-1,)))


def keep_probable(logits, top_k=None, top_p=None):
    """Sets the logits of improbable tokens to `LOWEST`.

    Source: Fan et al. 2018 (top k); Holtzman et al. 2020 (top p). As in Hugging Face,
    the token whose probability reaches `top_p` is kept. OpenAI's GPT-2 drops it.

    Args:
        logits: float32 (R, V).
        top_k: int, how many tokens to keep, or None.
        top_p: float in (0, 1], the probability of the tokens to keep, or None.

    Returns:
        float32 (R, V).
    """
    count = logits.shape[-1]
    if top_k is not None and top_k < count:
        least = ops.top_k(logits, top_k)[0][:, -1:]
        logits = ops.where(logits < least, LOWEST, logits)
    if top_p is not None and top_p < 1:
        ordered = ops.top_k(logits, count)[0]
        probability = ops.softmax(ordered, axis=-1)
        before = ops.cumsum(probability, axis=-1) - probability
        kept = ops.where(before < top_p, ordered, float("inf"))
        least = ops.min(kept, axis=-1, keepdims=True)
        logits = ops.where(logits < least, LOWEST, logits)
    return logits
