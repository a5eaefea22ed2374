"""The defaults of `generate` in the files of Hugging Face, for all families."""

from zoo.checkpoint.json_files import read_json
from zoo.checks.user_warnings import warn_user

GENERATION_FILE, OLDER_FILE = "generation_config.json", "config.json"
# Our options, and their names there. Those of samples count with `do_sample` only.
SAME_NAMES = (
    "num_beams",
    "length_penalty",
    "repetition_penalty",
    "no_repeat_ngram_size",
    "max_new_tokens",
    "min_new_tokens",
)
GENERATION_NAMES = {
    **{name: name for name in SAME_NAMES},
    "suppressed": "suppress_tokens",
    "last_token": "forced_eos_token_id",
    "renormalize": "renormalize_logits",
}
SAMPLES = ("temperature", "top_k", "top_p")
SAMPLED = {"temperature": 1.0, "top_k": 50}  # the defaults there
# Other options that change the tokens, with the number that changes nothing. For all of
# them null, false and an empty list change nothing.
NEUTRAL_VALUES = {
    **dict.fromkeys(("min_length", "diversity_penalty", "penalty_alpha"), 0),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff", "min_p", "top_h"), 0),
    "encoder_no_repeat_ngram_size": 0,
    **dict.fromkeys(("num_beam_groups", "num_return_sequences", "typical_p"), 1),
    **dict.fromkeys(("encoder_repetition_penalty", "guidance_scale"), 1),
    **dict.fromkeys(("bad_words_ids", "begin_suppress_tokens", "constraints")),
    **dict.fromkeys(("early_stopping", "force_words_ids", "forced_bos_token_id")),
    **dict.fromkeys(("exponential_decay_length_penalty", "sequence_bias")),
    **dict.fromkeys(("forced_decoder_ids", "max_time", "stop_strings")),
}
# What does not change the tokens, or is read elsewhere.
WITHOUT_EFFECT = {
    *("transformers_version", "_from_model_config", "_commit_hash", "use_cache"),
    *("max_length", "eos_token_id", "bos_token_id", "pad_token_id", "do_sample"),
    *("decoder_start_token_id", "remove_invalid_values", "return_dict_in_generate"),
    *("output_attentions", "output_hidden_states", "output_scores", "output_logits"),
    *("cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size"),
    *("compile_config", "disable_compile", "low_memory", "is_assistant", "use_mtp"),
    *("num_assistant_tokens", "num_assistant_tokens_schedule", "speculation_type"),
    *("assistant_confidence_threshold", "assistant_early_exit", "target_lookbehind"),
    *("assistant_lookbehind", "assistant_ensemble_weight", "max_matching_ngram_size"),
    *("prompt_lookup_num_tokens", "continuous_batching_config"),
}


def read_generation(directory, end=None, longest=None, defaults=None):
    """Reads the defaults of `generate`, a dict of fields of `GenerationOptions`.

    `max_length` and `min_length` are only read for a model that reads a source, since
    they count the tokens of a prompt, too. A warning names options that zoo lacks.

    Args:
        directory: `pathlib.Path`. Without the file, config.json has these options, as
            in older directories.
        end: int, the token that ends a text in zoo, or None.
        longest: int, the positions of a decoder that reads a source; None for a model
            without a source.
        defaults: dict, what an older directory leaves out.

    Raises:
        ValueError: if the file is damaged.
    """
    path, listed = directory / GENERATION_FILE, set()
    if path.is_file():
        values = read_json(path)
        listed = {*values} - WITHOUT_EFFECT - {*GENERATION_NAMES.values(), *SAMPLES}
    else:
        path = directory / OLDER_FILE
        values = {**(defaults or {}), **read_json(path, optional=True)}
    unknown = _find_unknown(values, {*NEUTRAL_VALUES} | listed)
    found = {ours: values.get(name) for ours, name in GENERATION_NAMES.items()}
    _read_tokens(values, found, unknown, end)
    _read_lengths(values, found, longest)
    found = {name: value for name, value in found.items() if value not in (None, [])}
    if values.get("do_sample") and found.get("num_beams", 1) > 1:
        unknown.add("do_sample")  # zoo has no samples of beams
    elif values.get("do_sample"):
        sampled = {**SAMPLED, **{k: v for k, v in values.items() if k in SAMPLES}}
        found |= {name: value for name, value in sampled.items() if value}
    if longest is not None:
        unknown.discard("min_length")
    else:
        for name, neutral in (("repetition_penalty", 1), ("no_repeat_ngram_size", 0)):
            if found.get(name, neutral) != neutral:
                warn_user(
                    f"The tokens of a prompt do not count for `{name}`. Received: "
                    f"{found[name]} in {path}, where they do."
                )
    if unknown:
        warn_user(
            f"zoo does not have the options {', '.join(sorted(unknown))} of {path}. "
            "They are ignored, so generated texts differ from those of Hugging Face."
        )
    return found


