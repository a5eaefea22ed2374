"""What tokenizers hold, such as their vocabularies, as the files of a preset."""

import base64
import json


def encode(value, file):
    """The bytes of a file, from lines (.txt), plain values (.json) or base64."""
    if file.endswith(".json"):
        return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8")
    if not file.endswith(".txt"):
        return base64.b64decode(value)
    broken = [entry for entry in value if "\n" in entry]
    if broken:
        raise ValueError(
            f"An entry of {file} must not have a line break. Received: {broken[0]!r}. "
            "Use a tokenizer that keeps its vocabulary in a JSON file."
        )
    return "".join(f"{entry}\n" for entry in value).encode("utf-8")


def decode(content, file):
    """The value of the bytes of a file, see `encode`; bytes instead of base64."""
    if file.endswith(".json"):
        return parse_json(content, file)
    if not file.endswith(".txt"):
        return content
    return tuple(content.decode("utf-8").split("\n")[:-1])


def parse_json(content, path):
    """The values of a JSON file; an error names its path."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` must be JSON. Received: {error}.") from error


def without_paths(arguments, files):
    """Arguments with bytes in place of base64; ValueError if one looks like a path."""
    # Somebody else may have written them, and a tokenizer must not read other files.
    found = dict(arguments)
    for name, file in files.items():
        value = found.get(name)
        if isinstance(value, str):
            if file.endswith((".txt", ".json")):
                raise ValueError(
                    f"`{name}` must hold the entries. Received: {value!r:.80}."
                )
            try:
                found[name] = base64.b64decode(value, validate=True)
            except ValueError as error:
                raise ValueError(
                    f"`{name}` must hold base64. Received: {value!r:.80}."
                ) from error
    return found
