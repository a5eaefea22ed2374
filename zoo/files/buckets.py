"""Paths of buckets and other stores, such as `s3://bucket/texts.tsv`.

A file or directory of a store has a copy on this machine, in `$ZOO_HOME/buckets`. It is
brought up to date whenever its address is used. What `replacing` writes to the copy is
sent to the store. fsspec speaks with the stores; it needs a package for some, such as
s3fs for `s3://` and gcsfs for `gs://`.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import uuid

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# Of a file's information, what changes with its content, in the words of the stores.
VERSION_FIELDS = ("ETag", "etag", "md5Hash", "generation", "content_hash", "checksum")
VERSION_FIELDS += ("LastModified", "updated", "mtime", "last_modified", "created")
TEMPORARY = re.compile(r"\.([0-9a-f]{32}|tmp-)")  # names of what is not complete
PRIVATE_ENDINGS = (".part", ".part.json")  # unfinished results of this machine
# A reader takes a directory for complete once these are there: they are sent last.
LAST_FILES = ("preset.json", "saved_model.pb")


def cache_root():
    """The directory of what was downloaded: `$ZOO_HOME`, or ~/.cache/zoo."""
    return pathlib.Path(os.environ.get("ZOO_HOME", "~/.cache/zoo")).expanduser()


def is_address(path):
    """Whether a path is the address of a file or directory in a store."""
    return isinstance(path, str) and ADDRESS.match(path) is not None


def local_path(path, directory=True):
    """The path on this machine of a path or an address.

    The copy of an address is brought up to date first: new and changed files are
    downloaded, and files that the store lacks are removed. Nothing is there if the
    store has nothing at the address.

    Args:
        path: str or `os.PathLike`, such as "texts.tsv" or "s3://bucket/texts.tsv".
        directory: bool, whether the files of a directory are downloaded; else the copy
            of one is an empty directory.

    Returns:
        pathlib.Path.

    Raises:
        ImportError: if the store needs a package that is not installed.
        OSError: if the store cannot be read.
        ValueError: if the store is unknown, or the address has `..`.
    """
    if not is_address(path):
        return pathlib.Path(path)
    scheme, rest = ADDRESS.match(path).groups()
    if scheme in ("file", "local"):
        return pathlib.Path("/", rest) if rest.startswith("/") else pathlib.Path(rest)
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise ValueError(
            f"An address must name a bucket, without `..`. Received: {path!r}. An "
            "example is s3://bucket/texts.tsv."
        )
    copy = _copies().joinpath(scheme, *parts)
    with StoreErrors(path, "read"):
        _download(path, copy, directory)
    return copy


def address_of(path):
    """The address whose copy on this machine a path is, str, or None.

    A temporary file or directory, and what it has, is the copy of none.
    """
    with contextlib.suppress(ValueError):
        parts = pathlib.Path(path).resolve().relative_to(_copies()).parts
        if len(parts) > 1 and not _temporary(parts):
            return f"{parts[0]}://{'/'.join(parts[1:])}"
    return None


def with_addresses(text):
    """A text for users, with addresses in the place of the paths of their copies."""
    if "/buckets/" not in text:  # most lines of an output
        return text
    copies = re.escape(str(_copies()))
    return re.sub(rf"{copies}/([a-z][a-z0-9+.-]*)/", r"\1://", text)


def send(source, target):
    """Sends a file or directory to the store whose copy `target` is, if it is one.

    A file is replaced at once. A directory is sent file by file, and files that it has
    no longer are removed. If that fails, the files that were sent are removed again.

    Args:
        source: pathlib.Path of what is sent.
        target: pathlib.Path of the copy, which `source` replaces afterwards.

    Raises:
        OSError: if the store cannot be written.
    """
    address = address_of(target)
    if address is None:
        return
    files = sorted(_files_below(source), key=lambda f: (f.name in LAST_FILES, f))
    below = {file: file.relative_to(source).parts for file in files}
    with StoreErrors(address, "written"), contextlib.ExitStack() as removal:
        store, name = open_store(address)
        for file in files:
            sent = "/".join((name, *below[file]))
            if source.is_dir():
                removal.callback(_remove_from, store, sent)
            store.put_file(str(file), sent)
            _note_version(target.joinpath(*below[file]), store.info(sent))
        removal.pop_all()
        if source.is_dir():
            former = _find(store, name)
            for parts in former.keys() - set(below.values()):
                store.rm_file(former[parts]["name"])


def remove(path):
    """Removes a file or directory, and also from the store whose copy it is."""
    address = address_of(path)
    if address is not None:
        with StoreErrors(address, "removed"):
            store, name = open_store(address)
            for info in _find(store, name).values():
                store.rm_file(info["name"])
    remove_local(path)


def place_of(path):
    """The address whose copy a path is, or the path, as str, for another machine."""
    return address_of(path) or str(path)


def check_store(path):
    """OSError unless files can be written at an address, or below it."""
    address = f"{path.rstrip('/')}.{uuid.uuid4().hex}"
    with StoreErrors(path, "written"):
        store, name = open_store(address)
        store.pipe_file(name, b"")
        store.rm_file(name)


def open_store(address):
    """The file system of fsspec for an address, and the name of the file there."""
    import fsspec

    store, name = fsspec.url_to_fs(address)
    store.invalidate_cache()
    return store, name


class StoreErrors(contextlib.AbstractContextManager):
    """Replaces the errors of the clients of stores by one that names the address.

    Args:
        address: str.
        done: str, what cannot be done, such as "read".
    """

    def __init__(self, address, done):
        self.address, self.done = address, done

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception):
            return
        reason = (str(error) or kind.__name__).splitlines()[0].rstrip(". ")
        received = f"Received: {self.address}."
        if isinstance(error, ImportError):
            rule = "The store of an address needs a package that is not installed."
            raise ImportError(f"{rule} {received} {reason}.") from error
        if "Protocol not known" in reason:
            rule = "An address must begin with a scheme that fsspec knows, such as "
            raise ValueError(f"{rule}s3://, gs:// or hdfs://. {received}") from error
        kind = PermissionError if isinstance(error, PermissionError) else OSError
        raise kind(
            f"{self.address} cannot be {self.done}. Received: {reason}. Check the "
            "name, the network, and the credentials and permissions of the store."
        ) from error


def _copies():
    return cache_root().resolve() / "buckets"


def _download(address, copy, directory):
    """Makes a copy equal to what a store has at an address."""
    store, name = open_store(address)
    if not directory and store.isdir(name):
        copy.mkdir(parents=True, exist_ok=True)
        return
    found = _find(store, name)
    files = {copy.joinpath(*parts): info for parts, info in found.items()}
    changed = [file for file, info in files.items() if not _current(file, info)]
    for file in _files_below(copy):
        if file not in files and not _private(file.relative_to(copy)):
            file.unlink(missing_ok=True)
    if copy.is_file() == (copy not in files) and files:
        remove_local(copy)  # a file has become a directory, or the other way round
    temporary = [file.with_name(f".{uuid.uuid4().hex}.part") for file in changed]
    try:
        for file in changed:
            file.parent.mkdir(parents=True, exist_ok=True)
        store.get([files[file]["name"] for file in changed], list(map(str, temporary)))
        for new, file in zip(temporary, changed, strict=True):
            os.replace(new, file)
            _note_version(file, files[file])
    finally:
        for file in temporary:
            file.unlink(missing_ok=True)
    for path in sorted(copy.rglob("*"), reverse=True):
        unused = path.is_dir() and not any(path.iterdir())
        if unused and not _temporary(path.relative_to(copy).parts):
            path.rmdir()


def _find(store, name):
    """The files of a store at a name: a dict of parts below the name to information."""
    try:
        info = store.info(name)
    except FileNotFoundError:
        return {}
    if info["type"] == "file":
        return {(): info}
    found = {}
    for key, info in store.find(name, detail=True).items():
        below = key.strip("/").removeprefix(name.strip("/")).strip("/")
        parts = tuple(part for part in below.split("/") if part not in ("", "."))
        if ".." in parts:
            raise ValueError(f"a name with `..` in the store, {key!r}")
        if parts and not key.endswith("/"):  # objects that stand for a directory
            found[parts] = info
    return found


def _files_below(copy):
    """The files of a copy: itself, or those of a directory."""
    if copy.is_file():
        return [copy]
    return [path for path in copy.rglob("*") if path.is_file()]


def _private(path):
    """Whether a file is temporary or unfinished, and of this machine alone."""
    return _temporary(path.parts) or path.name.endswith(PRIVATE_ENDINGS)


def _temporary(parts):
    """Whether the parts of a path have the name of what is not complete."""
    return any(map(TEMPORARY.match, parts))


def _version(info):
    """What the store says of the content of a file, str."""
    fields = {key: info[key] for key in VERSION_FIELDS if info.get(key)}
    for key, value in fields.items():  # some stores have times of two types
        seconds = value.timestamp() if isinstance(value, datetime.datetime) else value
        fields[key] = str(seconds)
    return json.dumps([info.get("size"), fields], sort_keys=True) if fields else ""


def _version_file(file):
    below = file.relative_to(_copies())
    return _copies().with_name("bucket_versions") / below / "version.json"


def _current(file, info):
    """Whether the copy of a file has the content that the store has."""
    note, version = _version_file(file), _version(info)
    same = version and note.is_file() and note.read_text("utf-8") == version
    return bool(same and file.is_file() and file.stat().st_size == info["size"])


def _note_version(file, info):
    note = _version_file(file)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(_version(info), "utf-8")


def _remove_from(store, name):
    with contextlib.suppress(Exception):
        store.rm_file(name)


def remove_local(path):
    """Removes a file or directory of this machine, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
