"""The message about a package that is not always installed."""


def missing_package(needed_by, package, extra):
    """Sentences about a package that is missing, and how to install it.

    Args:
        needed_by: str, the beginning of the first sentence, such as "Pictures need".
        package: str, its name on PyPI.
        extra: str, the extra of the project that has it.
    """
    return (
        f"{needed_by} {package}. Run `pip install {package}`, or in a checkout of the "
        f'project `pip install -e ".[{extra}]"`.'
    )
