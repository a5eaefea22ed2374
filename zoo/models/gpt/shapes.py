"""The shapes of the weights of a GPT."""


def weight_shapes(config):
    """Yields the path and the shape of every weight, one by one.

    Args:
        config: `GPTConfig`.

    Yields:
        (str, tuple of int).
    """
    width, inner = config.hidden_dim, config.intermediate_dim
    yield "token_embedding/embeddings", (config.vocabulary_size, width)
    yield "position_embedding/embeddings", (config.max_sequence_length, width)
    for i in range(config.num_layers):
        block = f"block_{i}"
        for name in ("query", "key", "value", "output_projection"):
            yield f"{block}/attention/{name}/kernel", (width, width)
            yield f"{block}/attention/{name}/bias", (width,)
        for name, shape in (
            ("intermediate", (width, inner)),
            ("output_projection", (inner, width)),
        ):
            yield f"{block}/{name}/kernel", shape
            yield f"{block}/{name}/bias", shape[1:]
        for name in ("attention_layer_norm", "output_layer_norm"):
            yield f"{block}/{name}/gamma", (width,)
            yield f"{block}/{name}/beta", (width,)
    if config.norm_first:
        yield "layer_norm/gamma", (width,)
        yield "layer_norm/beta", (width,)
