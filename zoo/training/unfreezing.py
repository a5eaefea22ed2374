"""Thaws the layers of a backbone from epoch to epoch."""

from typing import Literal

import keras

from zoo.backbone.freezing import frozen_layers, layer_groups, layer_tree
from zoo.checks.ranges import Count, Size, check_value
from zoo.keras_internals import all_layers, trainable_by_default
from zoo.training.trainable import follow_model

ORDERS = ("gradual", "chain_thaw", "last_layer")


class GradualUnfreezing(keras.callbacks.Callback):
    """Trains the head first, and then more and more layers, within one `fit`.

    The groups of layers are those of `backbone.groups()`, without those that have
    nothing to train. The head is all other layers, such as a pooler and a classifier.
    Stage s begins with epoch `s x epochs_per_group`. With G groups, it trains:

    - "gradual": the head and the highest s groups; from stage G on, all layers.
    - "chain_thaw": in stage 0 the head; in the stages 1 to G one group alone, from the
      lowest to the highest; later all layers.
    - "last_layer": the head in every stage.

    A layer that is frozen when `fit` begins stays frozen. At the end of `fit`, all
    layers are as trainable as at its beginning. The stage follows from the number of
    the epoch, so training that continues with `initial_epoch` has the right layers.
    This also holds for a task that was saved during `fit`: the file holds which layers
    were frozen before. If `fit` was interrupted, some layers remain frozen until a
    `fit` with this callback ends, or until you set `trainable`.

    A frozen layer has no gradient, no weight decay and no state in the optimizer. A
    thawed layer has new moments, see `follow_trainable`. Dropout in a frozen layer
    still drops in training. A frozen batch normalization uses its stored mean and
    variance, and does not update them. A training step is compiled again in each
    stage with other layers.

    Source: Howard and Ruder 2018, section 3.3, "gradual"; Felbo et al. 2017, section
    3.3, "chain_thaw" and "last_layer". The released code of ULMFiT trains the head,
    then the highest group as well, and then all layers: `last=1`.

    Args:
        backbone: `zoo.backbone.Backbone`, whose groups are thawed; by default
            `model.backbone`, which every task has.
        epochs_per_group: int, at least 1, epochs of each stage but the last.
        order: str, "gradual", "chain_thaw" or "last_layer".
        last: int, for "gradual": the number of groups that are thawed one by one.
            The next stage thaws all that remain. None for all of them.

    Raises:
        ValueError: if an argument is out of its range. When `fit` begins: if the model
            has no backbone, no head, no group to thaw, or fewer groups than `last`.
    """

    def __init__(self, backbone=None, epochs_per_group=1, order="gradual", last=None):
        super().__init__()
        self.backbone = backbone
        self.epochs_per_group = check_value("epochs_per_group", epochs_per_group, Size)
        self.order = check_value("order", order, Literal[ORDERS])
        self.last = check_value("last", last, Count | None)
        if last is not None and order != "gradual":
            raise ValueError(
                f'`last` needs the order "gradual". Received: last={last}, order='
                f"{order!r}. Leave one of them out."
            )

    def trained(self, epoch, num_groups):
        """Whether an epoch trains the head, and a range of the groups it trains."""
        stage = epoch // self.epochs_per_group
        if self.order == "last_layer":
            return True, range(0)
        if self.order == "chain_thaw" and 0 < stage <= num_groups:
            return False, range(stage - 1, stage)
        if self.order == "chain_thaw":
            return True, range(num_groups if stage else 0)
        thawed = min(stage, num_groups)
        if self.last is not None and stage > self.last:
            thawed = num_groups
        return True, range(num_groups - thawed, num_groups)

    def on_train_begin(self, logs=None):
        """Finds the groups, and remembers which layers are frozen."""
        self.layers = _Layers(self.model, self.backbone or own_backbone(self.model))
        self.outdated = True  # the step may be one of the last, interrupted `fit`
        if not self.layers.head_trains:
            raise ValueError(
                "`GradualUnfreezing` needs a model with a head that can be trained. "
                "Received: no trainable weight beside the groups of the backbone."
            )
        found, least = len(self.layers.groups), max(1, self.last or 0)
        if self.order != "last_layer" and found < least:
            raise ValueError(
                f"The backbone must have at least {least} groups of layers that can be "
                f"trained. Received: {found}. Set `trainable = True` for the layers "
                "that are to be thawed, or lower `last`."
            )
        self.layers.remember()

    def on_epoch_begin(self, epoch, logs=None):
        """Freezes and thaws for this epoch."""
        self._train(*self.trained(epoch, len(self.layers.groups)))

    def on_train_end(self, logs=None):
        """Makes all layers as trainable as they were."""
        self._train(True, range(len(self.layers.groups)))
        self.layers.forget()

    def _train(self, head, groups):
        if self.layers.train(head, groups) or self.outdated:
            follow_model(self.model)
            self.model.make_train_function(force=True)
            self.outdated = False


