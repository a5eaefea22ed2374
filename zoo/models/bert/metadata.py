"""Reads the files beside the weights: configuration, vocabulary and labels."""

import re

from zoo.checkpoint import (
    check_supported,
    check_values,
    default_labels,
    find_activation,
    read_json,
    read_keras_nlp,
    read_lines,
    warn_of_added_tokens,
    warn_without_tokenizer,
)
from zoo.checks.user_warnings import warn_user
from zoo.models.bert.model import BERTConfig

# Our field to its name in bert_config.json and in Hugging Face's config.json.
SIZES = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
FIELDS = {
    **SIZES,
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
}
# Options of Hugging Face, and the values that `BERT` computes.
SUPPORTED = {
    "model_type": ("bert", None),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "pruned_heads": ({}, None),
}
# Classes of Hugging Face that split texts as Google's code, and what their files have
# then: the steps in tokenizer.json, its model, and options of tokenizer_config.json.
TOKENIZERS = (
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "PreTrainedTokenizer",
    "TokenizersBackend",
)
STEPS = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
MODEL = {"unk_token": "[UNK]", "continuing_subword_prefix": "##"}
SPLITTERS = {"word_tokenizer_type": "basic", "subword_tokenizer_type": "wordpiece"}
FRAME = "[CLS] A [SEP]"
VOCABULARIES = {
    "keras_nlp": "assets/tokenizer/vocabulary.txt",
    "hugging_face": "vocab.txt or tokenizer.json",
}
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
GOOGLE_LAYOUTS = ("google", "model_garden")
# Values that are constants in keras-nlp: in the encoder, and in the masked LM head.
KERAS_NLP_ENCODER = {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-12}
KERAS_NLP_HEAD = {"activation": "gelu", "layer_norm_epsilon": 1e-5}
KERAS_NLP_FIELDS = (*SIZES, "dropout")


def head_options(config):
    """The arguments that the head of a masked language model has from its encoder."""
    return {name: getattr(config, name) for name in KERAS_NLP_HEAD}


def read_config(directory, layout):
    """The path of the config, the arguments of `BERTConfig`, and all its values."""
    google = layout in GOOGLE_LAYOUTS
    path = directory / ("bert_config.json" if google else "config.json")
    if not path.is_file():
        raise FileNotFoundError(
            f"A checkpoint of layout {layout!r} must have a configuration. There is no "
            f"`{path}`."
        )
    if layout == "keras_nlp":
        fields = read_keras_nlp(path, "BertBackbone", KERAS_NLP_FIELDS)
        fields["attention_dropout"] = fields["dropout"]
        return path, {**fields, **KERAS_NLP_ENCODER}, {}
    values = read_json(path)
    if google:
        check_values(values, FIELDS.values(), path)
        program, default = "google", None
    else:
        check_supported(values, SUPPORTED, path, "BERT")
        program, default = "hugging_face", "gelu"
    activation, where = values.get("hidden_act", default), f"`{path}`"
    fields = {k: values.get(v, getattr(BERTConfig, k)) for k, v in FIELDS.items()}
    fields |= {
        "activation": find_activation(program, activation, "hidden_act", where),
        "layer_norm_epsilon": values.get("layer_norm_eps", 1e-12),
        "pad_id": values.get("pad_token_id") or 0,
    }
    return path, fields, values


def read_labels(names, num_classes):
    """The names of `num_classes` outputs, from `id2label` or None; None for 0."""
    if not num_classes:
        return None
    names = names or {str(i): v for i, v in enumerate(default_labels(num_classes))}
    if set(names) != {str(i) for i in range(num_classes)}:
        raise ValueError(
            "`id2label` must name every output of the classifier. Received: "
            f"{names} for {num_classes} outputs."
        )
    return tuple(names[key] for key in sorted(names, key=int))


def read_tokenizer(directory, layout, vocabulary_size, values):
    """The vocabulary, and whether it is lower-case, a dict; None with a warning."""
    path, advice = directory / "vocab.txt", ""
    if layout == "keras_nlp":
        path = directory / VOCABULARIES[layout]
        vocabulary = _read_vocabulary(path)
        config = read_json(directory / "tokenizer.json", optional=True)
        # `strip_accents` is ignored. It is False even for models without accents.
        lowercase = config.get("config", {}).get("lowercase", False)
        if vocabulary and not config:
            lowercase = _infer_lowercase(directory, vocabulary, "tokenizer.json")
    elif layout == "hugging_face":
        vocabulary, lowercase = _hugging_face_tokenizer(directory, values)
        if (directory / "tokenizer.json").is_file():
            path = directory / "tokenizer.json"
            advice = " to a vocab.txt with all tokens, and remove tokenizer.json"
    else:
        vocabulary = _read_vocabulary(path)
        lowercase = _guess_lowercase(directory, vocabulary)
    if vocabulary is None:
        warn_without_tokenizer(directory, VOCABULARIES.get(layout, path.name))
        return None
    if len(vocabulary) != vocabulary_size:
        raise ValueError(
            "The vocabulary must have a token for every row of the embedding. "
            f"Received: {len(vocabulary)} tokens, {vocabulary_size} rows, in `{path}`. "
            f"If the table is padded, append lines such as [unused0]{advice}."
        )
    return {"vocabulary": vocabulary, "lowercase": lowercase}


