"""Reads the dictionaries and byte-pair codes of fairseq."""

import re

CODES = ("bpecodes", "code", "codes")
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")


def read_tokenizer(directory, options, config):
    """The arguments of a `zoo.text.BytePairTokenizer`.

    Args:
        directory: pathlib.Path.
        options: dict, those of the model; source_lang and target_lang are languages.
        config: `TransformerConfig`.

    Returns:
        dict, or None if the directory has no byte-pair codes.

    Raises:
        ValueError: if a dictionary is missing, is damaged, or does not fit the config.
    """
    codes = [directory / name for name in CODES if (directory / name).is_file()]
    if not codes:
        return None
    sides = [
        read_dictionary(_find_dictionary(directory, options.get(f"{side}_lang")))
        for side in ("source", "target")
    ]
    for side, tokens, rows in zip(
        ("source", "target"),
        sides,
        (config.vocabulary_size, config.target_size),
        strict=True,
    ):
        if len(tokens) != rows:
            raise ValueError(
                f"The dictionary of the {side} must have a token for every row of the "
                f"embedding. Received: {len(tokens)} tokens with the four special "
                f"ones, {rows} rows, in `{directory}`."
            )
    if config.target_vocabulary_size is None and sides[0] != sides[1]:
        raise ValueError(
            f"The dictionaries of `{directory}` must be the same, because the options "
            "say that all embeddings are shared. Received: different tokens."
        )
    lines = _read_text(codes[0]).rstrip("\n").split("\n")
    several = config.target_vocabulary_size is not None
    return {
        "codes": tuple(lines),
        "vocabulary": sides[0],
        "target_vocabulary": sides[1] if several else None,
    }


def _find_dictionary(directory, language):
    """The path of a dictionary; of the only one, if the language is unknown."""
    found = sorted(directory.glob("dict.*.txt"))
    path = directory / f"dict.{language}.txt"
    if path in found:
        return path
    if language is not None or len({p.read_bytes() for p in found}) != 1:
        raise ValueError(
            f"`{directory}` must hold the dictionary of the language {language!r} that "
            f"the options name. Received: {', '.join(p.name for p in found)}."
        )
    return found[0]


def _read_text(path):
    """The text of a file."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}` must be UTF-8. Received: {error}.") from error


def read_dictionary(path):
    """The tokens of a dictionary, tuple of str, with the special ones.

    Args:
        path: pathlib.Path of a file with a token and its count in each line.

    Raises:
        ValueError: if a line is something else, or a token is repeated.
    """
    tokens = dict.fromkeys(SPECIALS)
    for number, line in enumerate(_read_text(path).rstrip("\n").split("\n"), start=1):
        token, space, count = line.rstrip().rpartition(" ")
        if not space or not re.fullmatch(r"-?\d+", count) or token in tokens:
            raise ValueError(
                f"Each line of `{path}` must be a new token, a space and its count. "
                f"Received: {line!r} in line {number}."
            )
        tokens[token] = None
    return tuple(tokens)
