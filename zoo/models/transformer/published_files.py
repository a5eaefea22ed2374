"""Reads files that several programs write beside the weights."""

import re

from zoo.checkpoint import read_json, read_lines, warn_without_tokenizer

# Arguments of a model's class, where no other file says them. The user writes it.
ARGUMENTS = "transformer_config.json"
# How tensor2tensor and the model garden decode by default.
GNMT = {"penalty": "gnmt", "num_beams": 4, "length_penalty": 0.6}
SUBWORDS = r".*\.subwords(\.\w+)?|vocab\.\w+\.\d+"
PADDING = ("<blank>", "<pad>")  # of OpenNMT, and of other programs
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
# The variables of an object-based checkpoint that are not weights.
NO_WEIGHTS = (
    r"_CHECKPOINTABLE_OBJECT_GRAPH|(save_counter|step|global_step|optimizer)/.*"
    r"|.*/\.OPTIMIZER_SLOT/.*"
)


def object_arrays(checkpoint):
    """The weights of an object-based checkpoint, by the names of their objects."""
    return {  # the root may be the model, or have it as its attribute "model"
        name.removesuffix(VALUE).removeprefix("model/"): checkpoint[name]
        for name in checkpoint
        if not re.fullmatch(NO_WEIGHTS, name)
    }


def count_blocks(names, form):
    """How many blocks a side has, whose names begin with `form`; its `{i}` counts."""
    begin, _, end = form.partition("{i}")
    suffixes = [n.removeprefix(begin) for n in names if n.startswith(begin)]
    numbers, count = {suffix.partition(end)[0] for suffix in suffixes}, 0
    while str(count) in numbers:
        count += 1
    return count


def check_option(values, name, known, path):
    """The value of an option, by default the first known one; an error for others."""
    known = list(known)
    value = values.get(name, known[0])
    if value not in known or isinstance(value, bool) != isinstance(known[0], bool):
        raise ValueError(
            f"`{name}` must be {' or '.join(map(repr, known))}; `Transformer` supports "
            f"nothing else. Received: {value!r} in `{path}`."
        )
    return value


def find_subwords(directory, sizes, divisor=1):
    """The arguments of `SubwordTokenizer`, or None without files."""
    found = {}
    for path in sorted(directory.iterdir()):
        if re.fullmatch(SUBWORDS, path.name) and path.is_file():
            lines = path.read_bytes().removesuffix(b"\n").count(b"\n") + 1
            found[path] = lines + -lines % divisor  # a table may have unused rows
    if not found:
        warn_without_tokenizer(directory, "a vocabulary such as vocab.x.subwords")
        return None
    chosen = [[path for path in found if found[path] == size] for size in sizes]
    if {*sizes} != {*found.values()} or any(len(paths) > 1 for paths in chosen):
        counts = {path.name: size for path, size in found.items()}
        raise ValueError(
            "The vocabularies must have a line for every row of the tables. The number "
            "of lines shows to which table a vocabulary belongs, so two vocabularies "
            f"must not have the same number. Received: {counts} in `{directory}`, and "
            f"tables of {sizes} rows."
        )
    source, target = chosen[0][0], chosen[-1][0]
    arguments = {"subtokens": str(source)}
    return arguments | ({"target_subtokens": str(target)} if source != target else {})


def read_token_lists(directory, sizes, values=None):
    """The arguments of `TokenListTokenizer`, with tokens of a config.json, or None."""
    values = values or {}
    unknown = values.get("unk_token", "<unk>")
    lists = [_read_tokens(directory, side) for side in ("source", "target")]
    if None in lists:
        names = "source_vocabulary and target_vocabulary, or shared_vocabulary, as .txt"
        warn_without_tokenizer(directory, f"{names} or .json files")
        return None
    # As in CTranslate2: files of OpenNMT-tf do not have the unknown token.
    lists = [t if unknown in t else (*t, unknown) for t in lists]
    for side, tokens, size in zip(("source", "target"), lists, sizes, strict=True):
        if len(tokens) != size:
            raise ValueError(
                f"The vocabulary of the {side} must have {size} tokens, as the model "
                f"has. Received: {len(tokens)} in `{directory}`."
            )
    start = values.get("bos_token", "<s>")
    end = values.get("eos_token", "</s>")
    known = {*lists[0]} & {*lists[1]}
    arguments = {
        "tokens": lists[0],
        "pad": next((token for token in PADDING if token in known), end),
        "start": values.get("decoder_start_token") or start,
        "end": end,
        "unknown": unknown,
        "source_start": bool(values.get("add_source_bos", False)),
        "source_end": bool(values.get("add_source_eos", False)),
    }
    if arguments["source_start"] and arguments["start"] != start:
        raise ValueError(
            "`decoder_start_token` must be `bos_token` if that stands before a source. "
            f"Received: {arguments['start']!r} and {start!r} in `{directory}`."
        )
    return arguments | ({"target_tokens": lists[1]} if lists[0] != lists[1] else {})


def _read_tokens(directory, side):
    """The tokens of a side, tuple of str, or None."""
    for name in (f"{side}_vocabulary", "shared_vocabulary"):
        path = directory / f"{name}.txt"
        if path.is_file():
            return tuple(read_lines(path))
        path = path.with_suffix(".json")
        if path.is_file():
            tokens = read_json(path, kind=list)
            wrong = [token for token in tokens if not isinstance(token, str)]
            if wrong:
                raise ValueError(
                    f"`{path}` must be a list of tokens. Received: {wrong[0]!r:.80}."
                )
            return tuple(tokens)
    return None
