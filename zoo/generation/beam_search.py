"""Beam search, as tensor2tensor, fairseq or Hugging Face do it."""

from keras import ops

from zoo.generation.rows import row_limits, run, take_states
from zoo.generation.scores import LOWEST_SCORE, adjust_scores, top_scores

IMPOSSIBLE_SCORE = -1e30  # lower than the score of any sequence


def length_penalty(length, options):
    """What the log-probability of a sequence of `length` tokens is divided by, float32.

    It is `((5 + L) / 6)^alpha` for "gnmt" (Wu et al. 2016, equation 14), else
    `L^alpha`.
    """
    length = ops.cast(length, "float32")
    if options.penalty == "gnmt":
        length = (5.0 + length) / 6.0
    return ops.power(length, options.length_penalty)


def beam_search(
    step, states, start, options, end, compact=True, limits=None, ended=None
):
    """Searches the sequences with the best scores.

    Each step extends K hypotheses by every token and keeps the 2 K best of all. Among
    them, those without the end go on, the K best. Those with the end are finished, and
    the K finished ones with the best scores are kept. The programs differ:

    - "gnmt", as tensor2tensor: all 2 K may finish. A row ends if its best hypothesis
      would not be better than the worst of K finished ones even at the greatest length;
      than the best one, if only one is returned. What has not ended is returned if
      nothing has, with its log-probability as the score.
    - "fairseq": the K best may finish. A row ends as soon as K have finished.
    - "hugging_face": the K best may finish. A row ends if its best hypothesis would not
      be better than the worst of K finished ones if it ended now. At the greatest
      length, every hypothesis counts as finished.
    - "ctranslate2": as "hugging_face", but a row ends when K have finished, one of
      which was the best of its step.

    Source: the released code of the four programs.

    See `zoo.generation.generate` for arguments and results.
    """
    options = options.resolve()
    beams = options.num_beams
    rows = ops.shape(start)[0] // beams
    limits, longest = row_limits(limits, rows, options)
    shape = (rows, beams)
    first = ops.equal(ops.arange(beams), 0)[None]
    row = {
        "last": ops.reshape(start, shape),
        "alive": ops.where(first, 0.0, LOWEST_SCORE) + ops.zeros(shape),
        "alive_tokens": ops.zeros((*shape, longest), "int32") + end,
        "scores": ops.zeros(shape) + IMPOSSIBLE_SCORE,
        "tokens": ops.zeros((*shape, longest), "int32") + end,
        "led": ops.zeros((rows,), "bool"),  # a best hypothesis has finished
        "done": ops.zeros((rows,), "bool"),
        "limit": limits,
        "states": states,
    }
    results = {k: row[k] for k in ("tokens", "scores", "alive_tokens", "alive")}
    body = _extend(step, options, end, ended)
    results = run(body, row, results, longest, compact, beams)
    # A row without a finished sequence returns what it has.
    none = ops.all(results["scores"] <= IMPOSSIBLE_SCORE, axis=-1, keepdims=True)
    scores = ops.where(none, results["alive"], results["scores"])
    tokens = ops.where(none[..., None], results["alive_tokens"], results["tokens"])
    return tokens[:, : options.num_return], scores[:, : options.num_return]


