"""What a run of a recipe costs, from its sizes alone."""

import functools

from zoo.pretraining.running import check_in_parts
from zoo.pretraining.start import check_configs, make_optimizer
from zoo.programs.costs.cost_tables import memory_lines
from zoo.programs.costs.model_memory import described, make_task
from zoo.programs.costs.step_costs import step_costs

FLOAT_BYTES = 4
FORMULAS = (
    "operations: 2 m n k for each product of an m x k and a k x n matrix of an update, "
    "forward and backward; in a Transformer about (6 parameters + 12 layers x width x "
    "length) x tokens, without the table of tokens unless it makes the logits",
    "exchanged: bytes that each of n devices sends in an update, 2 (n - 1) / n x 4 x "
    "trained parameters, by a ring",
)


def recipe_costs(recipe, devices=1, accumulate=1, remat=False):
    """What an update of each stage needs on one device.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        devices: int, among which the rows of an update are divided.
        accumulate, remat: see `zoo.tasks.Task.compile`.

    Returns:
        list of `zoo.programs.costs.step_costs.StepCosts`, one for each stage.

    Raises:
        ValueError: if the model depends on the data, or an argument does not fit.
    """
    kind = recipe.kind
    if kind.task is None:
        raise ValueError(
            "The costs of a recipe can be computed if its model does not depend on the "
            f"data. Received: the objective {kind.name}. Start the run."
        )
    check_in_parts(recipe, accumulate)
    check_configs(recipe)
    config = dict(recipe.config)
    if recipe.start is not None:
        config = {**described(recipe.start)[1], **config}
    options, found = kind.task_options(recipe), []
    for length, rows, _ in recipe.stages:
        rows = -(-rows // devices)
        if "rows" in options:  # of a model that carries states
            options["rows"] = rows
        arguments = kind.task, recipe.family, config, recipe.dtype, options
        make, optimizer = (
            functools.partial(make_task, *arguments),
            make_optimizer(recipe),
        )
        found.append(step_costs(make, rows, length, optimizer, accumulate, remat))
    return found


def cost_table(recipe, devices=1, accumulate=1, remat=False):
    """What `zoo pretrain --dry-run` prints, a str; see `recipe_costs`."""
    costs = recipe_costs(recipe, devices, accumulate, remat)
    steps = [steps for _, _, steps in recipe.stages]
    flops = sum(n * devices * c.flops for n, c in zip(steps, costs, strict=True))
    sent = 2 * (devices - 1) * FLOAT_BYTES * costs[0].trained // devices
    lines = [
        f"parameters   {costs[0].parameters:,}",
        f"updates      {recipe.steps:,}",
        f"tokens       {sum(recipe.sizes()):,}",
        f"operations   {flops:.3e}",
        f"exchanged    {sent:,} bytes by each of {devices} devices in an update",
    ]
    for (length, rows, count), cost in zip(recipe.stages, costs, strict=True):
        head = f"{count:,} updates of {rows} x {length} tokens, memory of each device:"
        lines += ["", head, *memory_lines(cost)]
    return "\n".join([*lines, "", *FORMULAS])
