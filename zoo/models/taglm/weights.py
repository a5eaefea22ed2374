"""Published TagLM weights: there are none."""


def recognise(directory):
    """Names the layout of the weights in a directory: always None."""
    return None


def read(directory, layout=None):
    """Raises ValueError: nobody published weights of a TagLM."""
    raise ValueError(
        f"No weights of a TagLM were ever published. Received: {directory}. Load the "
        "language model that it is to read, and train the tagger."
    )


def write(directory, layout, *args, **kwargs):
    """Raises ValueError: no other program reads a TagLM."""
    raise ValueError(
        f'A TagLM is written as "zoo". Received: {layout!r}, in which no program '
        "would read it."
    )
