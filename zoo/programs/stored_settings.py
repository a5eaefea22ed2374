"""The settings of a directory of results, which all of its results must have."""

import hashlib
import json
import os
import pathlib

from zoo.files import write_json
from zoo.presets import sha256

SETTINGS = "settings.json"
CHECKSUM = "sha256"  # of the files, if the preset is a directory, or None


def find_weights(directory):
    """The largest file of a preset's directory, a path, or None if it is empty."""
    files = [path for path in directory.iterdir() if path.is_file()]
    return max(files, key=lambda path: path.stat().st_size, default=None)


def keep_settings(output, preset, data, settings):
    """Stores what results depend on, or compares it with what is stored.

    As long as there is no result, other settings replace those that are stored. Older
    records have no checksum, and the path of a preset as it was given.

    Args:
        output: pathlib.Path of the directory of results, which are `.json` files.
        preset: see `zoo.from_preset`.
        data: path of the directory of the data.
        settings: dict of plain values.

    Raises:
        ValueError: if there are results with other settings.
    """
    path, name = output / SETTINGS, os.fspath(preset)
    known = {"preset": name, "data": os.path.abspath(data), **settings}
    older = json.loads(json.dumps(known))
    known = older | _describe_directory(name, output)
    results = [file for file in output.glob("*.json") if file.name != SETTINGS]
    started = path.exists() and results
    stored = json.loads(path.read_text("utf-8")) if started else known
    if stored != known and (CHECKSUM in stored or stored != older):
        raise ValueError(
            f"All results in {output} must have the settings {stored}. Received: "
            f"{known}. Give another directory."
        )
    write_json(path, known, indent=2)


def _describe_directory(preset, output):
    """The checksum of a preset that is a directory, and its absolute path, a dict.

    Its texts in Markdown do not count, nor do results in it.
    """
    if not os.path.isdir(preset):
        return {CHECKSUM: None}
    found = hashlib.sha256()
    for path in sorted(pathlib.Path(preset).rglob("*")):
        own = output.resolve() not in path.resolve().parents
        if path.is_file() and path.suffix != ".md" and own:
            name = path.relative_to(preset).as_posix()
            found.update(f"{sha256(path)} {name}\n".encode())
    return {"preset": os.path.abspath(preset), CHECKSUM: found.hexdigest()}
