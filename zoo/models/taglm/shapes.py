"""The shapes of the weights of a TagLM, without building one."""


def weight_shapes(config):
    """Yields the path and the shape of every weight, one by one.

    What reads a language model is wider than here, and its mixes are left out: both
    depend on the language models, which the config does not describe.

    Args:
        config: `TagLMConfig`.

    Yields:
        (str, tuple of int).
    """
    size, width = config.embedding_dim, 0
    frozen = config.num_frozen if config.vocabulary_size else 0
    rows = {"embeddings": config.vocabulary_size - frozen, "frozen_embeddings": frozen}
    for name, number in rows.items():
        if number:
            yield f"word_embedding/{name}", (number, size)
            width = size
    if config.filters:
        size = config.character_dim
        number = config.character_vocabulary_size - 1
        yield "character_encoder/embeddings", (number, size)
        for i, (columns, number) in enumerate(config.filters):
            yield f"character_encoder/convolution_{i}/kernel", (columns, size, number)
            yield f"character_encoder/convolution_{i}/bias", (number,)
            width += number
    units = config.lstm_dim
    for layer in range(1, config.num_layers + 1):
        for direction in ("forward", "backward"):
            path = f"tagger_{direction}_{layer}"
            yield f"{path}/kernel", (width, 4 * units)
            yield f"{path}/recurrent_kernel", (units, 4 * units)
            yield f"{path}/bias", (4 * units,)
        width = 2 * units
