"""Writes files that appear only when they are complete."""

import os


def write_whole(path, content):
    """Writes a file under another name, then renames it.

    Args:
        path: pathlib.Path; missing directories are created.
        content: str or bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    content = content.encode("utf-8") if isinstance(content, str) else content
    temporary.write_bytes(content)
    os.replace(temporary, path)