def _read_vocabulary(path):
    """Reads tokens as Google's code does: token n is line n, stripped. Or None."""
    if not path.is_file():
        return None
    # A token of white space, as in the Chinese vocabulary, is left as it is.
    return tuple(line.strip() or line for line in read_lines(path))


def _hugging_face_tokenizer(directory, values):
    """Returns the vocabulary, or None, and whether it is lower-case."""
    config = read_json(directory / "tokenizer_config.json", optional=True)
    fast = read_json(directory / "tokenizer.json", optional=True)
    normalizer = fast.get("normalizer") or {}
    options = {
        "lowercase": config.get("do_lower_case", normalizer.get("lowercase", True)),
        "strip_accents": config.get("strip_accents", normalizer.get("strip_accents")),
        "chinese": config.get(
            "tokenize_chinese_chars", normalizer.get("handle_chinese_chars", True)
        ),
    }
    vocabulary = _read_vocabulary(directory / "vocab.txt")
    if vocabulary and not fast and "do_lower_case" not in config:
        options["lowercase"] = _infer_lowercase(
            directory, vocabulary, "`do_lower_case` in tokenizer_config.json", True
        )
    lowercase = options["lowercase"]
    if config or fast or vocabulary:
        _check_splitting(directory, config, values, fast)
    if options["strip_accents"] not in (None, lowercase) or options["chinese"] is False:
        raise ValueError(
            "A tokenizer must strip accents exactly if it lower-cases, and split "
            f"Chinese characters, as Google's does. Received: {options} in "
            f"`{directory}`."
        )
    # transformers prefers tokenizer.json. Only this file has tokens added later.
    if fast:
        model = fast.get("model", {})
        ids = {token["content"]: token["id"] for token in fast.get("added_tokens", ())}
        ids = {**model.get("vocab", {}), **ids}
        known = model.get("type", "WordPiece") == "WordPiece"
        if not known or sorted(ids.values()) != list(range(len(ids))):
            raise ValueError(
                f"`{directory}/tokenizer.json` must hold a WordPiece vocabulary with "
                f"ids from 0 without gaps. Received: {model.get('type')!r}, {len(ids)} "
                "tokens."
            )
        vocabulary = tuple(sorted(ids, key=ids.get))
    return vocabulary, lowercase


def _check_splitting(directory, config, values, fast):
    """Checks that a tokenizer splits texts as Google's, and warns of added tokens."""
    kind = config.get("tokenizer_class") or values.get("tokenizer_class")
    kind = str(kind or TOKENIZERS[0]).removesuffix("Fast")
    model = fast.get("model") or {}
    known = {**STEPS, **MODEL, **SPLITTERS, "post_processor": FRAME}
    found = {
        **{k: (fast.get(k) or {}).get("type", default) for k, default in STEPS.items()},
        **{k: model.get(k, default) for k, default in MODEL.items()},
        **{k: config.get(k) or default for k, default in SPLITTERS.items()},
        "post_processor": _read_frame(fast),
    }
    wrong = {name: value for name, value in found.items() if value != known[name]}
    if kind not in TOKENIZERS or wrong:
        raise ValueError(
            f"A tokenizer must be one of {', '.join(TOKENIZERS)}, with {known}. "
            f"Received: {kind}, with {wrong or 'these values'}, in `{directory}`. "
            "Remove the files of the tokenizer to read the weights alone."
        )
    added = [token.get("content") for token in fast.get("added_tokens", ())]
    warn_of_added_tokens(directory, [t for t in added if t not in SPECIALS])


def _read_frame(fast):
    """What a tokenizer.json puts around a text A, such as "[CLS] A [SEP]"."""
    rule = fast.get("post_processor", {"type": "BertProcessing"}) or {}
    if rule.get("type") == "BertProcessing":
        return FRAME
    if rule.get("type") != "TemplateProcessing":
        return rule.get("type")
    items = rule.get("single") or ()
    return " ".join(part["id"] for item in items for part in item.values())


def _infer_lowercase(directory, vocabulary, missing, default=None):
    """The case of a vocabulary whose options are missing; a warning if it matters."""
    lowercase = _guess_lowercase(directory, vocabulary)
    if lowercase != default:
        warn_user(
            f"{directory} must hold {missing}, which says whether texts are "
            "lower-cased. Received: none. By its name or its vocabulary, the model "
            f"{'lower-cases' if lowercase else 'does not lower-case'} them."
        )
    return lowercase


def _guess_lowercase(directory, vocabulary):
    """Guesses the case from the directory's name, or else from the vocabulary."""
    name = directory.resolve().name.lower()
    # "uncased" contains "cased".
    if "cased" in name:
        return "uncased" in name
    words = [token for token in vocabulary or () if not re.fullmatch(r"\[.*\]", token)]
    return all(token == token.lower() for token in words)
