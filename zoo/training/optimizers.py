"""AdamW as BERT uses it."""

import re
import types

import keras
from keras import ops

from zoo.backbone.freezing import layer_groups
from zoo.checks.ranges import (
    Count,
    NotNegative,
    Positive,
    Probability,
    Share,
    Size,
    check_value,
    check_values,
)
from zoo.keras_internals import (
    index_of,
    moments_of,
    optimizer_strategy,
    trained_by,
)
from zoo.training.optimizer_base import ZooOptimizer, wide_dtype
from zoo.training.schedules import WarmupLinearDecay

# Arguments of Keras' AdamW whose defaults differ here.
BERT_DEFAULTS = {
    "weight_decay": 0.01,
    "epsilon": 1e-6,
    "global_clipnorm": 1.0,
    "name": "adamw",
}


@keras.saving.register_keras_serializable(package="zoo")
class AdamW(ZooOptimizer, keras.optimizers.AdamW):
    """Adam with decoupled weight decay, as BERT was trained.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    w = w - rate (m / (sqrt(v) + epsilon) + weight_decay w)`. Gradients are clipped to
    a global norm first. Biases and norms are not decayed. Without
    `bias_correction` this is Google's optimizer; with it, Loshchilov and Hutter's.

    The moments of 16-bit weights are float32. The weights themselves are rounded to
    16 bits after each update, which loses small updates; a mixed policy keeps them.
    Setting `learning_rate` replaces a schedule.

    Source: Devlin et al. 2019, released code `optimization.py`; layer-wise decay from
    Clark et al. 2020 (ELECTRA). `keras.optimizers.AdamW` always corrects the bias and
    has no rate per layer.

    Args:
        learning_rate: float or schedule.
        weight_decay: float, multiplied by the learning rate.
        beta_1, beta_2, epsilon: as above.
        global_clipnorm: float, largest norm of all gradients together, or None.
        bias_correction: bool, divide m and v by `1 - b^t`.
        layer_decay: float in (0, 1]; a variable whose path starts with a key of
            `depths` learns at `rate x layer_decay ** (top - depth)`.
        depths: dict of path prefix to depth, 0 for embeddings; see `layer_depths`.
            Every other variable, such as a new head, is at the top.
        head_multiplier: float, positive, a factor of the learning rate of the layers
            `heads`. A new head may learn faster than what is pretrained.
        heads: list of str, path prefixes, such as "classifier".
        joined: list of int, the update at which each trainable variable joined; its
            own t is counted from there. `follow_trainable` sets it.
        **kwargs: of `keras.optimizers.AdamW`, such as `gradient_accumulation_steps`.

    Raises:
        ValueError: if a value is out of its range, `head_multiplier` has no `heads`,
            `amsgrad` is True, or gradients are to be clipped in two ways.

    Example:
        >>> weight = keras.Variable([1.0])
        >>> optimizer = AdamW(learning_rate=0.5, weight_decay=0.0, epsilon=0.0)
        >>> optimizer.apply([keras.ops.convert_to_tensor([1.0])], [weight])
        >>> weight.numpy().round(3).tolist()
        [0.5]
    """

    no_decay = re.compile("bias|norm|Norm")
    # `update_step` decays. Keras would choose variables by their short names, which
    # lack "layer_norm".
    keras_decays = False

    def __init__(
        self,
        learning_rate=5e-5,
        *,
        bias_correction=True,
        layer_decay=1.0,
        depths=None,
        joined=None,
        head_multiplier=1.0,
        heads=None,
        **kwargs,
    ):
        kwargs = {**BERT_DEFAULTS, **kwargs}
        layer_decay = check_value("layer_decay", layer_decay, Share)
        check_values(bool, bias_correction=bias_correction)
        check_values(dict[str, Count] | None, depths=depths)
        check_values(list[Count] | None, joined=joined)
        check_values(Positive, head_multiplier=head_multiplier)
        check_values(list[str] | None, heads=heads)
        if head_multiplier != 1 and not heads:
            raise ValueError(
                "`head_multiplier` needs `heads`, the names of layers. Received: "
                f"head_multiplier={head_multiplier}, heads={heads}. Add "
                'heads=["classifier"].'
            )
        global_clipnorm = kwargs["global_clipnorm"]
        clipping = [k for k in ("clipnorm", "clipvalue") if kwargs.get(k) is not None]
        if clipping and global_clipnorm is not None:
            raise ValueError(
                f"Gradients are clipped in one way. Received: `{clipping[0]}` and "
                f"global_clipnorm={global_clipnorm}. Add `global_clipnorm=None`."
            )
        if kwargs.get("amsgrad"):
            raise ValueError(
                "`amsgrad` must be False. Received: True. Use `keras.optimizers.AdamW`."
            )
        super().__init__(learning_rate, **kwargs)
        self.bias_correction = bias_correction
        self.layer_decay = layer_decay
        self.depths = dict(depths or {})
        self.joined = list(joined or [])
        self.head_multiplier = head_multiplier
        self.heads = list(heads or [])
        self._update = types.SimpleNamespace(factors=None)  # which Keras does not track

    def build(self, var_list):
        """Makes the moments of the variables."""
        super().build(var_list)
        if len(self.joined) != len(var_list):
            self.joined = []

    def rate_scale(self, path):
        """The factor of a variable's learning rate."""
        top = max(self.depths.values(), default=-1) + 1
        depth = max(
            (depth for prefix, depth in self.depths.items() if lies_in(path, prefix)),
            default=top,
        )
        new = any(lies_in(path, head) for head in self.heads)
        factor = self.head_multiplier if new else 1.0
        return factor * self.layer_decay ** (top - depth)

    def update_step(self, gradient, variable, learning_rate):
        """One update of one variable."""
        index = index_of(self, variable)
        m, v = moments_of(self, index)
        path = trained_by(self)[index].path
        dtype = keras.backend.standardize_dtype(variable.dtype)
        wide = wide_dtype(dtype)
        gradient = ops.cast(ops.convert_to_tensor(gradient), wide)
        rate, scale = ops.cast(learning_rate, wide), self.rate_scale(path)
        rate = rate if scale == 1 else rate * scale
        joined = self.joined[index] if self.joined else 0
        powers, epsilon, betas = self._factors(joined, wide)
        decay = 0.0 if self.no_decay.search(path) else self.weight_decay or 0.0
        if keras.backend.backend() == "tensorflow" and dtype == wide:
            if decay:
                self.assign_sub(variable, rate * decay * variable)
            self._apply_adam(variable, m, v, gradient, rate, powers, epsilon, betas)
            return
        value = ops.cast(variable, wide)
        if decay:
            value = value - rate * decay * value
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
        rate = rate * ops.sqrt(1 - powers[1]) / (1 - powers[0])
        self.assign(variable, value - rate * m / (ops.sqrt(v) + epsilon))

    def apply(self, grads, trainable_variables=None):
        """Updates all variables; see `keras.optimizers.Optimizer` and `_factors`."""
        strategy = optimizer_strategy(self)
        single = strategy is None or strategy.num_replicas_in_sync == 1
        # No device reads the factors of another.
        self._update.factors = {} if single else None
        try:
            super().apply(grads, trainable_variables)
        finally:
            self._update.factors = None

    def _factors(self, joined, dtype):
        """Powers of the betas, epsilon and betas, which most variables share."""
        # In an update, they are computed once. A graph then has fewer operations.
        known = {} if self._update.factors is None else self._update.factors
        if (joined, dtype) not in known:
            betas = self.beta_1, self.beta_2
            powers = [ops.zeros((), dtype)] * 2
            if self.bias_correction:
                step = ops.cast(self.iterations + 1 - joined, dtype)
                powers = [ops.power(beta, step) for beta in betas]
            epsilon = self.epsilon * ops.sqrt(1 - powers[1])
            betas = [ops.convert_to_tensor(beta, dtype) for beta in betas]
            known[joined, dtype] = powers, epsilon, betas
        return known[joined, dtype]

    def _apply_adam(self, variable, m, v, gradient, rate, powers, epsilon, betas):
        """Adam's part of the update as one operation of TensorFlow."""
        # The other backends fuse the single operations. TensorFlow does not: a step of
        # BERT-mini's pretraining is 1.05 times as fast with this operation. It computes
        # `1 - beta_2` in the variable's dtype: for 0.999 in float32, the result is too
        # small by a factor of 1.3e-5.
        import tensorflow as tf

        var, m, v = (
            (x.value if isinstance(x, keras.Variable) else x).handle
            for x in (variable, m, v)
        )
        tf.raw_ops.ResourceApplyAdam(
            var=var,
            m=m,
            v=v,
            beta1_power=powers[0],
            beta2_power=powers[1],
            lr=rate,
            beta1=betas[0],
            beta2=betas[1],
            epsilon=epsilon,
            grad=gradient,
        )

    def get_config(self):
        """Constructor arguments."""
        names = ["bias_correction", "layer_decay", "depths", "head_multiplier", "heads"]
        if self.joined:
            names.append("joined")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def lies_in(path, prefix):
    """Whether the path of a variable has a prefix, from its start or after a slash."""
    return bool(re.match(rf"(.*/)?{re.escape(prefix)}(/|$)", path))


