"""Values of options that have a form of their own, as callbacks of click."""

import json

from zoo.checks.number_rules import check_numbers


def parse_options(context, parameter, values):
    """A callback of click, which returns a dict of the arguments `NAME=VALUE`.

    A value is JSON, such as 100, 0.5, true or [1, 2]; what is no JSON is a string.

    Raises:
        ValueError: if there is no "=", or the command has an option of this name.
    """
    option_names, found = {option.name for option in context.command.params}, {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier() or name in option_names:
            raise ValueError(
                "`--option` must be NAME=VALUE, with a name that is no option of this "
                f"command. Received: {text!r}. An example is head=concat_pooling."
            )
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return check_numbers(found)


def parse_weights(context, parameter, values):
    """A callback of click, which returns "balanced", a dict of `LABEL=WEIGHT` or None.

    Raises:
        ValueError: if a value has another form.
    """
    if "balanced" in values and len(values) == 1:
        return "balanced"
    found = {}
    for text in values:
        name, sign, weight = text.rpartition("=")
        try:
            found[name] = float(weight)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise ValueError(
                "`--class-weight` must be balanced, or LABEL=WEIGHT with a number. "
                f"Received: {text!r}."
            )
    return found or None


def parse_runner_options(context, parameter, values):
    """A callback of click, which returns a dict of the arguments `NAME=VALUE`.

    Raises:
        ValueError: if a value has another form.
    """
    found = {}
    for text in values:
        name, sign, value = text.removeprefix("--").partition("=")
        if not sign or not name:
            raise ValueError(
                f"`--runner-option` must be NAME=VALUE. Received: {text!r}. An example "
                "is direct_num_workers=2."
            )
        found.setdefault(name, []).append(value)
    return {name: v[0] if len(v) == 1 else v for name, v in found.items()}
