"""The files of sentence-transformers beside a BERT: how tokens become one vector."""

import re

from zoo.checkpoint import read_json
from zoo.checks.user_warnings import warn_user

MODULES_FILE, LIMITS_FILE = "modules.json", "sentence_bert_config.json"
PROMPTS_FILE = "config_sentence_transformers.json"
# Our pooling to the flag of it; the files of newer versions have one word instead.
POOLING_FLAGS = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}


def read_pooling(directory, lowercase=True):
    """The pooling options of a sentence-transformers model, see `Converted`, or {}."""
    path = directory / MODULES_FILE
    if not path.is_file():
        # No file says that this pooling is a part of the model.
        for path in sorted(directory.glob("*_Pooling/config.json"))[:1]:
            warn_user(
                f"{directory} must hold {MODULES_FILE} if {path.parent.name} is a part "
                "of the model. Received: no such file. Texts get no vectors."
            )
        return {}
    modules = _read_modules(path)
    pooling = read_json(directory / modules["Pooling"] / "config.json")
    if "pooling_mode" not in pooling:
        pooling.setdefault(POOLING_FLAGS["mean"], True)
    names = {flag: mode for mode, flag in POOLING_FLAGS.items()}
    # Before version 5, models have a flag for each pooling instead of one word.
    flags = [key for key in pooling if key.startswith("pooling_mode_") and pooling[key]]
    mode = pooling.get("pooling_mode", [names.get(key, key) for key in flags])
    mode = mode[0] if isinstance(mode, list) and len(mode) == 1 else mode
    if mode not in ("cls", "mean"):
        raise ValueError(
            f"Pooling must be the first token or the mean. Received: {mode} in "
            f"`{path.parent}`."
        )
    limits = read_json(directory / LIMITS_FILE, optional=True)
    if not limits:
        warn_user(
            f"{directory} must hold {LIMITS_FILE}, which says how long texts may be. "
            "Received: no such file. They may be as long as the model allows."
        )
    if limits.get("do_lower_case") and not lowercase:
        raise ValueError(
            "A model must lower-case texts exactly if its tokenizer does. Received: "
            f"do_lower_case=true in `{directory / LIMITS_FILE}`, and a cased tokenizer."
        )
    values = read_json(directory / PROMPTS_FILE, optional=True)
    prompts, name = values.get("prompts"), values.get("default_prompt_name")
    prompt = prompts.get(name) if isinstance(prompts, dict) else None
    if prompt:  # a text before every text
        warn_user(
            f"sentence-transformers begins every text for {directory} with {prompt!r}. "
            "zoo does not; add it to your texts."
        )
    return {
        "pooling": mode,
        "normalize": "Normalize" in modules,
        "sequence_length": limits.get("max_seq_length"),
    }


def _read_modules(path):
    """The modules of a model, dict of the kind of each one to its directory."""
    listed = read_json(path, kind=list)
    if not all(isinstance(module, dict) for module in listed):
        raise ValueError(
            f"`{path}` must hold a list of objects. Received: {listed!r:.80}."
        )
    modules = {m.get("type", "").split(".")[-1]: m.get("path", "") for m in listed}
    unknown = set(modules) - {"Transformer", "Pooling", "Normalize"}
    if unknown or not re.fullmatch(r"\w[\w.-]*", modules.get("Pooling", "")):
        raise ValueError(
            "A sentence-transformers model must be of modules whose `type` is "
            "Transformer, Pooling (in its own directory) and, optionally, Normalize. "
            f"Received: {modules} in `{path}`."
        )
    return modules


def pooling_documents(options, config):
    """The JSON files that say how tokens become one vector, by their names."""
    mode = options["pooling"]
    if mode not in POOLING_FLAGS or options.get("layers") is not None:
        raise ValueError(
            f"sentence-transformers pools the output by {' or '.join(POOLING_FLAGS)}. "
            f"Received: pooling={mode!r}, layers={options.get('layers')}. Write "
            'layout "zoo", or save `backbone` alone.'
        )
    names = ["Transformer", "Pooling"] + (["Normalize"] if options["normalize"] else [])
    modules = [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{name}" if number else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for number, name in enumerate(names)
    ]
    pooling = {flag: ours == mode for ours, flag in POOLING_FLAGS.items()}
    pooling = {"word_embedding_dimension": config.hidden_dim, **pooling}
    length = options.get("sequence_length") or config.max_sequence_length
    return {
        MODULES_FILE: modules,
        "1_Pooling/config.json": pooling,
        LIMITS_FILE: {"max_seq_length": length, "do_lower_case": False},
    }
