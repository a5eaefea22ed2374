"""What a family of models is, as data."""

import dataclasses
import math
from collections.abc import Callable

import keras

from zoo.files.buckets import local_path

FAMILIES = {}  # name to `Family`, see `register_family`
# No model is built that has more values than this: such a config comes from a damaged
# file. The values take 40 GB in float32.
MOST_VALUES = 10**10


@dataclasses.dataclass(frozen=True)
class Layout:
    """How another program stores the models of a family.

    Args:
        name: str, such as "hugging_face".
        recognise: function of a `pathlib.Path` of a directory to a value that is true
            if the directory holds such a model.
        read: function of such a path to `zoo.checkpoint.Converted`.
        write: function of a path and a `zoo.checkpoint.Converted`, which writes the
            directory; None if there is no writer.
        holds: function of a `zoo.checkpoint.Converted` to those of its `heads` that
            one directory can hold together; None if the layout holds all of them.
        files: function of a path of a directory to the names of the checkpoints in it,
            among which the argument `file` of `read` chooses; None if `read` has no
            such argument.
        languages: bool, whether `read` has an argument `languages`, a pair of str: the
            languages of source and target, which the files may not say.
    """

    name: str
    recognise: Callable
    read: Callable
    write: Callable | None = None
    holds: Callable | None = None
    files: Callable | None = None
    languages: bool = False


@dataclasses.dataclass(frozen=True)
class Family:
    """One family of models.

    Args:
        backbone: subclass of `zoo.backbone.Backbone`. Its attribute `family` is the
            name of the family.
        tokenizers: tuple of subclasses of `zoo.text.Tokenizer`, or of the names of
            classes in `zoo.text`. The first is the default.
        learning_rate: float, the default for fine-tuning. A preset may have its own.
        warmup_share: float, of the updates of fine-tuning, see
            `zoo.training.PlannedDecay`.
        head_multiplier: float, the default of `zoo.training.AdamW` for a head with new
            weights. A preset may have its own.
        head: str, the head of a new `zoo.TextClassifier` or `zoo.TextRegressor`. One
            for single texts is not used for pairs that are compared.
        layouts: tuple of `Layout`, those of other programs.
        heads: dict of the name of a pretrained head to the first part of the paths of
            its weights.
        encoder: dict, fields of the config that leave only the encoder of a model that
            reads a source and writes a target. Tasks of one sequence have these.
    """

    backbone: type
    tokenizers: tuple
    learning_rate: float = 1e-3
    warmup_share: float = 0.1
    head_multiplier: float = 1.0
    head: str = "linear"
    layouts: tuple = ()
    heads: dict = dataclasses.field(default_factory=dict)
    encoder: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        """The name of the family, str."""
        return self.backbone.family


def check_size(shapes, where, stored=None):
    """Checks the size of a model before it is built.

    Args:
        shapes: dict of the path to the shape of its weights.
        where: what describes the model, for the message, such as the path of a file.
        stored: int, how many values are stored for the model; None if it is not
            loaded. The bound is then `MOST_VALUES`.

    Raises:
        ValueError: if the model has more values than that.
    """
    sizes = {path: math.prod(shape) for path, shape in shapes.items()}
    values, bound = sum(sizes.values()), f"the {stored} values that are stored for it"
    if stored is None:
        bound = f"{MOST_VALUES} values, the most that zoo builds"
    if values > (MOST_VALUES if stored is None else stored):
        largest = max(sizes, key=sizes.get)
        raise ValueError(
            f"{where} describes a model with more than {bound}. Received: {values} "
            f"values, the most of them in {largest!r} of shape {shapes[largest]}."
        )


def recognise(layouts, directory):
    """The name of the only layout of a family that a directory holds, or None.

    Args:
        layouts: iterable of `Layout`.
        directory: str or path.

    Raises:
        ValueError: if there are several.
    """
    directory = local_path(directory)
    found = [layout.name for layout in layouts if layout.recognise(directory)]
    return only_layout(found, directory)


def check_layout(layouts, name, directory=None, wanted=None, kind=""):
    """Checks the name of the layout to read in a directory.

    Args:
        layouts: iterable of `Layout`.
        name: str; None if the directory holds none of them.
        directory: `pathlib.Path`.
        wanted: str, a sentence without a full stop that says what files are needed.
        kind: str, more about what the directory holds instead.

    Raises:
        ValueError: if there is no such layout.
    """
    known = sorted(layout.name for layout in layouts)
    if name is None:
        names = sorted(path.name for path in directory.glob("*"))[:10]
        raise ValueError(f"{wanted}. Received: `{directory}` with {names}{kind}.")
    if name not in known:
        raise ValueError(f"`layout` must be one of {known}. Received: {name!r}.")


def only_layout(found, directory):
    """The only one of the names of layouts in a directory, or None.

    Raises:
        ValueError: if there are several.
    """
    if len(found) > 1:
        raise ValueError(
            f"A directory must hold one checkpoint. Received: {', '.join(found)} in "
            f"`{directory}`. Pass `layout=` to choose."
        )
    return found[0] if found else None


def choose_file(names, directory, file, wanted):
    """The path of the checkpoint to read in a directory.

    Args:
        names: list of str, the checkpoints that the directory has.
        directory: `pathlib.Path`.
        file: str, the name that the user chose, or None for the only one.
        wanted: str, a sentence without a full stop that says what files are needed.

    Raises:
        FileNotFoundError: if there is no such checkpoint.
        ValueError: if there are several and none was chosen.
    """
    if file is None and len(names) > 1:
        raise ValueError(
            f"A directory must hold one checkpoint. Received: {', '.join(names)} in "
            f"`{directory}`. Pass `file=` to choose."
        )
    if not names or (file and file not in names):
        raise FileNotFoundError(
            f"{wanted}. Received: `{directory}` with "
            f"{sorted(p.name for p in directory.glob('*'))[:10]}, file={file!r}."
        )
    return directory / (file or names[0])


def register_family(family):
    """Registers a family with Keras and in `FAMILIES`; see `zoo.register_family`."""
    if not isinstance(family, Family):
        raise TypeError(
            f"`family` must be a zoo.Family. Received: {type(family).__name__}."
        )
    known = FAMILIES.get(family.name)
    if known and known.backbone is not family.backbone:
        raise ValueError(
            f"There is a family {family.name!r}, of {known.backbone.__name__}. "
            f"Received: {family.backbone.__name__}. Choose another name for it."
        )
    register_class(family.backbone)
    for kind in family.tokenizers:
        if isinstance(kind, type):
            register_class(kind)
    FAMILIES[family.name] = family
    return family


def register_class(kind):
    """Registers a class with Keras under the name of its package; returns it."""
    name = keras.saving.get_registered_name(kind)
    if keras.saving.get_registered_object(name) is not kind:
        package = kind.__module__.split(".")[0]
        keras.saving.register_keras_serializable(package=package)(kind)
    return kind
