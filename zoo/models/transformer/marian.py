"""Reads the models of Marian itself, such as the original ones of OPUS-MT."""

import numpy as np

from zoo.backbone.config import make_config
from zoo.checkpoint import (
    find_activation,
    open_checkpoint,
    read_flat_yaml,
    warn_user,
    warn_without_tokenizer,
)
from zoo.checks.ranges import check_choice
from zoo.models.transformer.model import TransformerConfig

OPTIONS, ACTIVATION = "special:model.yml", "transformer-ffn-activation"
MAX_POSITIONS = 512  # positions; a file of Marian has no limit
# Our field to its name in model.yml.
FIELDS = {
    "hidden_dim": "dim-emb",
    "num_encoder_layers": "enc-depth",
    "num_decoder_layers": "dec-depth",
    "num_heads": "transformer-heads",
    "intermediate_dim": "transformer-dim-ffn",
}
# What every Transformer of Marian computes. The source code of its models passes 1e-6
# to the layer norm; 1e-9 is the default of the operation.
FIXED_FIELDS = {
    "attention_bias": True,
    "positions": "tensor2tensor",
    "scale_embeddings": True,
    "output_bias": True,
    "layer_norm_epsilon": 1e-6,
    "max_sequence_length": MAX_POSITIONS,
}
# Options, and the values that are known here; None for a file without the option.
SWITCHES = (
    "no-projection",
    "no-bias",
    "no-affine",
    "pool",
    "rnn-projection",
    "train-positions",
    "train-position-embeddings",
)
KNOWN_OPTIONS = {
    "type": ("transformer",),
    **dict.fromkeys(("input-types", "transformer-tied-layers"), ([], None)),
    **dict.fromkeys(("lemma-dim-emb", "ulr-dim-emb"), (0, None)),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2, None),
    "transformer-decoder-autoreg": ("self-attention", None),
    **dict.fromkeys(("right-left", "ulr"), (False, None)),
    **{f"transformer-{name}": (False, None) for name in SWITCHES},
}
# What stands before a sub-layer, after it, and at the end, to `norm_first`.
ORDERS = {("", "dan", ""): False, ("n", "da", "n"): True}
TABLES = "encoder_Wemb", "decoder_Wemb"
LOGITS_KERNEL, LOGITS_BIAS = "decoder_ff_logit_out_W", "decoder_ff_logit_out_b"


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return any(map(_is_model, directory.glob("*.npz")))


def _is_model(path):
    """Whether a file is a model of Marian; False for a damaged file."""
    try:
        return not {"encoder_l1_self_Wq", OPTIONS}.isdisjoint(open_checkpoint(path))
    except ValueError:
        return False


def read(directory):
    """Config, arrays and tokenizer of a directory; the search is Hugging Face's."""
    paths = sorted(directory.glob("*.npz"))
    if len(paths) > 1:
        raise ValueError(
            "A directory must hold one model of Marian. Received: "
            f"{', '.join(path.name for path in paths)} in `{directory}`."
        )
    where = f"{OPTIONS!r} of `{paths[0]}`"
    arrays = dict(open_checkpoint(paths[0]))
    config = read_config(read_options(arrays, where), where)
    add_padding(arrays, config, f"`{paths[0]}`")
    # Vectors have a row of their own; the names of norms tell where they stand.
    vectors = {k: v[0] for k, v in arrays.items() if v.ndim == 2 and len(v) == 1}
    arrays = {k.removesuffix("_pre"): v for k, v in {**arrays, **vectors}.items()}
    tokenizer = read_tokenizer(directory, config.pad_id)
    vocabulary = tokenizer["vocabulary"] if tokenizer else {}
    generation = {
        "penalty": "hugging_face",
        "suppressed": [config.pad_id],
        "renormalize": True,
        "last_token": vocabulary.get("</s>", 0),
        **read_search(directory),
    }
    options = {"generation": generation}
    return config, arrays, {"tokenizer": tokenizer, "options": options}


def read_options(arrays, where):
    """Takes the options out of the arrays of a file, dict."""
    if OPTIONS not in arrays:
        raise ValueError(
            f"A model of Marian must have its options. Received: no {where}. Marian "
            "writes them when it saves a model."
        )
    content = np.asarray(arrays.pop(OPTIONS)).tobytes().rstrip(b"\0")
    try:
        return read_flat_yaml(content.decode("utf-8"), where)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} must be UTF-8. Received: {error}.") from error


