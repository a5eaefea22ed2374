"""Models and texts as users give them to the programs about vectors."""

import collections.abc
import itertools
import os
import pathlib

from zoo import registry
from zoo.backbone import Backbone
from zoo.files.lines import read_lines
from zoo.files.path_checks import check_readable
from zoo.tasks import Task


def load_model(preset, options, kinds=(Backbone, Task), task=None, **more):
    """The given model, or the model of a preset, for which alone there are options.

    `more` are options of a preset that may be given together with a model.
    """
    if not isinstance(preset, kinds):
        return registry.from_preset(preset, task, **options, **more)
    if options:
        raise ValueError(
            "Options are used only when a preset is loaded. Received: a "
            f"{type(preset).__name__} and {sorted(options)}. Give the name of a "
            "preset, or leave the options out."
        )
    return preset


def check_texts(texts):
    """Raises TypeError for a string or a table, whose values are no texts."""
    if isinstance(texts, (str, bytes)):
        received = "one string. Use `[text]`"
    elif isinstance(texts, collections.abc.Mapping) or hasattr(texts, "columns"):
        received = f"a table, {type(texts).__name__}. Give the column of its texts"
    else:
        return
    raise TypeError(
        "`texts` must be a list or an iterator of str, or a `pathlib.Path`. Received: "
        f"{received}."
    )


def paths_in(texts):
    """The paths of text files, a list; empty if the texts are strings."""
    paths = [texts] if isinstance(texts, os.PathLike) else texts
    listed = isinstance(paths, (list, tuple))
    if listed and any(isinstance(path, os.PathLike) for path in paths):
        return list(paths)
    return []


def read_strings(texts):
    """An iterator over texts, or over the lines of files of texts; see `zoo.embed`."""
    check_texts(texts)
    paths = paths_in(texts)
    for path in paths:
        check_readable(path)
        if not pathlib.Path(path).is_file():
            raise ValueError(
                f"{path} must be a regular file, since it may be read again. Received: "
                "a pipe or a device. Write its text to a file."
            )
    if paths:
        return itertools.chain.from_iterable(read_lines(path, "\n") for path in paths)
    return map(_checked, texts)


def _checked(text):
    if not isinstance(text, str):
        raise TypeError(
            f"Every text must be a string. Received: {text!r:.60} of type "
            f"{type(text).__name__}."
        )
    return text
