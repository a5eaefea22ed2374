"""The options about the memory of training."""

import click

from zoo.commands.arguments import number_option


def parse_batch(context, parameter, text):
    """A callback of click, which returns two int of `ROWSxTOKENS`, or None.

    ValueError if a value has another form.
    """
    if text is None:
        return None
    parts = text.split("x")
    if len(parts) != 2 or not all(p.isdecimal() and int(p) for p in parts):
        raise ValueError(
            "`--batch` must be ROWSxTOKENS with two positive numbers. Received: "
            f"{text!r}. An example is 32x512."
        )
    return tuple(map(int, parts))


ACCUMULATE = number_option(
    "--accumulate",
    "Compute the gradients of an update in so many parts, one after the other, to save "
    "memory. The update stays the same.",
)
REMAT = click.option(
    "--remat",
    is_flag=True,
    help="Compute the activations of each block again for the gradients, to save "
    "memory. The update stays the same, and takes about a third more time.",
)
BATCH = click.option(
    "--batch",
    metavar="ROWSxTOKENS",
    callback=parse_batch,
    help="Texts of a batch on one device, and tokens of each, such as 32x512.",
)
