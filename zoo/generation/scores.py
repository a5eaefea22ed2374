"""From the scores of a model to those that tokens are chosen by."""

from keras import ops

LOWEST = -1e9  # the score of a token that is not chosen; finite in float32


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
    every = ops.arange(scores.shape[-1], dtype="int32")
    if options.repetition_penalty != 1.0:
        scores = _penalize(scores, tokens, step, options.repetition_penalty)
    forbidden = ops.zeros(every.shape, "bool")
    for token in options.suppressed:
        forbidden = forbidden | (every == token)
    if options.min_new_tokens:
        early = step < options.min_new_tokens - 1
        forbidden = forbidden | (early & (every == end))
    forbidden = forbidden[None]
    for token, here in (
        (options.first_token, ops.equal(step, 0)[None]),
        (options.last_token, last),
    ):
        if token is not None:
            here = here[:, None]
            forbidden = ops.where(here, every[None] != token, forbidden)
            if options.penalty == "hugging_face":  # a forced token costs nothing
                scores = ops.where(here, 0.0, scores)
    scores = ops.where(forbidden, LOWEST, scores)
    return ops.log_softmax(scores, axis=-1) if options.renormalize else scores


def _penalize(scores, tokens, step, penalty):
    """Lowers the scores of the tokens that a sequence has already.

    Source: Keskar et al. 2019 (CTRL), section 4.1; negative scores as in Hugging Face.
    """
    known = ops.arange(ops.shape(tokens)[1], dtype="int32")[None] < step
    # A place that is not read repeats the first token, which does not change the set.
    index = ops.where(known, tokens, tokens[:, :1])
    found = ops.take_along_axis(scores, index, axis=1)
    lowered = ops.where(found < 0, found * penalty, found / penalty)
    lowered = ops.where(known | ops.greater(step, 0), lowered, found)
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
