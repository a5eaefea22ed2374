"""Version directories: the layout `<base>/<integer>/saved_model.pb` of the server.

The server takes every entry of the base directory whose name is an integer for a
version, and ignores all other names without a message. By default it serves the highest
version.

Source: tensorflow_serving/sources/storage_path/file_system_storage_path_source.cc.
"""

import errno
import itertools
import os
import pathlib
import re

from zoo.checks.ranges import plain_value
from zoo.files.buckets import local_path, send

LARGEST_VERSION = 2**63 - 1

# An integer as `absl::SimpleAtoi` reads it: white space around it is ignored.
_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*")

# Error numbers of a rename to a name that is in use.
_IN_USE = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def parse_version(name):
    """The version number of a directory entry, int, or None if the server ignores it.

    Leading zeros, a sign and white space around the digits are allowed. Digits other
    than 0 to 9 and numbers that do not fit into 64 bits are not.
    """
    match = _INTEGER.fullmatch(name)
    number = int(match[1]) if match else None
    if number is None or not -LARGEST_VERSION - 1 <= number <= LARGEST_VERSION:
        return None
    return number


def find_versions(base_dir):
    """All versions of a model that the server sees: path by number, sorted.

    The server does not check that an entry is a directory, and neither does this
    function. If several names have the same number, such as `7` and `007`, the server
    uses the last one in the order of bytes. `base_dir` may be missing.
    """
    base_dir = local_path(base_dir)
    if not base_dir.is_dir():
        return {}
    names = sorted(path.name for path in base_dir.iterdir())
    numbers = {parse_version(name): base_dir / name for name in names}
    numbers.pop(None, None)
    return dict(sorted(numbers.items()))


def check_version(base_dir, version):
    """The number of a version, or for None the next one, int.

    ValueError if the server does not accept it; FileExistsError if it exists.
    """
    if version is None:
        highest = max(find_versions(base_dir), default=0)
        if highest == LARGEST_VERSION:
            raise ValueError(
                f"The highest version must be below {LARGEST_VERSION}, so that there "
                f"is a next one. Received: version {highest} in {base_dir}. Rename "
                "that version, or give a `version`."
            )
        return max(highest, 0) + 1
    version = plain_value(version)
    if type(version) is not int or not 1 <= version <= LARGEST_VERSION:
        raise ValueError(
            f"`version` must be an integer from 1 to {LARGEST_VERSION}, because the "
            f"server ignores other names. Received: version={version!r}. Omit "
            "`version` to use the next number."
        )
    if version in find_versions(base_dir):
        raise FileExistsError(
            "A published version must not be overwritten. Received: "
            f"version={version}, which exists in {base_dir}. Omit `version` to use "
            "the next number."
        )
    return version


def publish(staging, base_dir, version):
    """Renames a complete directory to its version number; returns the new path.

    If another process publishes a number first, this function uses the next one, unless
    `version` is given. `staging` must be on the file system of `base_dir`. Errors are
    those of `check_version`.
    """
    while True:
        target = pathlib.Path(base_dir) / str(check_version(base_dir, version))
        try:
            # The server polls the directory. It would load an incomplete copy.
            send(staging, target)
            os.rename(staging, target)
        except OSError as error:
            if error.errno not in _IN_USE:
                raise
        else:
            return target


def holds_export(path):
    """Whether a path is a directory with a SavedModel, or with versions of one.

    It may also have misnamed versions, or several models, for which `find_version` has
    a message. Then it must have no JSON, which a preset has.
    """
    path = local_path(path)
    found = [path, *find_versions(path).values()]
    if any((version / "saved_model.pb").is_file() for version in found):
        return True
    deeper = itertools.chain(
        *map(path.glob, ("*/saved_model.pb", "*/*/saved_model.pb"))
    )
    return any(deeper) and not any(path.glob("*.json"))


def find_version(directory):
    """The path of a version: `directory` itself, or the newest version in it.

    FileNotFoundError if there is no SavedModel; ValueError if the server ignores the
    names of all versions, or the newest version is a file.
    """
    directory = local_path(directory)
    if not directory.is_dir():
        raise FileNotFoundError(
            f"The path must be a directory. Received: {directory}. Give a version "
            "directory, or the directory with the integer versions."
        )
    if (directory / "saved_model.pb").is_file():
        return directory
    versions = find_versions(directory)
    if versions:
        newest = versions[max(versions)]
        if newest.is_dir():
            return newest
        raise ValueError(
            "The newest version must be a directory. The server also takes a file "
            f"whose name is an integer for a version. Received: {newest}, which is not "
            "a directory. Remove or rename it."
        )
    misnamed = [path.parent.name for path in directory.glob("*/saved_model.pb")]
    if misnamed:
        raise ValueError(
            "A version directory must be named with an integer of at most 64 bits, "
            f"because the server ignores other names. Received: {sorted(misnamed)} in "
            f"{directory}. Rename one of them to 1."
        )
    deeper = [path.parent for path in directory.glob("*/*/saved_model.pb")]
    hint = f"Did you mean {deeper[0].parent}?" if deeper else "Export a model first."
    raise FileNotFoundError(
        "The directory must hold saved_model.pb or integer version directories. "
        f"Received: {directory}, which has neither. {hint}"
    )
