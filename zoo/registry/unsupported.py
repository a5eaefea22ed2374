"""Recognises directories of models that zoo does not read."""

from zoo.checkpoint import find_hugging_face, read_json
from zoo.family import FAMILIES
from zoo.presets import RECORD

# The model of another program, and the file name patterns that must all match.
PROGRAMS = {
    "a model of fairseq": ("dict*.txt", "*.pt"),
    "a model of OpenNMT-py": ("*_step_*.pt",),
    "a model of OpenNMT-tf or CTranslate2": ("model.bin", "*vocabulary*"),
    "a model of Marian": ("*.npz", "*.yml"),
    "a GPT-2 of OpenAI": ("hparams.json", "encoder.json", "*.index"),
    "a model of AllenNLP": ("weights.th", "config.json"),
    "a SavedModel of TensorFlow": ("saved_model.pb",),
    "a model of fastText or word2vec": ("*.vec",),
}

# Files of a program that need another one beside them, to its name.
INCOMPLETE = {
    ("*.safetensors",): "config.json",
    ("pytorch_model*.bin",): "config.json",
    ("model.weights.h5",): "config.json",
    ("*.hdf5",): "*options.json",
    ("params_*.npy",): "params_shapes.json",
    ("encoder.json", "*.index"): "hparams.json",
}


def nothing_to_read(directory):
    """The FileNotFoundError for a directory that no family can read."""
    kind = name_model(directory)
    layouts = [
        f"{family.name} ({', '.join(layout.name for layout in family.layouts)})"
        for family in FAMILIES.values()
        if family.layouts
    ]
    reads = f"It reads a directory with {RECORD}, and the layouts of other programs: "
    reads += f"{'; '.join(layouts)}."
    if kind:
        return FileNotFoundError(f"{directory} holds {kind}. {reads}")
    names = sorted(path.name for path in directory.iterdir())[:10]
    return FileNotFoundError(
        f"{directory} holds no preset that zoo can read. {reads} Received: {names}."
    )


def name_model(directory):
    """Describes the model in a directory, str; None if it is unknown."""
    try:
        config = read_json(directory / "config.json", optional=True)
    except (OSError, ValueError):
        config = {}
    kind, name = config.get("model_type"), config.get("class_name")
    if isinstance(kind, str) and kind:
        if kind in FAMILIES:
            return f"the configuration of a {kind} of Hugging Face without its weights"
        return f"a {kind:.80} of Hugging Face, which zoo does not read (yet)"
    if config and kind is None and find_hugging_face(directory):
        return "a model of Hugging Face whose config.json lacks `model_type`"
    if isinstance(name, str) and name:
        if "keras" in str(config.get("registered_name") or config.get("module")):
            return f"a {name:.80} of keras-nlp that zoo cannot read (yet)"
    for patterns, missing in INCOMPLETE.items():
        complete = any(directory.glob(missing))
        if not complete and all(any(directory.glob(name)) for name in patterns):
            return f"{' and '.join(patterns)} without {missing}"
    for called, patterns in PROGRAMS.items():
        if all(any(directory.glob(pattern)) for pattern in patterns):
            return f"{called}, which zoo does not read (yet)"
    return None
