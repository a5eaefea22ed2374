"""Greedy search and samples over any model that has steps.

A model is given as a function `step(tokens, states)`. It takes the next token of each
row, int32 (R, 1), and a dict of tensors, and returns the logits of the token after it,
float32 (R, V), and the next states. Every tensor of the states has R rows, except for
those under the key "source", which have one row for each source: B = R / num_beams.
Their rows do not follow the hypotheses.

A model with a cache has it as "cache" of the source: for each block a pair of keys and
values of old entries, (B, H, C, K), and one of later entries, (B, H, C', K). At every
step each row of a source adds an entry, and "used" int32 (B,) later ones are in use.
The rows have "seen", bool (R, C + C'): which entries they attend to. C' may be less
than the longest sequence, except under XLA.
"""

import keras
from keras import ops

from zoo.generation.beam_search import beam_search
from zoo.generation.rows import row_limits, run
from zoo.generation.scores import LOWEST_SCORE, adjust_scores, keep_probable, top_scores


def generate(
    step,
    states,
    start,
    options,
    end,
    compact=True,
    limits=None,
    numbers=None,
    ended=None,
):
    """Generates a sequence for each row, or several.

    Args:
        step: function, see the module.
        states: nest of tensors; with beams, of `num_beams` equal rows for each source;
            with samples, of `num_return` rows.
        start: int32 (R,), the token that each row reads first.
        options: `GenerationOptions`.
        end: int, the token that ends a sequence; the size of the vocabulary if none
            does.
        compact: bool, whether rows that have ended are left out of later steps. XLA
            does not allow it, since the number of rows then depends on values. A graph
            must not know the number of rows and the length of caches: its function
            needs a signature with None.
        limits: int32, the most tokens of each source (B,), or of each row (R,) without
            beams; by default `max_new_tokens`, which is an upper bound.
        numbers: float32 (R, max_new_tokens) in [0, 1), by which samples are drawn; by
            default from `options.seed`.
        ended: function of the tokens so far, int32 (N, T), and of the number of the
            step, to bool (N,): which sequences end there, without the end token.

    Returns:
        tokens int32 (B, num_return, T), filled with `end` after the first `end`, where
        T is the greatest limit; and scores float32 (B, num_return), which are
        log-probabilities, of a beam divided by the length penalty. The best sequence is
        the first one.
    """
    options = options.resolve()
    given = step, states, start, options, end, compact, limits
    if options.searches:
        return beam_search(*given, ended)
    return sample(*given, numbers, ended)


def sample(
    step,
    states,
    start,
    options,
    end,
    compact=True,
    limits=None,
    numbers=None,
    ended=None,
):
    """Takes the most probable token at every step, or draws one.

    A token is drawn with one uniform number, from the cumulated probabilities. See
    `generate` for arguments and results; the score is the log-probability of the tokens
    under the adjusted distribution.
    """
    options = options.resolve()
    row, longest = first_row(states, start, options, end, limits, numbers)
    results = {key: row[key] for key in ("tokens", "scores")}
    body = next_token(step, options, end, ended)
    results = run(body, row, results, longest, compact)
    several = (-1, options.num_return)
    tokens = ops.reshape(results["tokens"], (*several, longest))
    scores = ops.reshape(results["scores"], several)
    if options.samples is not False:
        order = ops.flip(ops.argsort(scores, axis=-1), axis=-1)
        tokens = ops.take_along_axis(tokens, order[:, :, None], axis=1)
        scores = ops.take_along_axis(scores, order, axis=1)
    return tokens, scores


def first_row(states, start, options, end, limits=None, numbers=None):
    """The rows before the first token, dict, and the most tokens of all rows."""
    rows = ops.shape(start)[0]
    limits, longest = row_limits(limits, rows, options)
    if options.samples is False:
        numbers = ops.zeros((rows, 0))
    elif numbers is None:
        shape = (rows, options.max_new_tokens)
        numbers = keras.random.uniform(shape, seed=options.seed)
    row = {
        "last": start,
        "tokens": ops.zeros((rows, longest), "int32") + end,
        "scores": ops.zeros((rows,)),
        "done": ops.zeros((rows,), "bool"),
        "limit": limits,
        "numbers": numbers,
        "states": states,
    }
    return row, longest


def next_token(step, options, end, ended=None):
    """A function that adds a token to every row; see `rows.run` for its arguments."""
    options = options.resolve()

    def choose(logits, row, number):
        last = ops.equal(number, row["limit"] - 1)
        logits = adjust_scores(logits, row["tokens"], number, options, end, last)
        if isinstance(options.samples, bool):
            chooser = draw if options.samples else choose_best
            return chooser(logits, row, number)
        return ops.cond(
            options.samples,
            lambda: draw(logits, row, number),
            lambda: choose_best(logits, row, number),
        )

    def choose_best(logits, row, number):
        best, chosen = (found[:, 0] for found in top_scores(logits, 1))
        total = ops.sum(ops.exp(logits - best[:, None]), axis=-1)
        return chosen, -ops.log(total)

    def draw(logits, row, number):
        # At a temperature near 0, only differences from the greatest one are finite.
        logits = logits - ops.max(logits, axis=-1, keepdims=True)
        logits = ops.maximum(logits / options.temperature, LOWEST_SCORE)
        logits = keep_probable(logits, options.top_k, options.top_p)
        total = ops.cumsum(ops.softmax(logits, axis=-1), axis=-1)
        drawn = ops.take(row["numbers"], number, axis=1)[:, None] * total[:, -1:]
        chosen = ops.sum(ops.cast(total <= drawn, "int32"), axis=-1)
        chosen = ops.minimum(chosen, logits.shape[-1] - 1)
        chosen_logits = ops.take_along_axis(logits, chosen[:, None], axis=1)[:, 0]
        return chosen, chosen_logits - ops.logsumexp(logits, axis=-1)

    def body(number, alive, row):
        logits, after = step(row["last"][:, None], row["states"])
        chosen, gained = choose(logits, row, number)
        # What a row that has ended reads must be a token, and its end may be none.
        last = ops.where(row["done"], row["last"], chosen)
        chosen = ops.where(row["done"], end, chosen)
        places = ops.arange(ops.shape(row["tokens"])[1], dtype="int32")
        here = ops.equal(places, number)[None]
        tokens = ops.where(here, chosen[:, None], row["tokens"])
        done = row["done"] | ops.equal(chosen, end) | (number + 1 >= row["limit"])
        if ended is not None:
            done = done | ended(tokens, number)
        row = {
            **row,
            "last": last,
            "tokens": tokens,
            "scores": row["scores"] + ops.where(row["done"], 0.0, gained),
            "done": done,
            "states": after,
        }
        return number + 1, ops.sum(ops.cast(~done, "int32")), row

    return body
