"""The names of classes that nobody has named."""


def default_labels(count):
    """The names "LABEL_0", "LABEL_1" and so on, as in Hugging Face's files.

    Args:
        count: int, number of classes.

    Returns:
        tuple of str.
    """
    return tuple(f"LABEL_{number}" for number in range(count))