class _Layers:
    """The layers of a model by group, and which of them the user has frozen."""

    def __init__(self, model, backbone):
        named = {**backbone.parts, **backbone.named_layers}
        groups = [[named[name] for name in names] for names in layer_groups(backbone)]
        self.model, self.allowed = model, own_flags(model, backbone)
        grouped = [layer for group in groups for layer in group]
        owned = {id(inner) for layer in grouped for inner in inner_layers(layer)}
        # The own `trainable` of a model is not changed.
        layers = [x for x in all_layers(model) if not isinstance(x, keras.Model)]
        self.head = [layer for layer in layers if id(layer) not in owned]
        # Variables of trainable layers that are fixed, such as kernels with LoRA.
        self.fixed = [
            variable
            for layer in layers
            for variable in trainable_by_default(layer)
            if layer.trainable and not variable.trainable
        ]
        self.groups = groups
        self.train(True, range(len(groups)))
        able = {id(variable) for variable in model.trainable_variables}

        def weights(group):
            return {id(v) for layer in group for v in layer.variables} & able

        self.groups = [group for group in groups if weights(group)]
        self.head_trains = bool(able.difference(*map(weights, self.groups)))

    def train(self, head, groups):
        """Trains the head, or not, and some groups; whether a layer has changed."""
        groups = {*groups}
        parts = [(number in groups, group) for number, group in enumerate(self.groups)]
        parts.append((head, self.head))
        owner = {}
        for trains, layers in parts:
            for layer in layers:
                for inner in inner_layers(layer):
                    # A head that is tied to the embeddings holds their layer.
                    owner.setdefault(id(inner), trains and self.allowed[id(inner)])
        outer = [layer for _, layers in parts for layer in layers]
        tree = [inner for layer in outer for inner in inner_layers(layer)]
        before = [layer.trainable for layer in tree]
        # An outer layer comes first: it changes its inner layers as well.
        for layer in tree:
            layer.trainable = owner[id(layer)]
        for variable in self.fixed:
            variable.trainable = False
        return before != [layer.trainable for layer in tree]

    def remember(self):
        """Records the frozen layers, so that a file saved now keeps them."""
        if hasattr(self.model, "frozen_before"):
            self.model.frozen_before = tuple(frozen_layers(self.model))

    def forget(self):
        """Ends what `remember` began."""
        if hasattr(self.model, "frozen_before"):
            self.model.frozen_before = None


def own_flags(model, backbone):
    """Dict of `id` of a layer to whether the user lets it be trained."""
    # A training that was interrupted has frozen other layers as well.
    layers = [*all_layers(backbone), *all_layers(model)]
    flags = {id(layer): layer.trainable for layer in layers}
    frozen = getattr(model, "frozen_before", None)
    if frozen is not None:
        for path, layer in model.layer_tree().items():
            flags[id(layer)] = path not in frozen
    return flags


def own_backbone(model):
    """The backbone of a task; raises ValueError for another model."""
    try:
        return model.backbone
    except AttributeError as error:
        raise ValueError(
            "`GradualUnfreezing` needs groups of layers. Received: a model without a "
            "`backbone`. Pass `GradualUnfreezing(backbone)`."
        ) from error


def inner_layers(layer):
    """A layer and its inner layers, outer ones first."""
    return layer_tree(layer, "").values()
