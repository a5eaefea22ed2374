"""The optimizer of a pretraining recipe."""

from zoo.training import Adagrad, AdamW, InverseSquareRoot, WarmupLinearDecay


def make_optimizer(recipe):
    """The optimizer of a recipe."""
    if recipe.decay == "inverse_square_root":
        schedule = InverseSquareRoot(recipe.learning_rate, recipe.warmup_steps)
    else:
        end = recipe.steps if recipe.decay == "linear" else None
        schedule = WarmupLinearDecay(recipe.learning_rate, recipe.warmup_steps, end)
    options = {"global_clipnorm": recipe.clip_norm}
    if recipe.ema:
        options |= {"use_ema": True, "ema_momentum": recipe.ema}
    if recipe.optimizer == "adagrad":
        return Adagrad(
            schedule, initial_accumulator_value=recipe.accumulator, **options
        )
    options |= {"weight_decay": recipe.weight_decay, "beta_2": recipe.beta_2}
    return AdamW(schedule, **options)
