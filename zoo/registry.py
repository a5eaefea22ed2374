"""Preset name, directory or URI to a model; the only module that knows every family."""

import dataclasses
import difflib
import inspect
import pathlib
import warnings

import keras

from zoo import presets
from zoo.backbone import check_fields
from zoo.checkpoint import assign
from zoo.files import check_archive
from zoo.models import FAMILIES
from zoo.saving import preset_variables
from zoo.tasks import TASKS
from zoo.text import (
    CharacterTokenizer,
    TaggerTokenizer,
    UnicodeSpeller,
    WordPieceTokenizer,
)
from zoo.training import AdamW, WarmupLinearDecay

TOKENIZERS = {
    "bert": WordPieceTokenizer,
    "elmo": CharacterTokenizer,
    "taglm": TaggerTokenizer,
}
for tokenizer_class in (*TOKENIZERS.values(), UnicodeSpeller):
    keras.saving.register_keras_serializable(package="zoo")(tokenizer_class)

LEARNING_RATES = {"bert": 5e-5, "elmo": 1e-3, "taglm": 1e-3, "masked_lm": 1e-4}
WARMUP_STEPS = 50
KERAS_MEMBERS = ("config.json", "metadata.json", "model.weights.h5")
PRETRAINED_HEADS = SPARE_HEADS = ("masked_lm_head", "next_sentence", "softmax")


@dataclasses.dataclass(frozen=True)
class Source:
    """What a preset of any layout holds.

    Args:
        family: module of the family.
        config: dict, fields of the family's config.
        weights: dict of our variable path to float32 array, heads included.
        tokenizer: dict of the tokenizer's arguments, or None.
        task: name of the saved task, or None.
        task_options: dict, arguments of the saved task.
        head_options: dict, arguments of `MaskedLM` for the heads among the weights.
        parts: dict of name to the record of a part, see `zoo.backbone.Backbone`.
    """

    family: object
    config: dict
    weights: dict
    tokenizer: dict | None
    task: str | None
    task_options: dict
    head_options: dict
    parts: dict = dataclasses.field(default_factory=dict)


def from_preset(
    preset, task="auto", *, dtype=None, load_weights=True, seed=None, **options
):
    """Makes a model from a preset.

    Args:
        preset: shipped or published name (`zoo.list_presets()`), a directory, or a
            URI, `hf://owner/name` or `kaggle://owner/...`. Directories of other
            libraries, such as Hugging Face or AllenNLP, are recognised and converted.
        task: "text_classifier", "text_regressor", "token_classifier", "text_embedder",
            "masked_lm", "language_model"; "auto" for the saved task, or the backbone
            if none was saved; None for the backbone, which has the `.tokenizer`
            attached and takes what `zoo.data.Packer` makes with it.
        dtype: policy of the model, such as "mixed_bfloat16".
        load_weights: bool, False leaves the weights random.
        seed: int, of random weights, such as a new head's; sets Keras' seeds.
        **options: arguments of the task, such as `labels=["no", "yes"]` and
            `sequence_length=128`, and fields of the config, such as `dropout=0.0`.

    Returns:
        keras.Model: a compiled `zoo.tasks.Task`, or a `zoo.backbone.Backbone`.

    Raises:
        KeyError: if the name is unknown, with the nearest ones.
        FileNotFoundError: if files are missing and cannot be fetched.
        ValueError: if a task or an option is unknown, or the weights do not fit.
    """
    if task not in ("auto", None, *TASKS):
        raise ValueError(
            f'`task` must be "auto", None or one of {sorted(TASKS)}. Received: '
            f"{task!r}."
        )
    source = _read(presets.find_preset(preset))
    if task == "auto":
        task = source.task
    config_options, task_options = _split_options(source, task, options)
    if seed is not None:
        keras.utils.set_random_seed(seed)
    backbone = build_backbone(
        source.family.BACKBONE.family,
        {**source.config, **config_options},
        dtype,
        {name: _build_part(record, dtype) for name, record in source.parts.items()},
    )
    backbone.tokenizer = source.tokenizer and build_tokenizer(
        backbone.family, source.tokenizer
    )
    backbone.head_options = source.head_options
    model = (
        backbone if task is None else _build_task(backbone, task, task_options, source)
    )
    if load_weights and preset in presets.list_presets():
        # Only a shipped preset has a checksum that others can refer to.
        backbone.origin = preset if presets.preset_info(preset).get("weights") else None
    if load_weights:
        _load(model, backbone, source.weights, _keeps_head(model, task, source))
    if task is not None:
        rate = LEARNING_RATES.get(task, LEARNING_RATES[backbone.family])
        model.compile(AdamW(WarmupLinearDecay(rate, WARMUP_STEPS)))
    return model