def _extend(step, options, end, ends=None):
    """A function that adds a token to every row; see `rows.run` for its arguments."""
    beams = options.num_beams

    def candidates(row, number):
        """Log-probabilities, parents and tokens (B, 2 K), and the next states."""
        count, longest = ops.shape(row["done"])[0], ops.shape(row["tokens"])[-1]
        logits, after = step(ops.reshape(row["last"], (-1, 1)), row["states"])
        history = ops.reshape(row["alive_tokens"], (count * beams, longest))
        last = ops.repeat(ops.equal(number, row["limit"] - 1), beams)
        added = ops.log_softmax(logits, axis=-1)
        added = adjust_scores(added, history, number, options, end, last)
        several = _smaller(2 * beams, added.shape[-1])
        added, token = top_scores(added, several)
        total = ops.reshape(added, (count, beams, -1)) + row["alive"][..., None]
        total, index = ops.top_k(ops.reshape(total, (count, -1)), 2 * beams)
        index = ops.cast(index, "int32")
        token = ops.take_along_axis(ops.reshape(token, (count, -1)), index, axis=1)
        return total, index // several, token, after

    def body(number, alive, row):
        total, parent, token, after = candidates(row, number)
        tokens = ops.take_along_axis(row["alive_tokens"], parent[..., None], axis=1)
        places = ops.arange(ops.shape(tokens)[-1], dtype="int32")
        here = ops.equal(places, number)[None, None]
        tokens = ops.where(here, token[..., None], tokens)
        ended = ops.equal(token, end)
        if ends is not None:
            flat = ops.reshape(tokens, (-1, ops.shape(tokens)[-1]))
            ended = ended | ops.reshape(ends(flat, number), ops.shape(ended))
        finished = _finish(row, total, tokens, ended, number, options)
        kept, chosen = ops.top_k(ops.where(ended, IMPOSSIBLE_SCORE, total), beams)
        chosen = ops.cast(chosen, "int32")
        parent = ops.take_along_axis(parent, chosen, axis=1)
        count = ops.shape(row["done"])[0]
        flat = ops.arange(count, dtype="int32")[:, None] * beams + parent
        kept = ops.where(row["done"][:, None], row["alive"], kept)
        written = ops.take_along_axis(tokens, chosen[..., None], axis=1)
        written = ops.where(row["done"][:, None, None], row["alive_tokens"], written)
        row = {
            **row,
            **finished,
            "last": ops.take_along_axis(token, chosen, axis=1),
            "alive": kept,
            "led": row["led"] | ended[:, 0],
            "alive_tokens": written,
            "states": take_states(after, ops.reshape(flat, (-1,)), None),
        }
        row["done"] = row["done"] | _is_done(row, number + 1, options)
        return number + 1, ops.sum(ops.cast(~row["done"], "int32")), row

    return body


def _smaller(count, limit):
    """The smaller one of an int or int32 scalar and an int."""
    return min(count, limit) if isinstance(count, int) else ops.minimum(count, limit)


def _finish(row, total, tokens, ended, number, options):
    """The K best of finished sequences and of 2 K candidates, the best first."""
    beams, rule = options.num_beams, options.penalty
    best = ops.arange(2 * beams, dtype="int32")[None] < beams
    if rule in ("hugging_face", "ctranslate2"):
        ended = ended | ops.equal(number, row["limit"] - 1)[:, None]
    else:  # a forbidden token ends nothing
        ended = ended & (total > LOWEST_SCORE / 2)
    if rule != "gnmt":
        ended = ended & best
    score = total / length_penalty(number + 1, options)
    score = ops.where(ended & ~row["done"][:, None], score, IMPOSSIBLE_SCORE)
    scores = ops.concatenate([row["scores"], score], axis=1)
    order = scores
    if rule == "fairseq":  # what has finished is not replaced
        old = row["scores"] > IMPOSSIBLE_SCORE
        order = ops.concatenate([ops.where(old, 1e9, IMPOSSIBLE_SCORE), score], axis=1)
    index = ops.cast(ops.top_k(order, beams)[1], "int32")
    scores = ops.take_along_axis(scores, index, axis=1)
    candidates = ops.concatenate([row["tokens"], tokens], axis=1)
    if rule == "fairseq":
        scores, again = ops.top_k(scores, beams)
        index = ops.take_along_axis(index, ops.cast(again, "int32"), axis=1)
    tokens = ops.take_along_axis(candidates, index[..., None], axis=1)
    return {"scores": scores, "tokens": tokens}


def _is_done(row, length, options):
    """Whether a row needs no further step, bool (B,), after `length` tokens."""
    worst = ops.min(row["scores"], axis=-1)
    at_limit = length >= row["limit"]
    if options.penalty == "fairseq":
        return (worst > IMPOSSIBLE_SCORE) | at_limit
    if options.penalty == "ctranslate2":
        return ((worst > IMPOSSIBLE_SCORE) & row["led"]) | at_limit
    if options.penalty == "gnmt":
        best = ops.max(row["scores"], axis=-1)
        worst = ops.where(options.num_return == 1, best, worst)
        length = row["limit"]
    best = row["alive"][:, 0] / length_penalty(length, options)
    return ((worst > IMPOSSIBLE_SCORE) & (best <= worst)) | at_limit
