"""What a head is, as a record, and the heads by name."""

import dataclasses
import functools

import keras

from zoo.checks.ranges import check_choice
from zoo.data import AlternativesPacker, Packer
from zoo.family import FAMILIES
from zoo.layers import output_layer
from zoo.tasks.option_kinds import check_options

HEADS = {}  # name to class, see `register_head`
# Fields whose options have other names.
OPTION_NAMES = {"dropout": "head_dropout", "dim": "head_dim"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Head:
    """How the outputs of a task are made from the vectors of a backbone.

    A head is a frozen record whose fields are options of the task. The task asks its
    head for everything that depends on the head. A head of a user's own is a subclass
    that `register_head` makes known to files.

    Attributes:
        name: str, the option `head` of a task.
        learning_rate: float, the rate of the new layers with every backbone; None for
            the default of the family, see `Task.default_head_multiplier`.
        ranks: bool, whether `vector` scores each choice of `zoo.MultipleChoice`.
        joins: bool, whether a pair without segments is read as one text.

    Args:
        dropout: float in [0, 1), the option `head_dropout`, on the pooled vector.
    """

    name = None
    learning_rate = None
    ranks = False
    joins = False

    dropout: float = 0.1

    @classmethod
    def fields_by_option(cls):
        """Dict of the names of options to the names of fields."""
        names = [field.name for field in dataclasses.fields(cls)]
        return {OPTION_NAMES.get(name, name): name for name in names}

    def options(self):
        """The options with which a task has this head, a dict of plain values."""
        fields = self.fields_by_option()
        return {"head": self.name} | {o: getattr(self, f) for o, f in fields.items()}

    def described(self):
        """The options that name this head in an error message, str."""
        return f'head="{self.name}"'

    def resolve(self, backbone, task_name, pair=False, symmetric=False):
        """The head with values in place of None.

        Args:
            backbone: `zoo.backbone.Backbone`.
            task_name: str, of the task, for the defaults of the preset.
            pair: bool, whether the task reads pairs of texts.
            symmetric: bool, whether a pair means the same in both orders.

        Returns:
            a head of this class.

        Raises:
            ValueError: if the backbone or the task does not fit.
        """
        return self

    def is_separate(self, backbone):
        """Whether each text of a pair is a row of its own, with inputs of its own."""
        return False

    def arrangements(self):
        """The orders of the columns of a row with several sequences, or None."""
        return None

    def make_inputs(self, backbone, pair):
        """The symbolic inputs of a task with this head, a dict."""
        return backbone.make_inputs(backbone.config)

    def packer(self, backbone, arrangements=None):
        """The function of a tokenizer and a length that makes the packer of texts.

        Args:
            backbone: `zoo.backbone.Backbone`.
            arrangements: see `zoo.data.AlternativesPacker`; None for one sequence.
        """
        if arrangements is None:
            return Packer
        return functools.partial(AlternativesPacker, arrangements=arrangements)

    def vector(self, backbone, inputs):
        """The symbolic vector (B, D) of each row, before dropout."""
        raise NotImplementedError

    def outputs(self, backbone, inputs, units):
        """The symbolic outputs (B, units): dropout and a dense layer on the vector."""
        dropout = keras.layers.Dropout(
            self.dropout, dtype=backbone.dtype_policy, name="head_dropout"
        )
        x = dropout(self.vector(backbone, inputs))
        zeros = self.starts_at_zero()
        return output_layer(units, backbone, "classifier", zeros)(x)

    def starts_at_zero(self):
        """Whether the kernel of the last layer is 0 before the training."""
        return False

    def reads_windows(self, backbone):
        """Whether the layer "pooling" can read a text of any length in windows."""
        return False

    def output_of_backbone(self):
        """The name of the output of the backbone that the vector depends on."""
        return "sequence_output"

    def fits(self, saved, backbone, pair):
        """Whether the weights of a saved head are those of this one.

        Args:
            saved: dict, the options of the saved task.
            backbone: `zoo.backbone.Backbone`.
            pair: bool, whether the task reads pairs of texts.
        """
        return saved.get("head", "linear") == self.name


def register_head(kind):
    """Makes a head known to tasks and files by its name; returns the class.

    Raises:
        TypeError: if it is not a subclass of `Head`.
        ValueError: if it has no name, or another head has it.
    """
    if not (isinstance(kind, type) and issubclass(kind, Head)):
        raise TypeError(f"`kind` must be a subclass of Head. Received: {kind!r}.")
    known = HEADS.get(kind.name)
    if not kind.name or known and known.__qualname__ != kind.__qualname__:
        raise ValueError(
            f"A head must have a `name` of its own. Received: {kind.name!r} of "
            f"{kind.__name__}."
        )
    HEADS[kind.name] = kind
    return kind


def head_option_names():
    """The names of the options of all heads, a set of str."""
    return {"head"}.union(*(kind.fields_by_option() for kind in HEADS.values()))


def split_head_options(options):
    """The options of a task without those of heads, and those of heads; two dicts."""
    names = head_option_names()
    task_options = {name: value for name, value in options.items() if name not in names}
    return task_options, {n: value for n, value in options.items() if n in names}


def find_head(options, default):
    """The `Head` that options of a user describe.

    `head` is a name, a `Head` or None, for which `default` names one from the other
    options. An option that is None has its default. Raises ValueError if the head is
    unknown, or lacks an option.
    """
    options = dict(options)
    head = options.pop("head", None)
    given = {name: v for name, v in options.items() if v is not None}
    if isinstance(head, Head):
        if given:
            raise ValueError(
                "A head has its own options. Received: a head and "
                f"{', '.join(f'{n}={v!r}' for n, v in given.items())}. Leave them out."
            )
        return head
    check_options({"head": head, **options})
    name = default(given) if head is None else head
    fields = HEADS[check_choice("head", name, HEADS)].fields_by_option()
    for option, value in given.items():
        if option not in fields and value is not False:
            owners = [n for n, k in HEADS.items() if option in k.fields_by_option()]
            raise ValueError(
                f"`{option}` needs "
                f"{' or '.join(f'`head={owner!r}`' for owner in owners)}. Received: "
                f"{option}={value!r} and head={name!r}. Leave it out."
            )
    return HEADS[name](**{fields[o]: v for o, v in given.items() if o in fields})


def family_head(backbone):
    """The class of the head of the family of a backbone."""
    return HEADS[FAMILIES[backbone.family].head]


def merge_head_options(saved, given):
    """Options of a task; saved ones of another head than the given are left out."""
    head = saved.get("head", "linear")
    wanted = given.get("head", head)
    if getattr(wanted, "name", wanted) != head:
        saved = split_head_options(saved)[0]
    return {**saved, **given}
