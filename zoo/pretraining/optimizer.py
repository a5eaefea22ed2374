"""The optimizer of a pretraining recipe."""

from zoo.training import Adagrad, AdamW, WarmupLinearDecay


def make_optimizer(recipe):
    """Makes the optimizer of a recipe.

    Args:
        recipe: `zoo.pretraining.Recipe`.

    Returns:
        keras.optimizers.Optimizer.
    """
    schedule = WarmupLinearDecay(
        recipe.learning_rate,
        recipe.warmup_steps,
        recipe.steps if recipe.decays else None,
    )
    options = {"global_clipnorm": recipe.clip_norm}
    if recipe.ema:
        options |= {"use_ema": True, "ema_momentum": recipe.ema}
    if recipe.optimizer == "adagrad":
        return Adagrad(
            schedule, initial_accumulator_value=recipe.accumulator, **options
        )
    return AdamW(schedule, recipe.weight_decay, beta_2=recipe.beta_2, **options)
