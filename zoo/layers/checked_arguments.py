"""Arguments of layers."""

from zoo.checks.ranges import check_values


def keep_checked(layer, kind, /, **values):
    """Checks arguments of one kind, and keeps them as attributes of a layer."""
    check_values(kind, **values)
    for name, value in values.items():
        setattr(layer, name, value)
