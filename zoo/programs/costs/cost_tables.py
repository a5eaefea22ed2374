"""Tables of what training costs, for the command line."""

from zoo.programs.costs.model_memory import training_memory
from zoo.programs.costs.step_costs import MEMORY


def memory_table(preset, rows, sequence_length, **options):
    """The table of `zoo info --memory`, a str; arguments are of `training_memory`."""
    costs = training_memory(preset, rows, sequence_length, **options)
    given = ", ".join(f"{k} {v}" for k, v in options.items())
    head = f"one step of {rows} x {sequence_length} tokens{given and ', '}{given}"
    return "\n".join([head, *memory_lines(costs)])


def memory_lines(costs):
    """A line for each kind of memory of `StepCosts`, list of str."""
    return [
        f"{name:12}{getattr(costs, name) / 1e9:9.3f} GB" for name in (*MEMORY, "total")
    ]
