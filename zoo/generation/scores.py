"""From the scores of a model to those that tokens are chosen by."""

from keras import ops

from zoo.generation.options import change_if

LOWEST_SCORE = -1e9  # the score of a token that is not chosen; finite in float32
TOKENS_IN_PART = 128  # those whose greatest score is found first


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
    options = options.resolve()
    given, size = scores, scores.shape[-1]
    penalty, ngram_size = options.repetition_penalty, options.no_repeat_ngram_size
    scores = change_if(
        penalty != 1.0, lambda s: _penalize(s, tokens, step, penalty), scores
    )
    scores = change_if(
        ngram_size > 0, lambda s: _forbid_repeated(s, tokens, step, ngram_size), scores
    )
    never = options.suppressed
    if isinstance(never, tuple):
        active, chosen = bool(never), {*never}
        never = ops.convert_to_tensor([token in chosen for token in range(size)])
    else:
        active = ops.any(never)
    scores = change_if(
        active, lambda s: ops.where(never[None], LOWEST_SCORE, s), scores
    )
    if end < size:
        early = step < options.min_new_tokens - 1
        scores = change_if(
            options.min_new_tokens > 1,
            lambda scores: _forbid(scores, end, early | ops.zeros_like(last)),
            scores,
        )
    ids = ops.arange(size, dtype="int32")[None]
    # A forced token costs nothing in Hugging Face. It may be a suppressed one.
    forced = ops.zeros_like(given) if options.penalty == "hugging_face" else given
    for token, here in (
        (options.first_token, ops.equal(step, 0) | ops.zeros_like(last)),
        (options.last_token, last),
    ):

        def force(scores, token=token, here=here):
            only = ops.where(ids == token, forced, LOWEST_SCORE)
            return ops.where(here[:, None], only, scores)

        scores = change_if(token >= 0, force, scores)
    return change_if(options.renormalize, lambda s: ops.log_softmax(s, axis=-1), scores)


def _forbid(scores, token, here):
    """Gives a token the lowest score in some rows, bool (R,)."""
    rows = ops.arange(ops.shape(here)[0], dtype="int32")
    index = ops.stack([rows, ops.zeros_like(rows) + token], axis=-1)
    score = ops.where(here, LOWEST_SCORE, scores[:, token])
    return ops.scatter_update(scores, index, score)


def top_scores(scores, count):
    """The greatest scores of rows and their tokens, (R, N), as `keras.ops.top_k`."""
    # First it finds the parts of a row that can hold them, by their greatest scores.
    # That is four times as fast for 32,000 tokens.
    parts = -(-scores.shape[-1] // TOKENS_IN_PART)

    def search_all():
        found, index = ops.top_k(scores, count)
        return found, ops.cast(index, "int32")

    def search_parts():
        return _search_parts(scores, parts, count)

    if isinstance(count, int):
        return search_all() if parts <= count else search_parts()
    return ops.cond(parts <= count, search_all, search_parts)


def _search_parts(scores, parts, count):
    """The greatest scores, see `top_scores`, among those of the best parts."""
    size = scores.shape[-1]
    if size % TOKENS_IN_PART:
        missing = (0, parts * TOKENS_IN_PART - size)
        scores = ops.pad(scores, ((0, 0), missing), constant_values=2 * LOWEST_SCORE)
    padded = ops.reshape(scores, (-1, parts, TOKENS_IN_PART))
    # In ascending order, so that of equal scores the first one is found.
    chosen = ops.sort(ops.top_k(ops.max(padded, axis=-1), count)[1], axis=-1)
    chosen = ops.cast(chosen, "int32")
    kept = ops.take_along_axis(padded, chosen[:, :, None], axis=1)
    found, index = ops.top_k(ops.reshape(kept, (-1, count * TOKENS_IN_PART)), count)
    index = ops.cast(index, "int32")
    part = ops.take_along_axis(chosen, index // TOKENS_IN_PART, axis=1)
    return found, part * TOKENS_IN_PART + index % TOKENS_IN_PART


def _penalize(scores, tokens, step, penalty):
    """Lowers the scores of the tokens that a sequence has already."""
    # Keskar et al. 2019 (CTRL), section 4.1; negative scores as in Hugging Face.
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


def _forbid_repeated(scores, tokens, step, size):
    """Forbids tokens that would repeat `size` tokens in their order."""
    # Paulus et al. 2018, section 2.5.
    length = ops.shape(tokens)[1]
    back = ops.arange(1, size, dtype="int32")  # from a token to those before it
    places = ops.arange(length, dtype="int32")
    before = places[:, None] - back[None]
    latest = ops.take(tokens, ops.maximum(step - back, 0), axis=1)
    earlier = ops.take(tokens, ops.maximum(before, 0), axis=1)
    same = ops.all((earlier == latest[:, None]) & (before >= 0)[None], axis=-1)
    here = same & (places < step)[None] & (step >= size - 1)
    # A row that has ended is filled with the end token, which need not exist.
    count = ops.shape(scores)[1]
    here = here & (tokens < count)
    rows = ops.arange(ops.shape(tokens)[0], dtype="int32")[:, None]
    rows = ops.broadcast_to(rows, ops.shape(tokens))
    index = ops.stack([rows, ops.minimum(tokens, count - 1)], axis=-1)
    repeated = ops.scatter(index, ops.cast(here, "int32"), ops.shape(scores))
    return ops.where(repeated > 0, LOWEST_SCORE, scores)


def keep_probable(logits, top_k=None, top_p=None):
    """Sets the logits of improbable tokens to `LOWEST_SCORE`.

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

    def keep_best(logits):
        least = ops.top_k(logits, top_k)[0][:, -1:]
        return ops.where(logits < least, LOWEST_SCORE, logits)

    def keep_share(logits):
        ordered = ops.top_k(logits, count)[0]
        probability = ops.softmax(ordered, axis=-1)
        before = ops.cumsum(probability, axis=-1) - probability
        kept = ops.where(before < top_p, ordered, float("inf"))
        least = ops.min(kept, axis=-1, keepdims=True)
        return ops.where(logits < least, LOWEST_SCORE, logits)

    if top_k is not None:
        logits = change_if(top_k < count, keep_best, logits)
    return logits if top_p is None else change_if(top_p < 1, keep_share, logits)
