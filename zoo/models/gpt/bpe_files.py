"""The vocabularies and merges of GPTs in the files of each layout."""

import json

from zoo.checkpoint import (
    read_json,
    read_lines,
    warn_of_added_tokens,
    warn_user,
    warn_without_tokenizer,
)

END_OF_TEXT = "<|endoftext|>"  # of GPT-2
WORD_END = "</w>"  # of GPT-1
KNOWN_SPECIALS = (END_OF_TEXT, "<unk>")
VERSION = "#version"
PREPROCESSOR = "preprocessor.json"
# Names of the vocabulary and of the merges. The first pair is read that exists.
FILES = {
    "openai_gpt": (
        ("encoder_bpe_40000.json", "vocab_40000.bpe"),
        ("encoder_bpe.json", "vocab.bpe"),
    ),
    "openai_gpt2": (("encoder.json", "vocab.bpe"),),
    "hugging_face": (("vocab.json", "merges.txt"),),
    "keras_nlp": (("assets/tokenizer/vocabulary.json", "assets/tokenizer/merges.txt"),),
}


def read_tokenizer(directory, layout, config):
    """The arguments of a model's tokenizer; None with a warning if there is none."""
    start, problem = False, None
    fast = directory / "tokenizer.json"
    if layout == "hugging_face" and fast.is_file():
        # transformers prefers this file.
        ids, merges, start, problem = _read_fast(fast, config.norm_first)
    else:
        ids, merges = _read_pair(directory, FILES[layout])
        if layout == "hugging_face":
            start, problem = _read_slow_options(directory, ids)
        elif layout == "keras_nlp":
            values = read_json(directory / PREPROCESSOR, optional=True)
            # `GPT2CausalLM` makes one with its defaults if there is none, or another.
            known = values.get("class_name") == "GPT2CausalLMPreprocessor"
            values = _object(values.get("config")) if known else {}
            start = bool(values.get("add_start_token", True))
    if problem is None and ids and config.norm_first and END_OF_TEXT not in ids:
        problem = f"its vocabulary lacks {END_OF_TEXT!r}"
    if problem:
        warn_user(
            f"The tokenizer of {directory} is not one that zoo has: {problem}. The "
            "model has no tokenizer; it takes the ids of tokens."
        )
    elif not ids:
        names = " and ".join(FILES[layout][0])
        if layout == "hugging_face":
            names = f"tokenizer.json, or {names}"
        warn_without_tokenizer(directory, names)
    if problem or not ids:
        return None
    if len(ids) > config.vocabulary_size:
        raise ValueError(
            "The vocabulary must not have more tokens than the table of embeddings has "
            f"rows. Received: {len(ids)} tokens and {config.vocabulary_size} rows in "
            f"`{directory}`."
        )
    if layout == "hugging_face":
        _warn_of_added(directory, fast)
    found = {
        "class_name": "GPT2Tokenizer" if config.norm_first else "GPT1Tokenizer",
        "vocabulary": tuple(sorted(ids, key=ids.get)),
        "merges": merges,
    }
    if config.norm_first:
        special = not layout.startswith("openai")
        found |= {"start_token": start, "special_tokens": special}
    return found


def _warn_of_added(directory, fast):
    """Warns of tokens that were added later, which zoo does not find in texts."""
    if fast.is_file():
        listed = read_json(fast).get("added_tokens") or ()
        added = [token["content"] for token in listed]
    else:
        added = [*read_json(directory / "added_tokens.json", optional=True)]
    warn_of_added_tokens(directory, [t for t in added if t not in KNOWN_SPECIALS])


def _read_pair(directory, pairs):
    """Tokens and merges of two files, dict of str to int and tuple of str."""
    for names in pairs:
        paths = [directory / name for name in names]
        there = [path.is_file() for path in paths]
        if all(there):
            added = read_json(directory / "added_tokens.json", optional=True)
            ids = {**read_json(paths[0]), **added}
            _check_ids(ids, paths[0])
            lines = [line.removesuffix("\r") for line in read_lines(paths[1])]
            if lines and lines[0].startswith(VERSION):
                lines = lines[1:]
            return ids, tuple(line for line in lines if line)
        if any(there):
            raise FileNotFoundError(
                f"`{directory}` must have the files {' and '.join(names)}, or neither "
                f"of them. Received: only {names[there.index(True)]}."
            )
    return {}, ()


