"""What a family of models is, as data."""

import dataclasses
from collections.abc import Callable

import keras

FAMILIES = {}  # name to `Family`, see `register_family`


@dataclasses.dataclass(frozen=True)
class Layout:
    """How another program stores the weights of a family.

    Args:
        name: str, such as "hugging_face".
        recognise: function of a `pathlib.Path` of a directory to a bool.
        read: function of such a path to `zoo.checkpoint.Converted`.
        write: function of a path and a `zoo.checkpoint.Converted`, which writes the
            directory; None if there is no writer.
    """

    name: str
    recognise: Callable
    read: Callable
    write: Callable | None = None


@dataclasses.dataclass(frozen=True)
class Family:
    """One family of models.

    Args:
        backbone: subclass of `zoo.backbone.Backbone`. Its `family` is the name.
        tokenizers: tuple of subclasses of `zoo.text.Tokenizer`, or of names of
            classes in `zoo.text`, which need no TensorFlow. The first is the usual one.
        learning_rate: float, for fine-tuning, unless a preset has its own.
        layouts: tuple of `Layout`.
        heads: dict of the name of a pretrained head to the first part of the paths of
            its weights.
    """

    backbone: type
    tokenizers: tuple
    learning_rate: float = 1e-3
    layouts: tuple = ()
    heads: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        """The name of the family, str."""
        return self.backbone.family


def only_layout(found, directory):
    """The one layout that was found in a directory, or None.

    Args:
        found: list of str.
        directory: path, for the message.

    Raises:
        ValueError: if there are several.
    """
    if len(found) > 1:
        raise ValueError(
            f"A directory must hold one checkpoint. Received: {', '.join(found)} in "
            f"`{directory}`. Pass `layout=` to choose."
        )
    return found[0] if found else None


def register_family(family):
    """Makes a family known to `zoo.from_preset` and to files.

    Args:
        family: `Family`.

    Returns:
        The family.

    Raises:
        TypeError: if it is no `Family`.
        ValueError: if another backbone has its name.
    """
    if not isinstance(family, Family):
        raise TypeError(
            f"`family` must be a zoo.Family. Received: {type(family).__name__}."
        )
    known = FAMILIES.get(family.name)
    if known and known.backbone is not family.backbone:
        raise ValueError(
            f"There is a family {family.name!r}, of {known.backbone.__name__}. "
            f"Received: {family.backbone.__name__}. Choose another name."
        )
    register_class(family.backbone)
    for kind in family.tokenizers:
        if isinstance(kind, type):
            register_class(kind)
    FAMILIES[family.name] = family
    return family


def register_class(kind):
    """Makes a class known to Keras' files, under the name of its package."""
    name = keras.saving.get_registered_name(kind)
    if keras.saving.get_registered_object(name) is not kind:
        package = kind.__module__.split(".")[0]
        keras.saving.register_keras_serializable(package=package)(kind)
    return kind
