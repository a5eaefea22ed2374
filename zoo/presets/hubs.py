"""Downloads presets from hubs and the web."""

import os
import pathlib
import shutil
import tempfile
import urllib.request
import zipfile

from zoo.files.buckets import cache_root
from zoo.files.inflation import check_members
from zoo.files.whole_files import filling

# The files that are fetched from a repository of Hugging Face. If there are no weights
# among them, HUB_TORCH_FILES are fetched too.
HUB_FILES = ["*.json", "*.txt", "*.spm", "*.model", "*.safetensors", "*.weights.h5"]
HUB_TORCH_FILES = ["pytorch_model*.bin"]


def download(uri, name=None, files=None, fetch=True):
    """Downloads the files of a preset; returns their directory in the cache.

    `uri` is `hf://owner/name` or `kaggle://owner/...`; with a list of `files`, also
    the https address of a zip archive, or of a directory if it ends with /. `name` is
    that of the directory in the cache. `fetch=False` uses only files that were
    downloaded before.

    FileNotFoundError if files cannot be fetched; ValueError for another kind of URI.
    """
    scheme, _, path = uri.partition("://")
    web = scheme == "https" and files
    try:
        if scheme == "hf":
            return _from_hugging_face(path, files, fetch)
        if not fetch and (web or scheme == "kaggle"):
            raise FileNotFoundError(uri)
        if scheme == "kaggle":
            import kagglehub

            return pathlib.Path(kagglehub.model_download(path))
        if web:
            return _from_web(uri, files, cache_root() / name)
    except ImportError as error:
        raise FileNotFoundError(
            f"{uri} needs the package {error.name!r}. Run `pip install {error.name}`."
        ) from error
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        what = ", ".join(files) if files else "its files (config, weights, vocabulary)"
        if not fetch:
            raise FileNotFoundError(
                f"{uri} is not on this machine. `zoo.from_preset` downloads it."
            ) from error
        place = cache_root() / name if name else "a directory, and give its path"
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(". ")
        raise FileNotFoundError(
            f"{uri} could not be fetched: {reason}. Put {what} into {place}."
        ) from error
    raise ValueError(
        f"A preset's URI begins with hf:// or kaggle://. Received: {uri!r}."
    )


def _from_hugging_face(repository, files, fetch):
    import huggingface_hub

    options = {} if fetch else {"local_files_only": True}

    def snapshot(patterns):
        return pathlib.Path(
            huggingface_hub.snapshot_download(
                repository, allow_patterns=patterns, **options
            )
        )

    directory = snapshot(files or HUB_FILES)
    # Most repositories hold the same weights in several formats. The files of torch
    # are fetched only if there are no others.
    weights = [*directory.glob("*.safetensors"), *directory.glob("*.weights.h5")]
    return directory if files or weights else snapshot(HUB_FILES + HUB_TORCH_FILES)


def _from_web(url, files, directory):
    try:
        with filling(directory) as temporary:
            _fetch(url, files, temporary)
    except OSError:
        # Another process may have been faster.
        if not all((directory / name).is_file() for name in files):
            raise
    return directory


def _fetch(url, files, directory):
    """Copies files of the web, or of an archive there, to an empty directory."""
    if url.endswith("/"):
        for name in files:
            with open(directory / name, "wb") as file:
                _copy(url + name, file)
        return
    with tempfile.TemporaryFile(dir=directory) as local:
        _copy(url, local)
        archive = zipfile.ZipFile(local)
        check_members(archive, local.seek(0, os.SEEK_END))
        members = {name.split("/")[-1]: name for name in archive.namelist()}
        if not members.keys() >= set(files):
            raise ValueError(f"the archive has only {sorted(members)}")
        for name in files:
            (directory / name).write_bytes(archive.read(members[name]))


def _copy(url, file):
    with urllib.request.urlopen(url, timeout=60) as response:
        shutil.copyfileobj(response, file)
        if getattr(response, "length", None):  # http.client ends without an error
            raise OSError("the connection ended early")
