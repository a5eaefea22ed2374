"""The shapes of the weights of a CoVe, without building one."""

DIRECTIONS = ("forward", "backward")


def weight_shapes(config):
    """Yields the path and the shape of every weight of the encoder, one by one.

    Args:
        config: `CoVeConfig`.

    Yields:
        (str, tuple of int).
    """
    width, gates = config.embedding_dim, 4 * config.lstm_dim
    yield "word_embedding/embeddings", (config.vocabulary_size, width)
    for i in range(config.num_layers):
        for direction in DIRECTIONS:
            name = f"{direction}_{i}"
            yield f"{name}/kernel", (width, gates)
            yield f"{name}/recurrent_kernel", (config.lstm_dim, gates)
            yield f"{name}/bias", (gates,)
        width = 2 * config.lstm_dim
