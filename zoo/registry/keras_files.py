"""The `.keras` files of this package."""

import lzma
import pathlib
import zipfile
import zlib

import keras

from zoo.tasks import Task

KERAS_MEMBERS = ("config.json", "metadata.json", "model.weights.h5")
# What `zipfile` raises for wrong bytes, by the place where they stand.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError),
)


def check_archive(path, names=()):
    """Reads a zip archive and compares all of it with its checksums.

    Args:
        path: pathlib.Path of a file that exists.
        names: sequence of str, files that the archive must hold.

    Raises:
        ValueError: if the file is no archive, is damaged, or lacks one of the names.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                wrong = archive.testzip()
                if wrong:
                    raise zipfile.BadZipFile(f"the checksum of {wrong} differs")
                missing = sorted({*names} - {*archive.namelist()})
                if missing:
                    raise zipfile.BadZipFile(f"it lacks {', '.join(missing)}")
        except DAMAGE as error:
            reason = str(error) or "it ends too early"
            raise ValueError(
                f"{path} is damaged: {reason}. Copy the file again, or save it again."
            ) from error


def load_model(path, **kwargs):
    """Loads a `.keras` file of this package, in any process.

    Args:
        path: str or path.
        **kwargs: of `keras.saving.load_model`.

    Returns:
        keras.Model, compiled if it was.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, or is a directory.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(
            f"A `.keras` file is needed. Received: {path}, a directory. Load the "
            "directory of a preset with `from_preset`."
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"No such file: {path}. For a preset directory, use `from_preset`."
        )
    if path.suffix == ".keras":
        # Keras does not compare all checksums, and calls a damaged file missing.
        check_archive(path, KERAS_MEMBERS)
    model = keras.saving.load_model(path, **kwargs)
    if isinstance(model, Task) and not model.compiled and kwargs.get("compile", True):
        model.compile()
    return model
