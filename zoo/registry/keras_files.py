"""Loads `.keras` files."""

import contextlib
import io
import json
import lzma
import zipfile
import zlib

import keras

from zoo.checkpoint import check_hdf5
from zoo.files.buckets import local_path
from zoo.files.inflation import check_members, read_member
from zoo.tasks import Task

KERAS_SUFFIX = ".keras"
CONFIG_MEMBER, WEIGHTS_MEMBER = "config.json", "model.weights.h5"
KERAS_MEMBERS = (CONFIG_MEMBER, "metadata.json", WEIGHTS_MEMBER)
ADVICE = "Copy the file again, or save it again."
# The errors of `zipfile` for damaged archives, and of JSON that is nested too deeply.
DAMAGE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError),
)


@contextlib.contextmanager
def _reading(path, advice=ADVICE):
    """Replaces the errors of a damaged file by one ValueError that names it."""
    try:
        yield
    except DAMAGE_ERRORS as error:
        reason = str(error) or "it ends too early"
        raise ValueError(f"{path} is damaged: {reason}. {advice}") from error


def check_archive(path, names=(), advice=ADVICE):
    """Checks a zip archive, and the sizes and checksums of all its files.

    It must have the files `names`; `advice` is the last sentence of an error.
    """
    with open(path, "rb") as file, _reading(path, advice):
        with zipfile.ZipFile(file) as archive:
            check_members(archive, path.stat().st_size)
            wrong = archive.testzip()
            if wrong:
                raise zipfile.BadZipFile(f"the checksum of {wrong} differs")
            missing = sorted({*names} - {*archive.namelist()})
            if missing:
                raise zipfile.BadZipFile(f"it lacks {', '.join(missing)}")


def saved_class(path):
    """The class of the model in a `.keras` file, without its weights.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged.
    """
    path = local_path(path)
    check_archive(path, KERAS_MEMBERS)
    with _reading(path), zipfile.ZipFile(path) as archive:
        config = json.loads(read_member(archive, CONFIG_MEMBER))
        name = config.get("registered_name") if isinstance(config, dict) else None
    return keras.saving.get_registered_object(name)


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
    path = local_path(path)
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
        with _reading(path):
            with zipfile.ZipFile(path) as archive:
                json.loads(read_member(archive, CONFIG_MEMBER))  # not nested too deeply
                weights = io.BytesIO(read_member(archive, WEIGHTS_MEMBER))
            check_hdf5(weights, path.stat().st_size)
    model = keras.saving.load_model(path, **kwargs)
    if isinstance(model, Task) and not model.compiled and kwargs.get("compile", True):
        model.compile()
    return model