def _find_unknown(values, names):
    """The names of options that are set to a value that changes the tokens, a set."""
    return {
        name
        for name in names
        if values.get(name) not in (None, False, [], {})
        and (NEUTRAL_VALUES.get(name) is None or values[name] != NEUTRAL_VALUES[name])
    }


def _read_tokens(values, found, unknown, end):
    """Sets options that name tokens; removes what is known from `unknown`."""
    ends, words = values.get("eos_token_id"), values.get("bad_words_ids")
    if end is not None and ends not in (None, end, [end]):
        unknown.add("eos_token_id")
    if isinstance(words, list) and all(map(_is_word, words)):
        # Hugging Face does not suppress the end either.
        tokens = [word[0] for word in words if word[0] != ends]
        found["suppressed"] = [*(found["suppressed"] or ()), *tokens]
        unknown.discard("bad_words_ids")
    last = found["last_token"]
    found["last_token"] = last[0] if isinstance(last, list) and len(last) == 1 else last
    found["no_repeat_ngram_size"] = found["no_repeat_ngram_size"] or None


def _is_word(word):
    """Whether a word of `bad_words_ids` is one token."""
    return isinstance(word, list) and len(word) == 1 and isinstance(word[0], int)


def _read_lengths(values, found, longest):
    """Sets the limits of the number of new tokens; the end counts as one of them."""
    most, least = found["max_new_tokens"], found["min_new_tokens"]
    limit = values.get("max_length")
    if longest is not None and most is None and isinstance(limit, int):
        most = limit - 1  # Hugging Face counts the first token that the decoder reads
    if longest is not None and isinstance(most, int):
        most = min(most, longest)
    # There, the end is no new token, but it counts for `min_length`.
    least = least + 1 if isinstance(least, int) and least else least
    if longest is not None and not least:
        least = values.get("min_length")
    if isinstance(least, int) and isinstance(most, int):
        least = min(least, most)
    found |= {"max_new_tokens": most, "min_new_tokens": least or None}


def write_generation(options, longest=None):
    """The content of generation_config.json for our options, and those that it lacks.

    `longest` is the most new tokens of a model that reads a source; else None.
    """
    options = {name: v for name, v in options.items() if v not in (None, (), [])}
    names = dict(GENERATION_NAMES)
    values = {}
    if longest is not None:
        # As older versions of Hugging Face read them, see `_read_lengths`.
        names |= {"min_new_tokens": "min_length", "max_new_tokens": "max_length"}
        options["max_new_tokens"] = options.get("max_new_tokens", longest) + 1
        words = options.pop("suppressed", ())
        values = {"bad_words_ids": [[int(word)] for word in words]} if words else {}
    values |= {name: options[ours] for ours, name in names.items() if ours in options}
    if "min_new_tokens" in values:
        values["min_new_tokens"] = max(values["min_new_tokens"] - 1, 0)
    if {*SAMPLES} & {*options}:
        # Without `top_k`, Hugging Face would choose among 50 tokens.
        values |= {"do_sample": True, "top_k": 0}
        values |= {name: options[name] for name in SAMPLES if name in options}
    return values, sorted({*options} - {*names, *SAMPLES})
