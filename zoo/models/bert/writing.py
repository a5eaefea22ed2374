"""Writes our BERT as a directory that another library loads."""

from zoo.checkpoint import (
    HUGGING_FACE_WEIGHTS,
    KERAS_NLP_WEIGHTS,
    Row,
    convert,
    default_labels,
    keras_object,
    name_activation,
    revert,
    write_directory,
)
from zoo.checks.ranges import check_choice
from zoo.models.bert import metadata
from zoo.models.bert.metadata import KERAS_NLP_ENCODER, KERAS_NLP_HEAD
from zoo.models.bert.shapes import shapes
from zoo.models.bert.tables import HEADS, LAYOUTS

# Heads, and whether there is a pooler, to the Hugging Face class with exactly these.
ARCHITECTURES = {
    ((), True): "BertModel",
    ((), False): "BertModel",
    (("masked_lm_head",), True): "BertForMaskedLM",
    (("masked_lm_head",), False): "BertForMaskedLM",
    (("masked_lm_head", "next_sentence"), True): "BertForPreTraining",
    (("next_sentence",), True): "BertForNextSentencePrediction",
    (("classifier",), True): "BertForSequenceClassification",
    (("classifier",), False): "BertForTokenClassification",
    (("spans",), True): "BertForQuestionAnswering",
    (("spans",), False): "BertForQuestionAnswering",
}
# What a classifier labels, see `Converted.classifies`, to the class for it.
CLASSIFIERS = {
    "texts": "BertForSequenceClassification",
    "numbers": "BertForSequenceClassification",
    "words": "BertForTokenClassification",
    "choices": "BertForMultipleChoice",
}
# A head to keras-nlp's class for it, and to the module of the class.
TASKS = {
    "masked_lm_head": ("BertMaskedLM", "bert.bert_masked_lm"),
    "classifier": ("BertTextClassifier", "bert.bert_text_classifier"),
}


def write(
    directory,
    layout,
    config,
    weights,
    tokenizer=None,
    labels=None,
    head_options=None,
    config_fields=None,
    extra_documents=None,
):
    """Writes a directory that another library loads, complete or not at all.

    keras-nlp has no place for `initializer_range` and `pad_id`, which change no output,
    and its tokenizer differs from Google's in rare characters.

    Args:
        directory: str or `Path`, missing or empty.
        layout: "hugging_face" or "keras_nlp".
        config: `BERTConfig`.
        weights: dict of path to array, for the encoder and for the heads to write.
        tokenizer, head_options: see `Converted`; by default none, and the encoder's.
        labels: tuple of str, names of the classifier's outputs.
        config_fields: dict, more fields of Hugging Face's config.json.
        extra_documents: dict of file name to more JSON files.

    Raises:
        FileExistsError: if the directory is not empty.
        ValueError: if the layout is unknown or cannot hold this model, or if weights,
            vocabulary, labels and config do not agree.
    """
    check_choice("layout", layout, sorted(WRITERS))
    heads = tuple(h for h in HEADS if any(name.startswith(f"{h}/") for name in weights))
    num_classes = len(weights.get("classifier/bias", ()))
    _check(config, tokenizer, labels, num_classes)
    expected = shapes(config, heads, num_classes)
    weights = convert(weights, [Row(path, path) for path in expected], expected)
    fields = head_options or metadata.head_options(config)
    documents = WRITERS[layout](config, heads, fields, tokenizer, labels, num_classes)
    if layout == "hugging_face":
        documents["config.json"] |= config_fields or {}
    documents |= extra_documents or {}
    rows = LAYOUTS[layout].written(config, heads)
    arrays = _weight_files(layout, revert(weights, rows, config.num_heads))
    write_directory(directory, documents, arrays)


def head_options_of(contents):
    """The arguments of the head that a `Converted` to write has."""
    return {
        name: contents.options.get(f"head_{name}") or getattr(contents.config, name)
        for name in KERAS_NLP_HEAD
    }


def held_heads(layout, contents):
    """As many heads of a `Converted` as a layout has a class for, tuple of str."""
    config, head_options = contents.config, head_options_of(contents)
    if layout == "hugging_face":
        fixed = metadata.head_options(config)
        known = [heads for heads, pooler in ARCHITECTURES if pooler == config.pooler]
    else:
        fixed, known = KERAS_NLP_HEAD, [(), *((head,) for head in TASKS)]
    heads = {*contents.heads}
    if head_options != fixed:
        heads -= {"masked_lm_head"}
    return max((names for names in known if heads >= {*names}), key=len)


def _check(config, tokenizer, labels, num_classes):
    """Raises if the vocabulary or the labels do not agree with the model."""
    if config.causal:
        raise ValueError(
            'A causal BERT must be in layout "zoo". Received: causal=True.'
        )
    tokens = len(tokenizer["vocabulary"]) if tokenizer else config.vocabulary_size
    if tokens != config.vocabulary_size:
        raise ValueError(
            "The vocabulary must have a token for every row of the embedding. "
            f"Received: {tokens} tokens, {config.vocabulary_size} rows."
        )
    if labels and len(labels) != num_classes:
        raise ValueError(
            "`labels` must name every output of the classifier. Received: "
            f"{tuple(labels)} for {num_classes} outputs."
        )


