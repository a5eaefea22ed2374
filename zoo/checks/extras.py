"""The message about a package that is not always installed."""


def missing_package(needed_by, package, extra):
    """Sentences, after `needed_by`, about a missing package and the extra with it."""
    return (
        f"{needed_by} {package}. Run `pip install {package}`, or in a checkout of the "
        f'project `pip install -e ".[{extra}]"`.'
    )