def layer_depths(backbone, language_model=False):
    """Depths for `AdamW(depths=...)`: 0 for the lowest group of layers.

    Args:
        backbone: a backbone; its `groups()` are names of layers, from bottom to top.
        language_model: bool, whether the token vectors, the lowest group, are also the
            matrix of the logits. They then learn at the rate of the head, as in
            fastai's `awd_lstm_lm_split`.

    Returns:
        dict of str to int. The layers that are not in it, such as a pooler or a head,
        are above the last group.

    Raises:
        ValueError: if a name is not that of a layer of the backbone.
    """
    check_values(bool, language_model=language_model)
    groups = [*enumerate(layer_groups(backbone))]
    if language_model:
        groups = groups[1:]
    return {
        layer: depth
        for depth, names in groups
        for name in names
        for layer in _layers_of(backbone, name)
    }


def _layers_of(backbone, name):
    """Names of the layers of a part of the backbone, or `[name]` for a plain layer."""
    if name not in backbone.parts:
        return [name]
    part = backbone.parts[name]
    inner = (*part.parts, *part.named_layers)
    return [layer for child in inner for layer in _layers_of(part, child)]


def finetuning_optimizer(
    backbone,
    rows,
    epochs=3,
    batch_size=32,
    learning_rate=5e-5,
    warmup_share=0.1,
    layer_decay=1.0,
    **kwargs,
):
    """AdamW with the schedule of BERT's fine-tuning, for a known number of updates.

    Source: Devlin et al. 2019, appendix A.3: warm-up over a tenth of the updates,
    then linear decay to zero.

    Args:
        backbone: the backbone, for its layers' depths.
        rows: int, training examples.
        epochs, batch_size: int, the arguments of `fit`.
        learning_rate: float, the peak.
        warmup_share: float in [0, 1), of the updates.
        layer_decay: float in (0, 1], see `AdamW`.
        **kwargs: of `AdamW`.

    Returns:
        AdamW.

    Raises:
        ValueError: if a value is out of its range.
    """
    check_values(Count, rows=rows)
    check_values(Size, epochs=epochs, batch_size=batch_size)
    check_values(NotNegative, learning_rate=learning_rate)
    check_values(Probability, warmup_share=warmup_share)
    check_values(Share, layer_decay=layer_decay)
    steps = max(1, -(-rows // batch_size) * epochs)
    schedule = WarmupLinearDecay(learning_rate, int(steps * warmup_share), steps)
    depths = layer_depths(backbone) if layer_decay < 1 else None
    return AdamW(schedule, layer_decay=layer_decay, depths=depths, **kwargs)
