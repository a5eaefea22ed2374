"""The defaults of `generate` in Hugging Face's generation_config.json."""

import warnings

from zoo.checkpoint import read_json
from zoo.models.gpt.bpe_files import END

FILE, OLDER_FILE = "generation_config.json", "config.json"
# Our options, and their names there. Those of samples count with `do_sample` only.
NAMES = {
    "num_beams": "num_beams",
    "length_penalty": "length_penalty",
    "repetition_penalty": "repetition_penalty",
    "max_new_tokens": "max_new_tokens",
    "min_new_tokens": "min_new_tokens",
    "suppressed": "suppress_tokens",
    "renormalize": "renormalize_logits",
}
SAMPLES = ("temperature", "top_k", "top_p")
SAMPLED = {"temperature": 1.0, "top_k": 50}  # the defaults there
# Other options that change the tokens, with the values that change nothing.
OTHERS = {
    "early_stopping": (False, None),
    "min_length": (0, None),
    "force_words_ids": (None, []),
    "constraints": (None, []),
    "no_repeat_ngram_size": (0, None),
    "encoder_no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1, None),
    "bad_words_ids": (None, []),
    "sequence_bias": (None, {}, []),
    "begin_suppress_tokens": (None, []),
    "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,),
    "exponential_decay_length_penalty": (None,),
    "num_beam_groups": (1, None),
    "diversity_penalty": (0, None),
    "penalty_alpha": (0, None),
    "typical_p": (1, None),
    "epsilon_cutoff": (0, None),
    "eta_cutoff": (0, None),
    "min_p": (0, None),
    "stop_strings": (None, []),
    "guidance_scale": (1, None),
}


def read_generation(directory, tokenizer):
    """The defaults of `generate`, a dict of options of `GenerationOptions`.

    `max_length` is ignored, since it counts the tokens of the prompt, too. A warning
    names other options that zoo does not have.

    Args:
        directory: `pathlib.Path`. Without the file, config.json has these options, as
            in older directories.
        tokenizer: dict, the config of the tokenizer, or None.

    Raises:
        ValueError: if the file is damaged.
    """
    path = directory / FILE
    if not path.is_file():
        path = directory / OLDER_FILE
    values = read_json(path, optional=True)
    found = {ours: values.get(name) for ours, name in NAMES.items()}
    found = {name: value for name, value in found.items() if value not in (None, [])}
    if found.get("min_new_tokens"):
        # The end of a text is a token here, and none there.
        least = found["min_new_tokens"] + 1
        found["min_new_tokens"] = min(least, found.get("max_new_tokens", least))
    unknown = [k for k, same in OTHERS.items() if values.get(k, same[0]) not in same]
    if _ends_otherwise(values.get("eos_token_id"), tokenizer):
        unknown.append("eos_token_id")
    if values.get("do_sample") and found.get("num_beams", 1) > 1:
        unknown.append("do_sample")  # zoo has no samples of beams
    elif values.get("do_sample"):
        sampled = {**SAMPLED, **{k: v for k, v in values.items() if k in SAMPLES}}
        found |= {name: value for name, value in sampled.items() if value}
    if found.get("repetition_penalty", 1) != 1:
        warnings.warn(
            "The tokens of a prompt do not count for `repetition_penalty`. Received: "
            f"{found['repetition_penalty']} in {path}, where they do.",
            stacklevel=2,
        )
    if unknown:
        warnings.warn(
            f"`generate` cannot have the options {', '.join(unknown)} of {path}. They "
            "are ignored.",
            stacklevel=2,
        )
    return found


def _ends_otherwise(end, tokenizer):
    """Whether an `eos_token_id` is not the token at which zoo ends a text."""
    tokens = tokenizer["vocabulary"] if tokenizer else ()
    if end is None or END not in tokens:
        return False
    return end not in (tokens.index(END), [tokens.index(END)])


def write_generation(options):
    """The values of the file, a dict; empty without defaults.

    A warning names the options that Hugging Face does not have there.

    Args:
        options: dict, the defaults of `generate`, or None.
    """
    options = {name: v for name, v in (options or {}).items() if v not in (None, ())}
    values = {name: options[ours] for ours, name in NAMES.items() if ours in options}
    if "min_new_tokens" in values:  # see `read_generation`
        values["min_new_tokens"] = max(values["min_new_tokens"] - 1, 0)
    if {*SAMPLES} & {*options}:
        # Without `top_k`, Hugging Face would choose among 50 tokens.
        values |= {"do_sample": True, "top_k": 0}
        values |= {name: options[name] for name in SAMPLES if name in options}
    lost = sorted({*options} - {*NAMES, *SAMPLES})
    if lost:
        warnings.warn(
            f"{FILE} has no place for the options {', '.join(lost)}. They are left "
            "out; give them to `generate`.",
            stacklevel=2,
        )
    return values
