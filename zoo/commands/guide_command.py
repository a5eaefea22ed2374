"""The command that prints the guides, pages that are part of the package."""

import difflib
import pathlib

import click

GUIDES = pathlib.Path(__file__).parents[1] / "guides"


@click.command()
@click.argument("name", required=False)
def guide(name):
    """Print the guide NAME, or list all guides.

    Guides are short pages on the parts of zoo, with examples that run.
    """
    pages = {path.stem: path.read_text("utf-8") for path in sorted(GUIDES.glob("*.md"))}
    if name in pages:
        click.echo(pages[name], nl=False)
    elif name is None:
        for known, text in pages.items():
            click.echo(f"{known:14} {' '.join(summary(text).splitlines())}")
    else:
        near = difflib.get_close_matches(name.lower(), pages, n=3, cutoff=0.0)
        raise KeyError(
            f"No guide is called {name!r}. Did you mean {', '.join(near)}? `zoo guide` "
            "lists all."
        )


def summary(text):
    """The paragraph of a page below its title."""
    return text.split("\n\n")[1]
