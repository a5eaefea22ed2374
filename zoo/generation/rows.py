"""Repeats a step over rows, until each of them has ended."""

import keras
from keras import ops


def run(body, row, results, longest, compact, beams=1):
    """Repeats a step until every row has ended, without those that have.

    `body` maps the number of the step, the number of rows that have not ended, and the
    row to the next three. `row` has "done", tensors with a row for each source, and
    "states", whose tensors may have `beams` rows for each source. The result has those
    tensors that are in `results`, for all rows. `longest` is the most steps.
    """

    # Rows that have ended are left out as soon as they are a quarter of all, and the
    # later entries of a cache that is full become old ones. Both copy the states, so
    # neither is done at every step. A step copies the later entries, as TensorFlow does
    # not write in place.
    def unfinished(number, alive, row):
        going = (number < longest) & (alive > 0)
        if not compact:
            return going
        if "seen" in row["states"]:
            going = going & ~is_full(row["states"], beams)
        return going & (4 * alive > 3 * ops.shape(row["done"])[0])

    def advance(number, alive, origin, row, results):
        number, alive, row = ops.while_loop(unfinished, body, (number, alive, row))
        results = {
            name: ops.scatter_update(result, origin[:, None], row[name])
            for name, result in results.items()
        }
        if not compact:
            return number, alive, origin, row, results
        left = ops.cast(ops.nonzero(~row["done"])[0], "int32")
        row = take_rows(row, left, beams)
        if "seen" in row["states"]:
            row["states"] = make_room(row["states"], beams)
        return number, alive, ops.take(origin, left, axis=0), row, results

    origin = ops.arange(ops.shape(row["done"])[0], dtype="int32")
    alive = ops.shape(origin)[0]
    first = (ops.zeros((), "int32"), ops.convert_to_tensor(alive, "int32"))
    loop = (*first, origin, row, results)
    if not compact:
        return advance(*loop)[-1]

    def unfinished_at_all(number, alive, *states):
        return (number < longest) & (alive > 0)

    return ops.while_loop(unfinished_at_all, advance, loop)[-1]


def is_full(states, beams):
    """Whether the caches have no room for a step of `beams` entries, bool."""
    source = states["source"]
    room = ops.shape(source["cache"][0][1][0])[2]
    return ops.max(source["used"], initial=0) + beams > room


def make_room(states, beams):
    """Makes the later entries of full caches old ones."""
    source, full = states["source"], is_full(states, beams)
    later = ops.shape(source["cache"][0][1][0])[2]
    more = ops.where(full, later, 0)

    def longer(old, new):
        return ops.concatenate([old, new[:, :, :more]], axis=2)

    cache = tuple((tuple(map(longer, old, new)), new) for old, new in source["cache"])
    unseen = ops.zeros((ops.shape(states["seen"])[0], more), "bool")
    seen = ops.concatenate([states["seen"], unseen], axis=1)
    used = ops.where(full, 0, source["used"])
    return {**states, "seen": seen, "source": {**source, "cache": cache, "used": used}}


def row_limits(limits, rows, options):
    """The most tokens of each row, int32 (B,), and of all of them."""
    most = options.max_new_tokens
    if limits is None:
        return ops.zeros((rows,), "int32") + most, most
    limits = ops.clip(limits, 1, most)
    return limits, ops.max(limits, initial=1)


def take_rows(row, index, beams):
    """The rows of some sources, `index` (N,), of tensors and of states."""
    places = ops.arange(beams, dtype="int32")[None]
    flat = ops.reshape(index[:, None] * beams + places, (-1,))
    taken = {k: take(v, index) for k, v in row.items() if k != "states"}
    taken["states"] = take_states(row["states"], flat, index)
    return taken


def take_states(states, rows, sources):
    """Rows of states; those of "source" are indexed by `sources`, None for all."""
    found = {k: take(v, rows) for k, v in states.items() if k != "source"}
    if "source" in states:
        source = states["source"]
        found["source"] = source if sources is None else take(source, sources)
    return found


def take(nest, index):
    """Rows of every tensor of a nest."""
    return keras.tree.map_structure(lambda t: ops.take(t, index, axis=0), nest)
