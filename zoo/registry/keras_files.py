"""Loads `.keras` files."""

import io
import json
import lzma
import pathlib
import zipfile
import zlib

import keras

from zoo.checkpoint import check_hdf5
from zoo.files.inflation import check_members, read_member
from zoo.tasks import Task

CONFIG_MEMBER, WEIGHTS_MEMBER = "config.json", "model.weights.h5"
KERAS_MEMBERS = (CONFIG_MEMBER, "metadata.json", WEIGHTS_MEMBER)
# The errors of `zipfile` for damaged archives.
DAMAGE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError),
)


def check_archive(path, names=(), advice="Copy the file again, or save it again."):
    """Checks a zip archive, and the sizes and checksums of all its files.

    It must have the files `names`; `advice` is the last sentence of an error.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_members(archive, path.stat().st_size)
                wrong = archive.testzip()
                if wrong:
                    raise zipfile.BadZipFile(f"the checksum of {wrong} differs")
                missing = sorted({*names} - {*archive.namelist()})
                if missing:
                    raise zipfile.BadZipFile(f"it lacks {', '.join(missing)}")
        except DAMAGE_ERRORS as error:
            raise _damaged(path, error, advice) from error


def check_contents(path):
    """Checks that a `.keras` file has JSON that is not too deep, and sound weights."""
    try:
        with zipfile.ZipFile(path) as archive:
            json.loads(read_member(archive, CONFIG_MEMBER))
            weights = io.BytesIO(read_member(archive, WEIGHTS_MEMBER))
        check_hdf5(weights, path.stat().st_size)
    except (*DAMAGE_ERRORS, RecursionError) as error:
        raise _damaged(path, error) from error


def _damaged(path, error, advice="Copy the file again, or save it again."):
    """The error for a damaged file, ValueError."""
    reason = str(error) or "it ends too early"
    return ValueError(f"{path} is damaged: {reason}. {advice}")


def load_model(path, **kwargs):
    """Loads a `.keras` file.

    Args:
        path: str or path.
        **kwargs: arguments of `keras.saving.load_model`.

    Returns:
        keras.Model. A task is always compiled, unless `compile=False`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, or is a directory.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(
            f"The path must be a `.keras` file. Received: {path}, a directory. Load a "
            "preset directory with `from_preset`."
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"No such file: {path}. For a preset directory, use `from_preset`."
        )
    if path.suffix == ".keras":
        # Keras does not check all checksums. It reports a damaged file as missing.
        check_archive(path, KERAS_MEMBERS)
        check_contents(path)
    model = keras.saving.load_model(path, **kwargs)
    if isinstance(model, Task) and not model.compiled and kwargs.get("compile", True):
        model.compile()
    return model
