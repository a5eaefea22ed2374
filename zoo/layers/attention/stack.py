"""Stacks of blocks of the Transformer."""

from keras import ops

from zoo.layers.attention.caching import empty_cache, entry_index, visible_entries
from zoo.layers.attention.transformer import WithScores


def make_blocks(kind, config, names, **options):
    """Makes a block for each name, with the sizes and dropouts of a config."""
    return [
        kind(
            config.num_heads,
            config.intermediate_dim,
            config.activation,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            layer_norm_epsilon=config.layer_norm_epsilon,
            name=name,
            **options,
        )
        for name in names
    ]


def block_groups(names):
    """The groups of `Backbone.groups`: the embeddings, and each block."""
    embeddings, *groups = [[]]
    for name in names:
        if "block_" in name:
            groups.append([name])
        elif groups and "embedding" not in name:
            groups[-1].append(name)  # the norm after the last block
        else:
            embeddings.append(name)
    return tuple(map(tuple, (embeddings, *groups)))


def find_blocks(layers, prefix="block_"):
    """The layers whose names begin with a prefix, a list in their order."""
    return [layer for name, layer in layers.items() if name.startswith(prefix)]


def run_blocks(blocks, x, scores=False, **given):
    """X and the output of each block, and with `scores` weights by attention."""
    hidden, weights = [x], []
    for block in blocks:
        if scores:
            x, *found = WithScores(block)(x, **given)
            weights.append(found)
        else:
            x = block(x, **given)
        hidden.append(x)
    return hidden, [ops.stack(kind, axis=1) for kind in zip(*weights, strict=True)]


def new_states(config, count, rows, sources, entries, dtype):
    """The states of `count` blocks before the first token, see `step_blocks`."""
    shape = entries, config.hidden_dim // config.num_heads, dtype
    caches = (empty_cache(sources, config.num_heads, *shape) for _ in range(count))
    return {
        "position": ops.zeros((rows,), "int32"),
        "seen": ops.zeros((rows, entries), "bool"),
        "source": {"cache": tuple(caches), "used": ops.zeros((sources,), "int32")},
    }


def step_blocks(blocks, x, states, beams=1, fused=None):
    """Reads the next tokens (R, T, D) of rows with keys and values from a cache.

    The tokens of all rows of a source are new entries of its cache, so only `seen` is
    moved if hypotheses change their places. `states` has seen, bool (R, C), and source,
    a dict of cache and used, and for blocks with `cross` of memory and mask. `fused`
    has what `MultiHeadAttention.fuse` returned for each block, or None.

    Returns (B, beams * T, D); the entries that each token attends to, bool (R, T, C);
    and the dict `source` after the tokens.
    """
    source, count = states["source"], ops.shape(x)[1]
    mask = visible_entries(
        states["seen"], source["cache"][0], source["used"], count, beams
    )
    x = ops.reshape(x, (-1, beams * count, x.shape[-1]))
    attended = ops.reshape(mask, (-1, beams * count, ops.shape(mask)[-1]))
    index = entry_index(source["used"], blocks[0].attention.num_heads, beams * count)
    absent, caches = [None] * len(blocks), []
    memories, kernels = source.get("memory", absent), fused or absent
    for block, cache, memory, kernel in zip(
        blocks, source["cache"], memories, kernels, strict=True
    ):
        x, cache = block.step(
            x, cache, index, attended, memory, source.get("mask"), kernel
        )
        caches.append(cache)
    used = source["used"] + beams * count
    return x, mask, {**source, "cache": tuple(caches), "used": used}
