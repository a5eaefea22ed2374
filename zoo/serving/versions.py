"""Version directories: the layout that TensorFlow Serving polls.

`<base>/<integer>/saved_model.pb`. The server takes the highest integer below the base
path it is given and silently ignores every other name.
"""

import os
import pathlib


def is_version_name(name):
    """Whether the server takes a directory of this name for a version."""
    return name.isascii() and name.isdecimal()


def list_versions(base_dir):
    """Integer versions below a directory.

    Returns:
        Sorted list of int.
    """
    names = [path.name for path in pathlib.Path(base_dir).iterdir() if path.is_dir()]
    return sorted(int(name) for name in names if is_version_name(name))


def check_version(base_dir, version):
    """Refuse a version that cannot be published.

    Raises:
        ValueError: it is no integer of at least 1.
        FileExistsError: it was published before.
    """
    if version is None:
        return
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(
            "`version` must be an integer of at least 1, since the server ignores "
            f"other names. Received: version={version!r}. Omit it to take the next."
        )
    if (pathlib.Path(base_dir) / str(version)).exists():
        raise FileExistsError(
            "A published version must not be overwritten. Received: "
            f"version={version}, which exists in {base_dir}. Omit `version` to take "
            "the next."
        )


def publish(staging, base_dir, version):
    """Give a finished directory its version number in one step.

    Args:
        staging: directory on the same file system as `base_dir`.
        base_dir: directory of the model.
        version: int, or None for the highest present plus one.

    Returns:
        pathlib.Path of the version.

    Raises:
        FileExistsError: somebody else published this version in the meantime.
    """
    if version is None:
        version = max(list_versions(base_dir), default=0) + 1
    check_version(base_dir, version)
    target = pathlib.Path(base_dir) / str(version)
    # The server polls the directory: a copy would be loaded half-written.
    os.rename(staging, target)
    return target


def find_version(directory):
    """The SavedModel that a path means: itself, or the newest version below it.

    Returns:
        pathlib.Path.

    Raises:
        FileNotFoundError: the path does not exist, or holds no SavedModel.
        ValueError: it holds SavedModels under names that are no integers.
    """
    directory = pathlib.Path(directory)
    if not directory.is_dir():
        raise FileNotFoundError(
            f"The path must be a directory. Received: {directory}. Give a version "
            "directory, or the directory with the integer versions."
        )
    if (directory / "saved_model.pb").is_file():
        return directory
    versions = list_versions(directory)
    if versions:
        return directory / str(versions[-1])
    misnamed = [path.parent.name for path in directory.glob("*/saved_model.pb")]
    if misnamed:
        raise ValueError(
            "A version directory must be named with an integer, or the server ignores "
            f"it. Received: {sorted(misnamed)} in {directory}. Rename one to 1."
        )
    deeper = [path.parent for path in directory.glob("*/*/saved_model.pb")]
    hint = f"Did you mean {deeper[0].parent}?" if deeper else "Export a model first."
    raise FileNotFoundError(
        "The directory must hold saved_model.pb or integer version directories. "
        f"Received: {directory}, which has neither. {hint}"
    )
