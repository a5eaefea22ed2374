"""The widths of the layers of an AWD-LSTM, and the shapes of its weights."""


def widths(config):
    """The input and the output width of each recurrent layer, list of (int, int)."""
    inner = [config.lstm_dim] * (config.num_layers - 1)
    edges = [config.embedding_dim, *inner, config.embedding_dim]
    return list(zip(edges[:-1], edges[1:], strict=True))


def weight_shapes(config):
    """Yields the path and the shape of every weight, one by one.

    Args:
        config: `ULMFiTConfig`.

    Yields:
        (str, tuple of int).
    """
    yield "token_embedding/embeddings", (config.vocabulary_size, config.embedding_dim)
    for i, (width, units) in enumerate(widths(config)):
        gates = 4 * units if config.cell == "lstm" else 3 * units
        rows = 2 * width if config.cell == "qrnn" and not i else width
        yield f"rnn_{i}/kernel", (rows, gates)
        yield f"rnn_{i}/bias", (gates,)
        if config.cell == "lstm":
            yield f"rnn_{i}/recurrent_kernel", (units, gates)
