"""Names of a package that are imported when they are first used."""

import importlib
import sys


def lazy_names(package, places):
    """The functions `__getattr__` and `__dir__` of a package that has `__all__`.

    Args:
        package: str, its `__name__`.
        places: dict of each lazy name to the module that has it, a dotted str; or to
            None if it is a module of the package itself.

    Returns:
        tuple of the two functions. The first one stores what it finds in the package,
        and raises AttributeError for another name.
    """
    module = sys.modules[package]

    def find(name):
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = importlib.import_module(places[name] or f"{package}.{name}")
        if places[name]:
            value = getattr(value, name)
        setattr(module, name, value)
        return value

    return find, lambda: sorted(module.__all__)