def _build_task(backbone, task, options, source):
    """The task, with the saved options where it is the saved task."""
    if task == "masked_lm":
        options = {**source.head_options, **options}
    if task == source.task:
        options = {**source.task_options, **options}
    return TASKS[task](backbone, backbone.tokenizer, **options)


def _keeps_head(model, task, source):
    """Whether the model is the saved task with the saved labels."""
    if task is None or task != source.task:
        return False
    return list(model.labels or ()) == list(source.task_options.get("labels") or ())


def load_model(path, **kwargs):
    """Loads a `.keras` file of this package, in any process.

    Args:
        path: str or path.
        **kwargs: of `keras.saving.load_model`.

    Returns:
        keras.Model, compiled if it was.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, or is a directory.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(
            f"A `.keras` file is needed. Received: {path}, a directory. Load the "
            "directory of a preset with `from_preset`."
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"No such file: {path}. For a preset directory, use `from_preset`."
        )
    if path.suffix == ".keras":
        # Keras does not compare all checksums, and calls a damaged file missing.
        check_archive(path, KERAS_MEMBERS)
    return keras.saving.load_model(path, **kwargs)


def _build_part(record, dtype):
    """A part of a backbone: of another preset, or with random weights.

    Raises:
        ValueError: if the other preset has changed since.
    """
    if "preset" not in record:
        part = build_backbone(record["family"], record["backbone"], dtype)
        if record.get("tokenizer"):
            part.tokenizer = build_tokenizer(record["family"], record["tokenizer"])
        return part
    found = presets.preset_info(record["preset"]).get("weights", {}).get("sha256")
    if found != record["sha256"]:
        raise ValueError(
            f"The preset refers to {record['preset']!r} with the checksum "
            f"{record['sha256']}. Received: one with {found}. Train it anew on that."
        )
    return from_preset(record["preset"], task=None, dtype=dtype)


def build_backbone(family, config, dtype=None, parts=None):
    """A backbone with random weights.

    Args:
        family: str, such as "bert".
        config: dict, fields of the family's config.
        dtype: policy of the model.
        parts: dict of name to backbone, for a family that has some.

    Returns:
        zoo.backbone.Backbone.

    Raises:
        ValueError: if the family or a field is unknown.
    """
    _check_family(family)
    backbone_class = FAMILIES[family].BACKBONE
    check_fields(backbone_class.__name__, backbone_class.config_class, config)
    config = backbone_class.config_class(**config)
    return backbone_class(config, dtype=dtype, parts=parts)


def build_tokenizer(family, arguments):
    """The tokenizer of a preset.

    Args:
        family: str, such as "bert".
        arguments: dict; characters of its own make it a `UnicodeSpeller`.

    Returns:
        A tokenizer of `zoo.text`.
    """
    own = "characters" in arguments
    return (UnicodeSpeller if own else TOKENIZERS[family])(**arguments)


def _check_family(family):
    if family not in FAMILIES:
        raise ValueError(
            f"`family` must be one of {sorted(FAMILIES)}. Received: {family!r}."
        )


def _read(directory):
    """The `Source` in a directory of any layout."""
    if (directory / presets.RECORD).is_file():
        record, arrays, vocabulary = presets.read_preset(directory)
        _check_family(record["family"])
        tokenizer = record.get("tokenizer")
        if vocabulary is not None:
            tokenizer = {**tokenizer, "vocabulary": vocabulary}
            tokenizer.pop("sha256", None)
        saved = record.get("task") or {}
        return Source(
            FAMILIES[record["family"]],
            record["backbone"],
            arrays,
            tokenizer,
            saved.get("name"),
            saved.get("options", {}),
            record.get("head_options") or {},
            record.get("parts") or {},
        )
    for family in FAMILIES.values():
        if family.recognise(directory):
            return _converted(family, family.read(directory))
    raise FileNotFoundError(
        f"{directory} holds no preset that zoo knows: no {presets.RECORD}, and no "
        "config, weights and vocabulary of Google, the model garden, Hugging Face, "
        "keras-nlp, bilm-tf, AllenNLP or ELMoForManyLangs. It holds "
        f"{sorted(p.name for p in directory.iterdir())[:10]}."
    )


def _converted(family, found):
    task, options = None, {}
    of_texts = found.architecture in (None, "BertForSequenceClassification")
    if "classifier" in found.heads and found.labels and of_texts:
        task, options = "text_classifier", {"labels": list(found.labels)}
    elif found.pooling:
        task = "text_embedder"
        options = {
            "pooling": found.pooling,
            "normalize": found.normalize,
            "sequence_length": found.sequence_length,
        }
    config = dataclasses.asdict(found.config)
    head_options = {}
    if "masked_lm_head" in found.heads:
        head_options = {f"head_{k}": v for k, v in found.head_options.items()}
    return Source(
        family, config, found.weights, found.tokenizer, task, options, head_options
    )


def _split_options(source, task, options):
    """Options of the config and options of the task; an unknown one is an error."""
    config_class = source.family.BACKBONE.config_class
    fields = {field.name for field in dataclasses.fields(config_class)}
    accepted = set()
    if task is not None:
        accepted = set(inspect.signature(TASKS[task].__init__).parameters)
        accepted |= {"sequence_length", "pair", "name"}
        accepted -= {"self", "backbone", "tokenizer", "kwargs"}
    known = sorted(fields | accepted)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"Unknown option for task {task!r}. Received: {name!r}. Did you mean "
                f"{near!r}? It takes {', '.join(known)}."
            )
    return (
        {k: v for k, v in options.items() if k not in accepted},
        {k: v for k, v in options.items() if k in accepted},
    )


def _load(model, backbone, weights, strict):
    """Assigns what the preset holds; a head that it lacks stays random."""
    paths = backbone.variable_paths()
    variables = {paths.get(id(v), v.path): v for v in preset_variables(model)}
    for name, part in backbone.parts.items():
        if part.origin:  # loaded already
            variables = {
                k: v for k, v in variables.items() if not k.startswith(f"{name}/")
            }
    own = {paths.get(id(v), v.path) for v in backbone.variables}
    if not strict:
        weights = {k: v for k, v in weights.items() if not k.startswith("classifier/")}
    for head in {path.split("/")[0] for path in variables if path not in own}:
        paths = [path for path in variables if path.startswith(f"{head}/")]
        fits = [
            path in weights and weights[path].shape == tuple(variables[path].shape)
            for path in paths
        ]
        if not all(fits) and not strict:
            if head in PRETRAINED_HEADS:
                warnings.warn(
                    f"The preset has no {head} that fits: it starts from random "
                    "weights, and its answers mean nothing before training.",
                    stacklevel=3,
                )
            for path in paths:
                variables.pop(path)
    # What belongs to another head is kept for `save_to_preset`; the rest must fit.
    heads = {path.split("/")[0] for path in weights} - {p.split("/")[0] for p in own}
    wanted = {
        path: array
        for path, array in weights.items()
        if path in variables or path.split("/")[0] not in {*heads, "pooler"}
    }
    assign(variables, wanted)
    backbone.spare_heads = {
        path: array
        for path, array in weights.items()
        if path not in wanted and path.split("/")[0] in SPARE_HEADS
    }
