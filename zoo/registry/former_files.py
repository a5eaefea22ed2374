"""Reads `.keras` files whose layers had other class names."""

import contextlib
import pathlib
import re
import tempfile
import zipfile

from zoo.checkpoint import has_group, rename_groups

WEIGHTS = "model.weights.h5"
# Keras names the groups of a weights file after the classes of the layers.
FORMER_GROUPS = {"as_in_use": "inference_model"}
PARTS = re.compile(rb'"parts"\s*:')


@contextlib.contextmanager
def with_present_names(path):
    """A `.keras` file with the present names of its groups.

    Args:
        path: pathlib.Path of a `.keras` file, which does not change.

    Yields:
        pathlib.Path, the same or that of a temporary copy.
    """
    with zipfile.ZipFile(path) as archive:
        # Only models with parts have such layers. Without the colon, "parts" is a word
        # of a vocabulary. Searching in the weights of a file in a zip archive is slow.
        former = PARTS.search(archive.read("config.json"))
        if former:
            with archive.open(WEIGHTS) as file:
                former = has_group(file, FORMER_GROUPS)
        if not former:
            yield path
            return
        with tempfile.TemporaryDirectory() as directory:
            weights = pathlib.Path(archive.extract(WEIGHTS, directory))
            rename_groups(weights, FORMER_GROUPS)
            copy = pathlib.Path(directory) / "model.keras"
            with zipfile.ZipFile(copy, "w") as renamed:
                for name in archive.namelist():
                    if name != WEIGHTS:
                        renamed.writestr(name, archive.read(name))
                renamed.write(weights, WEIGHTS)
            yield copy
