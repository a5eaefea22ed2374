"""The learning rate schedule of BERT."""

import keras
from keras import ops
from keras.optimizers.schedules import LearningRateSchedule


@keras.saving.register_keras_serializable(package="zoo")
class WarmupLinearDecay(LearningRateSchedule):
    """A linear warm-up to the peak, followed by a linear decay to zero.

    The rate at update t, counted from 0, is `peak t / warmup_steps` while
    t < warmup_steps. Later it is `peak (1 - t / decay_steps)`: the decay counts from
    update 0, not from the end of the warm-up. Without a decay it stays at the peak.

    Source: Devlin et al. 2019, released code `optimization.py`.
    `keras.optimizers.schedules` has no linear warm-up before a linear decay.

    Args:
        peak: float, learning rate per update.
        warmup_steps: int, updates.
        decay_steps: int, updates until the rate is zero, or None for no decay.

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
