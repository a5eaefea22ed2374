"""The shapes of the weights of a BERT, without building one."""


def weight_shapes(config, heads=(), num_classes=0):
    """Yields the path and the shape of every weight, one by one.

    Args:
        config: `BERTConfig`.
        heads: names of heads.
        num_classes: int, outputs of the classifier.

    Yields:
        (str, tuple of int).
    """
    hidden, inner = config.hidden_dim, config.intermediate_dim
    yield "token_embedding/embeddings", (config.vocabulary_size, hidden)
    yield "segment_embedding/embeddings", (config.num_segments, hidden)
    yield "position_embedding/embeddings", (config.max_sequence_length, hidden)

    def norm(name):
        return (f"{name}/gamma", (hidden,)), (f"{name}/beta", (hidden,))

    def dense(name, rows, columns):
        return (f"{name}/kernel", (rows, columns)), (f"{name}/bias", (columns,))

    yield from norm("embeddings_layer_norm")
    for i in range(config.num_layers):
        for name in ("query", "key", "value", "output_projection"):
            yield from dense(f"block_{i}/attention/{name}", hidden, hidden)
        yield from norm(f"block_{i}/attention_layer_norm")
        yield from dense(f"block_{i}/intermediate", hidden, inner)
        yield from dense(f"block_{i}/output_projection", inner, hidden)
        yield from norm(f"block_{i}/output_layer_norm")
    if config.pooler:
        yield from dense("pooler", hidden, hidden)
    if "masked_lm_head" in heads:
        yield from dense("masked_lm_head/transform", hidden, hidden)
        yield from norm("masked_lm_head/layer_norm")
        yield "masked_lm_head/output_bias", (config.vocabulary_size,)
    logits = {"next_sentence": 2, "classifier": num_classes, "spans": 2}
    for name in filter(heads.__contains__, logits):
        yield from dense(name, hidden, logits[name])


def shapes(config, heads=(), num_classes=0):
    """Dict of path to shape of every weight; see `weight_shapes`."""
    return dict(weight_shapes(config, heads, num_classes))