def read_config(values, where):
    """The `TransformerConfig` of the options of Marian."""
    order = check_options(values, where)
    everything = bool(values.get("tied-embeddings-all"))
    shared = everything or bool(values.get("tied-embeddings-src"))
    size = values["dim-vocabs"][0] + 1
    fields = {
        **{ours: values[name] for ours, name in FIELDS.items()},
        **FIXED_FIELDS,
        "vocabulary_size": size,
        "target_vocabulary_size": None if shared else size,
        "activation": find_activation(
            "marian", values.get(ACTIVATION), ACTIVATION, where
        ),
        "norm_first": ORDERS[order],
        "embeddings_layer_norm": "n" in values["transformer-postprocess-emb"],
        "tied_output": everything or bool(values.get("tied-embeddings")),
        "pad_id": size - 1,
    }
    return make_config(TransformerConfig, fields, where, FIELDS)


def check_options(values, where):
    """Checks that `Transformer` can compute a model; returns a key of `ORDERS`."""
    missing = sorted({*FIELDS.values(), "dim-vocabs"} - {*values})
    if missing:
        raise ValueError(f"{where} must have the values {', '.join(missing)}.")
    inner = values[FIELDS["intermediate_dim"]]
    known = {
        **KNOWN_OPTIONS,
        "transformer-postprocess-emb": ("d", "", "n", "nd"),
        "transformer-decoder-dim-ffn": (inner, 0, None),
    }
    for name, admitted in known.items():
        check_choice(name, values.get(name), admitted, f"The file is {where}.")
    sizes = values["dim-vocabs"]
    equal = isinstance(sizes, list) and len(sizes) == 2 and sizes[0] == sizes[1]
    if not equal or type(sizes[0]) is not int:
        raise ValueError(
            "`dim-vocabs` must be two equal sizes, so that the token of padding that "
            f"is added has one id. Received: {sizes!r} in {where}."
        )
    order = tuple(
        values.get(f"transformer-{part}") or ""
        for part in ("preprocess", "postprocess", "postprocess-top")
    )
    if order not in ORDERS:
        raise ValueError(
            "`transformer-preprocess`, `transformer-postprocess` and "
            f"`transformer-postprocess-top` must be one of {[*ORDERS]}. Received: "
            f"{order} in {where}."
        )
    return order


def add_padding(arrays, config, where):
    """Adds a row for padding, which is zero, to the tables, logits and their bias."""
    pad, shared = config.pad_id, config.target_vocabulary_size is None
    arrays.setdefault(LOGITS_BIAS, np.zeros((1, pad), "float32"))
    names = [*(["Wemb"] if shared else TABLES), LOGITS_BIAS]
    if not config.tied_output:
        names.append(LOGITS_KERNEL)
    for name in names:
        if name not in arrays or arrays[name].ndim != 2:
            raise ValueError(
                f"{where} must hold {name!r}, an array of two dimensions. Received: "
                f"{[*arrays][:5]} and others."
            )
        columns = name in (LOGITS_BIAS, LOGITS_KERNEL)
        arrays[name] = np.pad(arrays[name], [(0, not columns), (0, columns)])


def read_tokenizer(directory, pad):
    """The arguments of `zoo.text.MarianTokenizer`, or None without its files."""
    models = [directory / f"{side}.spm" for side in ("source", "target")]
    vocabularies = sorted(directory.glob("*vocab.yml"))
    if len(vocabularies) != 1 or not all(path.is_file() for path in models):
        warn_without_tokenizer(directory, "source.spm, target.spm and one *vocab.yml")
        return None
    path = vocabularies[0]
    vocabulary = read_flat_yaml(path.read_text("utf-8"), f"`{path}`")
    if len(vocabulary) != pad:
        raise ValueError(
            "A vocabulary must have a piece for every row of its table. Received: "
            f"{len(vocabulary)} pieces in `{path}`, and {pad} rows."
        )
    return {
        "source_model": models[0].read_bytes(),
        "target_model": models[1].read_bytes(),
        "vocabulary": {**vocabulary, "<pad>": pad},
    }


def read_search(directory):
    """Options of a generation in `decoder.yml`, a dict; empty without the file."""
    path = directory / "decoder.yml"
    if not path.is_file():
        warn_user(
            f"{directory} must hold decoder.yml, which says how Marian searches. "
            "Received: no such file. The search is greedy unless you pass `num_beams`."
        )
        return {}
    values = read_flat_yaml(path.read_text("utf-8"), f"`{path}`")
    names = {"num_beams": "beam-size", "length_penalty": "normalize"}
    return {ours: values[name] for ours, name in names.items() if name in values}
