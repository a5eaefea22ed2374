"""Reads the dictionaries and byte-pair codes of fairseq."""

import itertools
import re

from zoo.checkpoint import read_text, warn_without_tokenizer

# The names of published files; the first ones are preferred.
CODES = ("bpecodes", "code", "codes")
OTHER_CODES = r"(bpe[._-]?)?codes?([._-]\w+)?"
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
SIDES = ("source", "target")
# Names of dictionaries that say the side and not the language.
SIDE_NAMES = (("source", "src"), ("target", "tgt", "trg"))


def read_tokenizer(directory, options, config, languages=None):
    """The arguments of a `zoo.text.BytePairTokenizer`; None without byte-pair codes."""
    # If the options lack a language, as in many published models, the sizes of the
    # dictionaries say which belongs to which side.
    codes = [directory / name for name in CODES if (directory / name).is_file()]
    if not codes:
        codes = [p for p in sorted(directory.iterdir()) if p.is_file()]
        codes = [path for path in codes if re.fullmatch(OTHER_CODES, path.name)]
        if len({path.read_bytes() for path in codes}) > 1:
            raise ValueError(
                f"`{directory}` must hold one file of byte-pair codes. Received: "
                f"{', '.join(path.name for path in codes)}. Call the right one "
                f"{CODES[0]}."
            )
    if not codes:
        warn_without_tokenizer(
            directory, "byte-pair codes called bpecodes, code, codes or bpe.codes"
        )
        return None
    sizes = config.vocabulary_size, config.target_size
    shared = config.target_vocabulary_size is None
    paths = {p.name[5:-4]: p for p in sorted(directory.glob("dict.*.txt"))}
    languages = _languages(options, languages, paths)
    sides = _find_sides(directory, paths, languages, sizes, shared)
    return {
        "codes": tuple(_lines(codes[0])),
        "vocabulary": sides[0],
        "target_vocabulary": None if shared else sides[1],
    }


def _languages(options, languages, paths):
    """The languages of both sides, each str or None if it is not known."""
    if languages is None:
        found = []
        for side, names in zip(SIDES, SIDE_NAMES, strict=True):
            named = next((name for name in names if name in paths), None)
            found.append(options.get(f"{side}_lang") or named)
        return tuple(found)
    pair = isinstance(languages, (tuple, list)) and len(languages) == len(SIDES)
    if not pair or not all(isinstance(language, str) for language in languages):
        raise ValueError(
            "`languages` must be two names, of the source and of the target, such as "
            f'("en", "de"). Received: {languages!r:.80}.'
        )
    return tuple(languages)


def _find_sides(directory, paths, languages, sizes, shared):
    """The tokens of both sides, a pair; an unknown language is None."""
    names = ", ".join(path.name for path in paths.values())
    for language in languages:
        if language is not None and language not in paths:
            raise ValueError(
                f"`{directory}` must hold the dictionary of the language {language!r}, "
                f"dict.{language}.txt. Received: {names}. Rename it, or pass "
                '`languages=`, such as ("en", "de").'
            )
    tokens = {language: read_dictionary(path) for language, path in paths.items()}
    first = {}  # of equal dictionaries, the first one stands for all
    same = {name: first.setdefault(found, name) for name, found in tokens.items()}
    pairs = {
        (same[source], same[target]): (source, target)
        for source, target in itertools.product(paths, repeat=len(SIDES))
        if languages[0] in (None, source) and languages[1] in (None, target)
        # A dictionary is that of one side, unless it is the only one.
        if source != target or len(paths) == 1 or languages == (source, target)
    }
    fitting = [p for p in pairs if tuple(len(tokens[name]) for name in p) == sizes]
    if not fitting:
        counts = {path.name: len(tokens[name]) for name, path in paths.items()}
        raise ValueError(
            "A dictionary must have a token for every row of its embedding. Received: "
            f"{counts} tokens with the four special ones, and {sizes} rows of the "
            f"source and the target, in `{directory}`."
        )
    fitting = [pair for pair in fitting if not shared or pair[0] == pair[1]]
    if not fitting:
        raise ValueError(
            f"The dictionaries of `{directory}` must be the same, because the options "
            "say that all embeddings are shared. Received: different tokens in "
            f"{names}."
        )
    if len(fitting) > 1:
        found = [pairs[pair] for pair in fitting]
        raise ValueError(
            "The languages of the source and of the target must be known. Received: "
            f"options of `{directory}` that do not name them, and dictionaries that "
            f"fit both sides: {names}. Pass `languages=`, such as {found[0]}."
        )
    return tuple(tokens[name] for name in fitting[0])


def _lines(path):
    """The lines of a file without empty ones at its end, list of str."""
    return read_text(path).replace("\r\n", "\n").rstrip("\n").split("\n")


def read_dictionary(path):
    """The tokens of a file with a token and a count in each line, and special ones."""
    tokens = dict.fromkeys(SPECIALS)
    for number, line in enumerate(_lines(path), start=1):
        token, space, count = line.rstrip().rpartition(" ")
        if not space or not re.fullmatch(r"-?\d+", count) or token in tokens:
            raise ValueError(
                f"Each line of `{path}` must be a new token, a space and its count. "
                f"Received: {line!r} in line {number}."
            )
        tokens[token] = None
    return tuple(tokens)
