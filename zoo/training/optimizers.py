"""AdamW and the learning rate schedule of BERT."""

import re

import keras
from keras import ops
from keras.optimizers.schedules import LearningRateSchedule


@keras.saving.register_keras_serializable(package="zoo")
class WarmupLinearDecay(LearningRateSchedule):
    """Rises to the peak in a straight line, then falls to zero.

    At update t from 0: `peak t / warmup_steps` while t < warmup_steps, afterwards
    `peak (1 - t / decay_steps)`, which counts from update 0 and not from the end of
    the warm-up; the peak itself where there is no decay.

    Source: Devlin et al. 2019, released code `optimization.py`.
    `keras.optimizers.schedules` has no linear warm-up before a linear decay.

    Args:
        peak: float, learning rate per update.
        warmup_steps: int, updates.
        decay_steps: int, updates until zero, or None for no decay.

    Raises:
        ValueError: if the decay ends before the warm-up.
    """

    def __init__(self, peak, warmup_steps=0, decay_steps=None):
        if decay_steps is not None and decay_steps < max(1, warmup_steps):
            raise ValueError(
                "`decay_steps` must be at least `warmup_steps` and 1. Received: "
                f"decay_steps={decay_steps}, warmup_steps={warmup_steps}."
            )
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.decay_steps = decay_steps

    def __call__(self, step):
        """The learning rate at update `step`."""
        step = ops.cast(step, "float32")
        rate = ops.convert_to_tensor(self.peak, "float32")
        if self.decay_steps is not None:
            rate = rate * ops.maximum(1.0 - step / self.decay_steps, 0.0)
        if self.warmup_steps:
            warm = self.peak * step / self.warmup_steps
            rate = ops.where(step < self.warmup_steps, warm, rate)
        return rate

    def get_config(self):
        """Constructor arguments."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "decay_steps": self.decay_steps,
        }


class ClipsTheSum:
    """Clips the sum of gradients over replicas; Keras clips before it adds them up."""

    def _clip_gradients(self, grads):
        if keras.backend.backend() == "tensorflow":
            return grads
        return super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        pairs = super()._all_reduce_sum_gradients(grads_and_vars)
        kept = [pair for pair in pairs if pair[0] is not None]
        # The sum makes a sparse gradient dense: squares of a token's several rows are
        # not the square of their sum.
        grads = [ops.add(grad, 0.0) for grad, _ in kept]
        grads = super()._clip_gradients(grads)
        return list(zip(grads, (variable for _, variable in kept), strict=True))


@keras.saving.register_keras_serializable(package="zoo")
class Adagrad(ClipsTheSum, keras.optimizers.Adagrad):
    """Keras' Adagrad, clipped by the norm of the sum over replicas.

    `a = a + g^2; w = w - rate g / sqrt(a + epsilon)`. ELMo's authors multiply the loss
    with the number of steps of a batch, n = 20, and train with a rate of 0.2, an
    accumulator that begins with 1.0, and gradients of norm 10 at most. With the mean
    loss the same updates come from an accumulator of 1 / n^2 and a norm of 10 / n.

    Source: Duchi et al. 2011; Peters et al. 2018, released code `bilm/training.py`.

    Args:
        **kwargs: of `keras.optimizers.Adagrad`.
    """


@keras.saving.register_keras_serializable(package="zoo")
class AdamW(ClipsTheSum, keras.optimizers.AdamW):
    """Adam with decoupled weight decay, as BERT was trained.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    w = w - rate (m / (sqrt(v) + epsilon) + weight_decay w)`, after the gradients were
    clipped to a global norm. Biases and layer norms are not decayed. Without
    `bias_correction` this is Google's optimizer; with it, Loshchilov and Hutter's.

    Source: Devlin et al. 2019, released code `optimization.py`; layer-wise decay from
    Clark et al. 2020 (ELECTRA). `keras.optimizers.AdamW` always corrects the bias and
    has no rate per layer.

    Args:
        learning_rate: float or schedule.
        weight_decay: float, times the learning rate.
        beta_1, beta_2, epsilon: as above.
        global_clipnorm: float, largest norm of all gradients together, or None.
        bias_correction: bool, divide m and v by `1 - b^t`.
        layer_decay: float in (0, 1]; a variable whose path starts with a key of
            `depths` learns at `rate x layer_decay ** (top - depth)`.
        depths: dict of path prefix to depth, 0 for embeddings; see `layer_depths`.
            Every other variable, such as a new head, is at the top.
        **kwargs: of `keras.optimizers.AdamW`, e.g. `gradient_accumulation_steps`, with
            which Keras 3.15 stops under a MirroredStrategy.

    Raises:
        ValueError: if `layer_decay` is not in (0, 1].
    """

    no_decay = re.compile("bias|layer_norm|LayerNorm")

    def __init__(
        self,
        learning_rate=5e-5,
        weight_decay=0.01,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        global_clipnorm=1.0,
        bias_correction=True,
        layer_decay=1.0,
        depths=None,
        name="adamw",
        **kwargs,
    ):
        if not 0 < layer_decay <= 1:
            raise ValueError(
                f"`layer_decay` must be in (0, 1]. Received: {layer_decay}."
            )
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.bias_correction = bias_correction
        self.layer_decay = layer_decay
        self.depths = dict(depths or {})

    def _get_current_learning_rate(self):
        # Keras asks a schedule for the number of the batch, ours for the update.
        if isinstance(self._learning_rate, LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return super()._get_current_learning_rate()

    def rate_scale(self, path):
        """What a variable's learning rate is multiplied with."""
        top = max(self.depths.values(), default=-1) + 1
        depth = max(
            (
                depth
                for prefix, depth in self.depths.items()
                if re.match(rf"(.*/)?{re.escape(prefix)}(/|$)", path)
            ),
            default=top,
        )
        return self.layer_decay ** (top - depth)

    def update_step(self, gradient, variable, learning_rate):
        """One update of one variable."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        path = self._trainable_variables[index].path
        dtype = keras.backend.standardize_dtype(variable.dtype)
        gradient = ops.cast(ops.convert_to_tensor(gradient), dtype)
        # In 16 bits 0.999 would be 1.
        wide = "float64" if dtype == "float64" else "float32"
        rate = ops.cast(learning_rate, wide) * self.rate_scale(path)
        powers = [ops.zeros((), wide)] * 2
        if self.bias_correction:
            step = ops.cast(self.iterations + 1, wide)
            powers = [ops.power(b, step) for b in (self.beta_1, self.beta_2)]
        if self.weight_decay and not self.no_decay.search(path):
            decay = ops.cast(rate * self.weight_decay, dtype)
            self.assign_sub(variable, decay * variable)
        epsilon = self.epsilon * ops.sqrt(1 - powers[1])
        if keras.backend.backend() == "tensorflow" and dtype == wide:
            self._apply_adam(variable, m, v, gradient, rate, powers, epsilon)
            return
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
        rate = ops.cast(rate * ops.sqrt(1 - powers[1]) / (1 - powers[0]), dtype)
        self.assign_sub(variable, rate * m / (ops.sqrt(v) + ops.cast(epsilon, dtype)))

    def _apply_adam(self, variable, m, v, gradient, rate, powers, epsilon):
        """Adam's part of the update as TensorFlow's one operation for it.

        The other backends merge the single operations, TensorFlow does not: with this
        a step of BERT-mini's pretraining is 1.05 times as fast. The operation takes
        `1 - beta_2` of a `beta_2` in the variable's dtype: with 0.999 in float32 that
        is 1.3e-5 too little.
        """
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
            beta1=ops.convert_to_tensor(self.beta_1, gradient.dtype),
            beta2=ops.convert_to_tensor(self.beta_2, gradient.dtype),
            epsilon=epsilon,
            grad=gradient,
        )

    # Keras decays by the variable's short name, which does not say "layer_norm".
    def _apply_weight_decay(self, variables):
        pass

    def get_config(self):
        """Constructor arguments."""
        return {
            **super().get_config(),
            "bias_correction": self.bias_correction,
            "layer_decay": self.layer_decay,
            "depths": self.depths,
        }


def layer_depths(backbone):
    """Depths for `AdamW(depths=...)`: 0 for embeddings, i + 1 for block i.

    Args:
        backbone: a backbone whose blocks are named "block_0", "block_1", ...

    Returns:
        dict of str to int; the pooler and everything new stand above the last block.
    """
    return {
        name: int(name.removeprefix("block_")) + 1 if name.startswith("block_") else 0
        for name in backbone.named_layers
        if name != "pooler"
    }


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
        epochs, batch_size: int, as `fit` is given.
        learning_rate: float, the peak.
        warmup_share: float in [0, 1), of the updates.
        layer_decay: float in (0, 1], see `AdamW`.
        **kwargs: of `AdamW`.

    Returns:
        AdamW.

    Raises:
        ValueError: if the rate is to decay from block to block, and there are none.
    """
    steps = max(1, -(-rows // batch_size) * epochs)
    schedule = WarmupLinearDecay(learning_rate, int(steps * warmup_share), steps)
    depths = layer_depths(backbone) if layer_decay < 1 else None
    if depths and not any(depths.values()):
        raise ValueError(
            "`layer_decay` is for backbones of blocks, such as BERT. Received: "
            f"{layer_decay}, and one of family {backbone.family!r}."
        )
    return AdamW(schedule, layer_decay=layer_decay, depths=depths, **kwargs)