def _hugging_face(config, heads, head_options, tokenizer, labels, num_classes):
    """The files beside the weights that `transformers` reads, by their names."""
    if (heads, config.pooler) not in ARCHITECTURES:
        raise ValueError(
            "`weights` must hold heads, with or without pooler, for which Hugging Face "
            f"has a class: {sorted(ARCHITECTURES)}. Received: "
            f"{(heads, config.pooler)}. Choose heads with `heads=`; "
            "`heads=()` writes the backbone alone."
        )
    encoder = {name: getattr(config, name) for name in head_options}
    if "masked_lm_head" in heads and head_options != encoder:
        raise ValueError(
            "Hugging Face's masked language model always has the encoder's options, "
            f"{encoder}. Received: {head_options}. Leave the head out with `heads=`."
        )
    values = {v: getattr(config, k) for k, v in metadata.FIELDS.items()}
    values |= {
        "model_type": "bert",
        "architectures": [ARCHITECTURES[heads, config.pooler]],
        "hidden_act": name_activation("hugging_face", config.activation),
        "layer_norm_eps": config.layer_norm_epsilon,
        "pad_token_id": config.pad_id,
    }
    if num_classes:
        # Without names, transformers assumes two outputs.
        labels = labels or default_labels(num_classes)
        values["id2label"] = {str(i): label for i, label in enumerate(labels)}
        values["label2id"] = {label: i for i, label in enumerate(labels)}
    documents = {"config.json": values}
    if tokenizer:
        documents["vocab.txt"] = tokenizer["vocabulary"]
        documents["tokenizer_config.json"] = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": tokenizer["lowercase"],
            "model_max_length": config.max_sequence_length,
        }
    return documents


def _keras_nlp(config, heads, head_options, tokenizer, labels, num_classes):
    """The files of a keras-nlp preset beside the weights, by their names."""
    fixed = {**KERAS_NLP_ENCODER, "attention_dropout": config.dropout, "pooler": True}
    received = {name: getattr(config, name) for name in fixed}
    if received != fixed:
        raise ValueError(
            f"keras-nlp's BERT always has {fixed}. Received: {received}. Write layout "
            '"hugging_face" instead.'
        )
    named = labels and tuple(labels) != default_labels(len(labels))
    if named or heads not in ((), *((head,) for head in TASKS)):
        raise ValueError(
            f"keras-nlp holds one head of {sorted(TASKS)}, and no labels. Received: "
            f"{heads}, {labels}. Choose one with `heads=`; `heads=()` writes the "
            "backbone alone."
        )
    if "masked_lm_head" in heads and head_options != KERAS_NLP_HEAD:
        raise ValueError(
            f"keras-nlp's masked language model always has {KERAS_NLP_HEAD}. Received: "
            f"{head_options}. Leave the head out with `heads=` and train it there."
        )
    fields = {name: getattr(config, name) for name in metadata.KERAS_NLP_FIELDS}
    backbone = keras_object("BertBackbone", "bert.bert_backbone", **fields)
    documents = {"config.json": backbone}
    if tokenizer:
        case = tokenizer["lowercase"]
        # By default, keras-nlp keeps accents when it lower-cases.
        options = {"vocabulary": None, "lowercase": case, "strip_accents": case}
        options = keras_object("BertTokenizer", "bert.bert_tokenizer", **options)
        documents["tokenizer.json"] = options
        documents["assets/tokenizer/vocabulary.txt"] = tokenizer["vocabulary"]
    if heads:
        task, module = TASKS[heads[0]]
        contents = {"backbone": backbone, "preprocessor": None}
        if tokenizer:
            contents["preprocessor"] = documents["preprocessor.json"] = keras_object(
                f"{task}Preprocessor",
                f"{module}_preprocessor",
                tokenizer=options,
                sequence_length=config.max_sequence_length,
            )
        if num_classes:
            contents["num_classes"] = num_classes
        documents["task.json"] = keras_object(task, module, **contents)
    return documents


WRITERS = {"hugging_face": _hugging_face, "keras_nlp": _keras_nlp}


def _weight_files(layout, arrays):
    """Returns the arrays of each file by its name."""
    if layout == "hugging_face":
        # Tied arrays are written once. transformers ties them again when it loads.
        return {HUGGING_FACE_WEIGHTS[0]: arrays}
    model = {n: a for n, a in arrays.items() if not n.startswith("task/")}
    task = {n.removeprefix("task/"): arrays[n] for n in arrays if n not in model}
    files = {KERAS_NLP_WEIGHTS: model, "task.weights.h5": task}
    return {name: tensors for name, tensors in files.items() if tensors}
