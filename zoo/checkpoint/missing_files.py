"""Warnings about files of a model that are missing or have another name."""

import itertools

from zoo.checks.user_warnings import warn_user

MOST_PATHS = 1000  # of a directory, which are looked at for a message


def warn_without_tokenizer(directory, names):
    """Warns that a directory lacks the files `names` of a tokenizer."""
    warn_user(
        f"{directory} must hold {names} for a tokenizer. Received: "
        f"{', '.join(list_names(directory))}. The model has no tokenizer; it takes the "
        "ids of tokens. Add the file, or rename it if it is there."
    )


def warn_of_added_tokens(directory, tokens):
    """Warns of tokens that were added to a tokenizer and are not found in texts."""
    if tokens:
        warn_user(
            f"The tokenizer of {directory} has the added tokens "
            f"{', '.join(map(str, tokens)):.200}. In a text, zoo reads them as plain "
            "text."
        )


def list_names(directory, most=12):
    """The names of some files of a directory for a message, sorted, list of str."""
    paths = itertools.islice(directory.rglob("*"), MOST_PATHS)
    paths = [path for path in paths if path.is_file()]
    names = sorted(str(path.relative_to(directory)) for path in paths)
    return [*names[:most], "..."] if len(names) > most else names