def _check_ids(ids, path):
    """Raises ValueError if ids are not 0, 1, 2 and so on."""
    integers = all(type(number) is int for number in ids.values())
    if not integers or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"`{path}` must have a dict of tokens to the ids 0, 1, 2 and so on, each "
            f"once. Received: {len(ids)} tokens with other ids. Remove the files of "
            "the tokenizer to read the weights alone."
        )


def _read_slow_options(directory, ids):
    """Whether rows begin with a token, and what differs from our tokenizer, or None."""
    values = read_json(directory / "tokenizer_config.json", optional=True)
    problem = None
    if values.get("add_prefix_space"):
        problem = "it adds a space before each text"
    elif not ids and values.get("tokenizer_class"):
        names = " and ".join(FILES["hugging_face"][0])
        kind = f"{values['tokenizer_class']!s:.40}"
        problem = f"it is a {kind} without {names}, or tokenizer.json"
    return bool(values.get("add_bos_token", False)), problem


def _read_fast(path, gpt2):
    """Ids of tokens, merges, whether rows begin with a token, and what differs."""
    values = read_json(path)
    model = _object(values.get("model"))
    if model.get("type", "BPE") != "BPE":
        return {}, (), False, f"it is of type {model['type']!r:.40}"
    try:
        added = {t["content"]: t["id"] for t in values.get("added_tokens") or ()}
        ids = {**model["vocab"], **added}
        pairs = model["merges"]
        # Until 2024, a merge was a str.
        merges = tuple(m if isinstance(m, str) else "{} {}".format(*m) for m in pairs)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"`{path}` must hold a vocabulary and merges of byte-pair encoding. "
            f"Received: {type(error).__name__}: {error}."
        ) from error
    _check_ids(ids, path)
    splitter = _object(values.get("pre_tokenizer"))
    problem = None
    if gpt2 and splitter.get("type") != "ByteLevel":
        problem = f"it splits texts by {splitter.get('type')!r:.40}"
    elif gpt2 and splitter.get("add_prefix_space"):
        problem = "it adds a space before each text"
    elif gpt2 and (values.get("normalizer") or not splitter.get("use_regex", True)):
        problem = "it normalizes texts, or does not split them"
    elif not gpt2 and model.get("end_of_word_suffix") != WORD_END:
        problem = f"its words do not end in {WORD_END!r}"
    frame = _read_frame(_object(values.get("post_processor")))
    start = gpt2 and frame == [END_OF_TEXT, "A"]
    if frame != ["A"] and not start:
        problem = problem or f"it adds other tokens to a text A: {frame}"
    return ids, merges, start, problem


def _read_frame(rule):
    """What a post-processor makes of a text A, such as ["A"]; None if unknown."""
    kind = rule.get("type")
    if kind == "TemplateProcessing":
        items = rule.get("single") or ()
        return [_object(part).get("id") for item in items for part in item.values()]
    if kind == "Sequence":
        frames = [_read_frame(part) for part in rule.get("processors") or ()]
        frames = [frame for frame in frames if frame != ["A"]] or [["A"]]
        return frames[0] if len(frames) == 1 else None
    return ["A"] if kind in (None, "ByteLevel") else None


def _object(value):
    """The value if it is a dict, else an empty one."""
    return value if isinstance(value, dict) else {}


def find_end(tokenizer):
    """The id of the token that ends a text, int; None without one."""
    tokens = tokenizer["vocabulary"] if tokenizer else ()
    return tokens.index(END_OF_TEXT) if END_OF_TEXT in tokens else None


def tokenizer_files(layout, tokenizer, config):
    """The files of a tokenizer, dict of name to str; empty if `tokenizer` is None."""
    if not tokenizer:
        return {}
    if not {"vocabulary", "merges"} <= {*tokenizer} or (
        config.norm_first != ("special_tokens" in tokenizer)
    ):
        kind = "GPT2Tokenizer" if config.norm_first else "GPT1Tokenizer"
        raise ValueError(
            f"This layout needs a `zoo.text.{kind}`. Received: a tokenizer with "
            f"{', '.join(tokenizer)}. Set the `tokenizer` of the backbone to None, or "
            'choose layout "zoo".'
        )
    tokens = list(tokenizer["vocabulary"])
    if len(tokens) > config.vocabulary_size:
        raise ValueError(
            "The vocabulary must not have more tokens than the table of embeddings has "
            f"rows. Received: {len(tokens)} and {config.vocabulary_size}."
        )
    vocabulary, merges = FILES[layout][0]
    ids = {token: number for number, token in enumerate(tokens)}
    lines = "".join(f"{line}\n" for line in tokenizer["merges"])
    return {vocabulary: json.dumps(ids), merges: f"{VERSION}: 0.2\n{lines}"}
