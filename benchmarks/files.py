"""Files that appear only once they are complete."""

import os


def write_whole(path, content):
    """Writes a file under another name, then renames it.

    Args:
        path: pathlib.Path; the directories above it are made.
        content: str or bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    content = content.encode("utf-8") if isinstance(content, str) else content
    temporary.write_bytes(content)
    os.replace(temporary, path)
