"""Publishes presets in the hub of Hugging Face, each in one commit."""

import contextlib
import os
import pathlib
import re
import tempfile

SCHEME = "hf:/"  # `pathlib` makes hf:/ of hf://
HUBS = re.compile("(hf|kaggle|https?):/")  # other addresses are those of stores
RULE = "A model is published as hf://owner/name."
CARD = "README.md"
KEPT_FILES = {CARD, ".gitattributes"}  # of a repository that exists


def is_address(directory):
    """Whether a path is the address of a hub, such as `hf://owner/name`."""
    return HUBS.match(os.fspath(directory)) is not None


@contextlib.contextmanager
def publishing(address):
    """Yields a path of a directory to make, which is then published.

    The repository is made if there is none. It gets all files in one commit, or none; a
    README.md that it has is kept. Files of the same names are replaced.

    ValueError if the address is wrong; PermissionError if nobody is logged in, or may
    not write there; FileExistsError if the repository has files that the directory
    lacks; OSError if the hub cannot be reached.
    """
    repository = repository_name(address)
    import huggingface_hub

    if huggingface_hub.get_token() is None:
        raise PermissionError(
            f"{RULE} This needs an account there. Received: no token on this machine. "
            "Run `hf auth login`, or set HF_TOKEN to a token that may write."
        )
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary) / "preset"
        yield directory
        try:
            _upload(directory, repository)
        except FileExistsError:
            raise
        except (OSError, huggingface_hub.errors.HTTPError) as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            denied = status in (401, 403)
            way = " Check the token, and that it may write there." if denied else ""
            raise (PermissionError if denied else OSError)(
                f"hf://{repository} could not be written: {_reason(error)}. Nothing "
                f"was committed.{way}"
            ) from error


def repository_name(address):
    """The "owner/name" of an address; ValueError if it is malformed."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    text = os.fspath(address)
    name = re.sub("^hf:/+", "", text)
    problem = None
    if not text.startswith(SCHEME):
        problem = "another kind of address"
    elif not re.fullmatch("[^/]+/[^/]+", name):
        problem = "no owner and name"
    else:
        try:
            validate_repo_id(name)
        except HFValidationError as error:
            problem = str(error).split(". Use", 1)[0].rstrip(".")
    if problem:
        raise ValueError(
            f"{RULE} Received: {text!r:.120}, {problem}. Choose such a name, or the "
            "path of a directory."
        )
    return name


def _upload(directory, repository):
    """Commits the files of a directory to a repository, which is made if needed."""
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi()
    api.create_repo(repository, exist_ok=True)
    present = {*api.list_repo_files(repository)}
    paths = {
        path.relative_to(directory).as_posix(): path
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    strange = sorted(present - {*paths} - KEPT_FILES)
    if strange:
        raise FileExistsError(
            f"hf://{repository} holds files that the preset lacks. Received: "
            f"{', '.join(strange[:5])}. Choose another name, or remove them first."
        )
    if CARD in present:
        del paths[CARD]
    additions = [CommitOperationAdd(name, os.fspath(p)) for name, p in paths.items()]
    message = f"Preset of zoo: {', '.join(paths)}"
    api.create_commit(repository, additions, commit_message=message)


def _reason(error):
    """The first line of an error, without its full stop."""
    text = getattr(error, "server_message", None) or str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(". ")
