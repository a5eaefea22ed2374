"""Greedy search and samples over any model that has steps.

A model is given as a function `step(tokens, states)`. It takes the next token of each
row, int32 (R, 1), and a nest of tensors, and returns the logits of the token after it,
float32 (R, V), and the next states. Every tensor of the states has R rows, except for
those under the key "source", which have one row for each source: B = R / num_beams.
"""

import keras
from keras import ops

from zoo.generation.beam_search import beam_search
from zoo.generation.rows import run
from zoo.generation.scores import adjust_scores, keep_probable


def generate(step, states, start, options, end, compact=True):
    """Generates a sequence for each row, or several.

    Args:
        step: function, see the module.
        states: nest of tensors; with beams, of `num_beams` equal rows for each source;
            with samples, of `num_return` rows.
        start: int32 (R,), the token that each row reads first.
        options: `GenerationOptions`.
        end: int, the token that ends a sequence.
        compact: bool, whether rows that have ended are left out of later steps. XLA
            does not allow it, since the number of rows then depends on values.

    Returns:
        tokens int32 (B, num_return, max_new_tokens), filled with `end` after the first
        `end`; and scores float32 (B, num_return), which are log-probabilities, of a
        beam divided by the length penalty. The best sequence is the first one.
    """
    if options.num_beams > 1:
        return beam_search(step, states, start, options, end, compact)
    return sample(step, states, start, options, end, compact)


def sample(step, states, start, options, end, compact=True):
    """Takes the most probable token at every step, or draws one.

    A token is drawn with one uniform number, from the cumulated probabilities. See
    `generate` for arguments and results; the score is the log-probability of the tokens
    under the adjusted distribution.
    """
    rows, longest = ops.shape(start)[0], options.max_new_tokens
    places = ops.arange(longest, dtype="int32")
    if options.samples:
        numbers = keras.random.uniform((rows, longest), seed=options.seed)
    else:
        numbers = ops.zeros((rows, 0))

    def choose(logits, tokens, number, numbers):
        logits = adjust_scores(logits, tokens, number, options, end)
        if not options.samples:
            chosen = ops.cast(ops.argmax(logits, axis=-1), "int32")
        else:
            logits = logits / (options.temperature or 1.0)
            logits = keep_probable(logits, options.top_k, options.top_p)
            total = ops.cumsum(ops.softmax(logits, axis=-1), axis=-1)
            drawn = ops.take(numbers, number, axis=1)[:, None] * total[:, -1:]
            chosen = ops.sum(ops.cast(total <= drawn, "int32"), axis=-1)
            chosen = ops.minimum(chosen, logits.shape[-1] - 1)
        best = ops.take_along_axis(logits, chosen[:, None], axis=1)[:, 0]
        return chosen, best - ops.logsumexp(logits, axis=-1)

    def body(number, alive, row):
        logits, after = step(row["last"][:, None], row["states"])
        chosen, gained = choose(logits, row["tokens"], number, row["numbers"])
        chosen = ops.where(row["done"], end, chosen)
        here = ops.equal(places, number)[None]
        done = row["done"] | ops.equal(chosen, end)
        row = {
            **row,
            "last": chosen,
            "tokens": ops.where(here, chosen[:, None], row["tokens"]),
            "scores": row["scores"] + ops.where(row["done"], 0.0, gained),
            "done": done,
            "states": after,
        }
        return number + 1, ops.sum(ops.cast(~done, "int32")), row

    row = {
        "last": start,
        "tokens": ops.zeros((rows, longest), "int32") + end,
        "scores": ops.zeros((rows,)),
        "done": ops.zeros((rows,), "bool"),
        "numbers": numbers,
        "states": states,
    }
    results = {key: row[key] for key in ("tokens", "scores")}
    results = run(body, row, results, longest, compact)
    several = (-1, options.num_return)
    tokens = ops.reshape(results["tokens"], (*several, longest))
    scores = ops.reshape(results["scores"], several)
    if options.num_return > 1:
        order = ops.flip(ops.argsort(scores, axis=-1), axis=-1)
        tokens = ops.take_along_axis(tokens, order[:, :, None], axis=1)
        scores = ops.take_along_axis(scores, order, axis=1)
    return tokens, scores
