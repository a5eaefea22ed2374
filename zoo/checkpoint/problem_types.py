"""`problem_type` in a config.json of Hugging Face: what a classifier of texts gives."""

from zoo.checks.user_warnings import warn_user

# What a classifier labels, see `Converted`, and whether a text has a set of labels.
PROBLEM_TYPES = {
    "single_label_classification": ("texts", False),
    "multi_label_classification": ("texts", True),
    "regression": ("numbers", False),
}


def name_problem(classifies, options):
    """The value for a task to write, or None if Hugging Face has none for it.

    Args:
        classifies, options: see `Converted`.
    """
    kind = classifies, options.get("multi_label", False)
    return {kind: name for name, kind in PROBLEM_TYPES.items()}.get(kind)


def read_problem(values, num_outputs, directory):
    """What a classifier of texts gives: `classifies` and `options` of `Converted`.

    Without `problem_type`, one output is a number, and several are those of labels. A
    warning says why it is None.

    Args:
        values: dict, of the config.json.
        num_outputs: int, of the classifier.
        directory: for the warning.
    """
    named = "regression" if num_outputs == 1 else "single_label_classification"
    problem = values.get("problem_type") or named
    kind, sets = PROBLEM_TYPES.get(str(problem), (None, False))
    if kind is None or (kind == "numbers") != (num_outputs == 1):
        warn_user(
            f"The classifier of {directory} does not give one label, a set of labels "
            f"or one number for a text. Received: problem_type={problem!r} and "
            f"{num_outputs} outputs. zoo has no such task. The model is loaded as a "
            "backbone."
        )
        return None, {}
    return kind, {"multi_label": True} if sets else {}
