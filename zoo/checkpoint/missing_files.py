"""Warnings about files of a model that are missing or have another name."""

import itertools

from zoo.checks.user_warnings import warn_user

# Files of a directory that a message looks at, and that it names.
MOST_PATHS, MOST_NAMES = 1000, 12


def warn_without_tokenizer(directory, names):
    """Warns that a directory lacks the files `names` of a tokenizer."""
    paths = itertools.islice(directory.rglob("*"), MOST_PATHS)
    found = sorted(str(p.relative_to(directory)) for p in paths if p.is_file())
    if len(found) > MOST_NAMES:
        found = [*found[:MOST_NAMES], "..."]
    warn_user(
        f"{directory} must hold {names} for a tokenizer. Received: "
        f"{', '.join(found)}. The model has no tokenizer; it takes the ids of tokens. "
        "Add the file, or rename it if it is there."
    )


def warn_of_added_tokens(directory, tokens):
    """Warns of tokens that were added to a tokenizer and are not found in texts."""
    if tokens:
        warn_user(
            f"The tokenizer of {directory} has the added tokens "
            f"{', '.join(map(str, tokens)):.200}. In a text, zoo reads them as plain "
            "text."
        )
