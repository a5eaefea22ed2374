"""The shapes of the weights of a Transformer, without building one."""


def weight_shapes(config, head=False):
    """Yields the path and the shape of every weight, one by one.

    Args:
        config: `TransformerConfig`.
        head: bool, whether the weights of the logits are included.

    Yields:
        (str, tuple of int).
    """
    hidden, inner = config.hidden_dim, config.intermediate_dim
    yield "token_embedding/embeddings", (config.vocabulary_size, hidden)
    if config.target_vocabulary_size and config.num_decoder_layers:
        yield "target_token_embedding/embeddings", (config.target_size, hidden)
    if config.target_space:
        yield "target_space_embedding/embeddings", (1, hidden)

    def norm(name):
        return (f"{name}/gamma", (hidden,)), (f"{name}/beta", (hidden,))

    def dense(name, rows, columns, bias=True):
        kernel = (f"{name}/kernel", (rows, columns))
        return (kernel, (f"{name}/bias", (columns,))) if bias else (kernel,)

    for side in config.sides:
        if config.positions == "learned":
            name = f"{side}_position_embedding/embeddings"
            yield name, (config.max_sequence_length, hidden)
        if config.embeddings_layer_norm:
            yield from norm(f"{side}_embeddings_layer_norm")
        attentions = ("attention", "cross_attention")[: 1 + (side == "decoder")]
        for i in range(getattr(config, f"num_{side}_layers")):
            block = f"{side}_block_{i}"
            for attention in attentions:
                for part in ("query", "key", "value", "output_projection"):
                    name = f"{block}/{attention}/{part}"
                    yield from dense(name, hidden, hidden, config.attention_bias)
                yield from norm(f"{block}/{attention}_layer_norm")
            yield from dense(f"{block}/intermediate", hidden, inner)
            yield from dense(f"{block}/output_projection", inner, hidden)
            yield from norm(f"{block}/output_layer_norm")
        if config.ends_in_norm:
            yield from norm(f"{side}_layer_norm")
    if head and not config.tied_output:
        yield "token_logits/kernel", (hidden, config.target_size)
    if head and config.output_bias:
        yield "token_logits/output_bias", (config.target_size,)
