"""Reads Transformers of fairseq."""

import re
import reprlib

import numpy as np

from zoo.backbone.config import make_config
from zoo.checkpoint import find_activation, open_training_checkpoint
from zoo.models.transformer.fairseq_dictionaries import read_tokenizer
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.tables import SIDES

CHECKPOINTS = ("model.pt", "checkpoint_best.pt", "checkpoint_last.pt")
PAD, END = 1, 2  # ids; the decoder starts with the end token
# Our field to the option that each side has, and its default in `base_architecture`.
SIDE_OPTIONS = {
    "hidden_dim": ("embed_dim", 512),
    "num_heads": ("attention_heads", 8),
    "intermediate_dim": ("ffn_embed_dim", 2048),
    "norm_first": ("normalize_before", False),
}
OPTIONS = {
    "activation": ("activation_fn", "relu"),
    "embeddings_layer_norm": ("layernorm_embedding", False),
    "dropout": ("dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.0),
    "activation_dropout": ("activation_dropout", 0.0),
}
# Options that change the result, and that `Transformer` cannot compute.
UNSUPPORTED = (
    "adaptive_input",
    "adaptive_softmax_cutoff",
    "base_layers",
    "char_inputs",
    "cross_self_attention",
    "decoder_layers_to_keep",
    "decoder_xformers_att_config",
    "encoder_layers_to_keep",
    "encoder_xformers_att_config",
    "no_cross_attention",
    "no_decoder_final_norm",
    "no_token_positional_embeddings",
    "quant_noise_scalar",
)
MAX_POSITIONS = 10**5  # positions that fairseq's sinusoids have
# Names before 2019; those of the encoder lack the second norm.
OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
# The last ones are of 0.12, which replaces them by copies of others when it loads them.
NOT_WEIGHTS = (
    r"(en|de)coder\.(version|embed_positions\.(_float_tensor|weights)|"
    r"layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias))"
)


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return any(directory.glob("*.pt")) and any(directory.glob("dict.*.txt"))


def read(directory, languages=None):
    """Config, arrays and tokenizer of a directory; see `read_tokenizer`."""
    names = sorted(path.name for path in directory.glob("*.pt"))
    chosen = [name for name in CHECKPOINTS if name in names] or names
    if len(names) > 1 and chosen == names:
        raise ValueError(
            f"A directory must hold one checkpoint, or one of {', '.join(CHECKPOINTS)}."
            f" Received: {', '.join(names)} in `{directory}`. Remove the others."
        )
    path = directory / chosen[0]
    arrays, entries = open_training_checkpoint(path, "model")
    options = read_options(entries, path)
    arrays = rename(dict(arrays))
    _check_options(options, arrays, path)
    config = _read_config(options, arrays, path)
    _prepare(arrays, config, path)
    task_options = {
        "label_smoothing": options.get("label_smoothing") or 0.0,
        "smoothing_kind": "fairseq",
        "generation": {
            "num_beams": 5,
            "length_penalty": 1.0,
            "penalty": "fairseq",
            "max_new_tokens": min(200, _longest(options, "target") - 1) + 1,
            "min_new_tokens": 2,
            "last_token": END,
            "suppressed": [PAD],
        },
    }
    tokenizer = read_tokenizer(directory, options, config, languages)
    return config, arrays, {"options": task_options, "tokenizer": tokenizer}


def read_options(entries, path):
    """The options of a model, dict, from what a checkpoint holds beside the weights."""
    # "args" is a record of all options, or "cfg" is a dict of groups, in which "model"
    # is such a record or a dict with the groups "encoder" and "decoder".
    try:
        options, groups = _plain(entries.get("args")), _plain(entries.get("cfg"))
    except RecursionError as error:
        raise ValueError(f"The options of `{path}` must not be so deep.") from error
    if options is None:
        groups = groups if isinstance(groups, dict) else {}
        options = {}
        for name in ("task", "criterion", "model"):
            group = groups.get(name)
            options |= group if isinstance(group, dict) else {}
    if not isinstance(options, dict) or not options:
        raise ValueError(
            f"`{path}` must hold the options of its model as 'args' or 'cfg'. "
            f"Received: {sorted(map(str, entries))}."
        )
    for side in SIDES:
        group = options.pop(side, None)
        if isinstance(group, dict):
            options |= {f"{side}_{name}": value for name, value in group.items()}
    # A reference to another option has no value of its own.
    references = {k for k, v in options.items() if isinstance(v, str) and "${" in v}
    return {k: _single(v) for k, v in options.items() if k not in references}


def _plain(value, seen=None):
    """A stored value without omegaconf's records, which may refer to each other."""
    seen = {} if seen is None else seen  # the id of a stored dict to its plain one
    if not isinstance(value, dict):
        return value
    if id(value) not in seen:
        seen[id(value)] = {}  # where a record refers to itself
        inner = [name for name in ("_content", "_val") if name in value]
        if inner:
            seen[id(value)] = _plain(value[inner[0]], seen)
        else:
            items = {key: _plain(item, seen) for key, item in value.items()}
            seen[id(value)] = items
    return seen[id(value)]


def _single(value):
    """A single value; short text for a container, of which only emptiness matters."""
    # A pickle of a few bytes can hold a container that no memory holds as text.
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        return reprlib.repr(value) if value else None
    return value


def rename(arrays):
    """The arrays of a model of any age, by the names of fairseq 0.12."""
    found = {}
    for name, array in arrays.items():
        norm = re.fullmatch(r"((\w+)\.layers\.\d+\.)layer_norms\.(\d)(\.\w+)", name)
        fused = re.fullmatch(r"(.*_attn\.)in_proj_(weight|bias)", name)
        if norm and int(norm[3]) < len(OLD_NORMS.get(norm[2], ())):
            found[norm[1] + OLD_NORMS[norm[2]][int(norm[3])] + norm[4]] = array
        elif fused and len(array) % 3 == 0:
            for part, piece in zip("qkv", np.split(array, 3), strict=True):
                found[f"{fused[1]}{part}_proj.{fused[2]}"] = piece
        else:
            found[name] = array
    if "decoder.embed_out" in found:
        found["decoder.output_projection.weight"] = found.pop("decoder.embed_out")
    return found


def _check_options(options, arrays, path):
    """Raises if `Transformer` cannot compute the model."""
    for name in UNSUPPORTED:
        if options.get(name):
            raise ValueError(
                f"`{name}` of `{path}` must not be set; `Transformer` does not support "
                f"it. Received: {options[name]!r}."
            )
    width = _both_sides(options, path, "embed_dim", 512)
    for name in ("decoder_input_dim", "decoder_output_dim"):
        if options.get(name, width) != width:
            raise ValueError(
                f"`{name}` of `{path}` must equal decoder_embed_dim, {width}. "
                f"Received: {options[name]!r}."
            )
    if not _both_sides(options, path, "normalize_before", False):
        return
    # fairseq then leaves the last norm out.
    for side, least in zip(SIDES, (2, 3), strict=True):
        version = arrays.get(f"{side}.version", np.ones(1))
        if not version.size or version.reshape(-1)[0] < least:
            raise ValueError(
                f"`{path}` must be of a version whose {side} ends in a norm: "
                f"{side}.version must be at least {least} with normalize_before. "
                f"Received: {version.tolist()}."
            )


def _both_sides(options, path, name, default):
    """The value of an option that both sides have, and that must be the same."""
    first = options.get(f"encoder_{name}", default)
    second = options.get(f"decoder_{name}", first)
    if first != second:
        raise ValueError(
            f"`encoder_{name}` and `decoder_{name}` of `{path}` must be equal. "
            f"Received: {first!r} and {second!r}."
        )
    return first


def _read_config(options, arrays, path):
    """The config of a model."""
    for side in SIDES:
        name = f"{side}.embed_tokens.weight"
        if name not in arrays or arrays[name].ndim != 2:
            raise ValueError(
                f"`{path}` must hold an encoder and a decoder. Received: no matrix "
                f"{name!r}."
            )
    fields = {k: _both_sides(options, path, *v) for k, v in SIDE_OPTIONS.items()}
    fields |= {ours: options.get(*option) for ours, option in OPTIONS.items()}
    fields["activation"] = find_activation(
        "fairseq", fields["activation"], "activation_fn", f"`{path}`"
    )
    fields["activation_dropout"] = (
        fields["activation_dropout"] or options.get("relu_dropout") or 0.0
    )
    shared = bool(options.get("share_all_embeddings"))
    learned = _both_sides(options, path, "learned_pos", False)
    positions = [_longest(options, "source"), _longest(options, "target")]
    if learned and positions[0] != positions[1]:
        raise ValueError(
            f"`max_source_positions` and `max_target_positions` of `{path}` must be "
            f"equal, if positions are learned. Received: {positions}."
        )
    sizes = [len(arrays[f"{side}.embed_tokens.weight"]) for side in SIDES]
    tied = shared or bool(options.get("share_decoder_input_output_embed", False))
    fields |= {
        "vocabulary_size": sizes[0],
        "target_vocabulary_size": None if shared else sizes[1],
        "num_encoder_layers": options.get("encoder_layers", 6),
        "num_decoder_layers": options.get("decoder_layers", 6),
        "max_sequence_length": max(positions),
        "attention_bias": True,
        "positions": "learned" if learned else "tensor2tensor",
        "first_position": PAD + 1,
        "scale_embeddings": not options.get("no_scale_embedding", False),
        "zero_padding": True,
        "tied_output": tied,
        "layer_norm_epsilon": 1e-5,
        "pad_id": PAD,
    }
    names = {ours: f"encoder_{option}" for ours, (option, _) in SIDE_OPTIONS.items()}
    names |= {ours: option for ours, (option, _) in OPTIONS.items()}
    return make_config(TransformerConfig, fields, f"`{path}`", names)


def _longest(options, side):
    """The positions of a side."""
    longest = options.get(f"max_{side}_positions")
    return min(longest, MAX_POSITIONS) if isinstance(longest, int) else 1024


def _prepare(arrays, config, path):
    """Removes what is not a weight, and what is stored twice."""
    for name in [name for name in arrays if re.fullmatch(NOT_WEIGHTS, name)]:
        del arrays[name]
    tables = [f"{side}.embed_tokens.weight" for side in SIDES]
    copies = {}
    if config.tied_output:
        copies["decoder.output_projection.weight"] = tables[1]
    if config.target_vocabulary_size is None:
        copies[tables[1]] = tables[0]
    for copy, original in copies.items():
        if copy in arrays and not np.array_equal(arrays[copy], arrays[original]):
            raise ValueError(
                f"{copy!r} of `{path}` must equal {original!r}, because the options "
                "say that they are shared. Received: different arrays."
            )
        arrays.pop(copy, None)
    if config.positions == "learned":
        for side in SIDES:
            name = f"{side}.embed_positions.weight"
            if name in arrays:  # the rows up to that of padding belong to no token
                arrays[name] = arrays[name][PAD + 1 :]
