"""Commands that ask a model about texts."""

import json
import sys

import click

from zoo import arguments


@click.command()
@click.argument("model", callback=arguments.check_model)
@click.argument("texts", nargs=-1)
@click.option("--pair", is_flag=True, help="Each text is a pair, separated by a tab.")
def predict(model, texts, pair):
    """Print the answer to each text as a line of JSON.

    The texts are arguments, or lines of standard input.
    """
    from zoo.programs import finetuning

    rows = list(texts) or [line.rstrip("\n") for line in sys.stdin]
    if pair:
        rows = finetuning.split_pairs(rows)
    for line in finetuning.load(model).answer_rows(rows):
        click.echo(json.dumps(line, ensure_ascii=False))


@click.command("fill-mask")
@click.argument("preset", callback=arguments.check_preset)
@click.argument("texts", nargs=-1, required=True)
@click.option("-k", default=5, show_default=True, help="Candidates per [MASK].")
def fill_mask(preset, texts, k):
    """Print the likeliest tokens for every [MASK] in the texts."""
    import zoo

    model = zoo.from_preset(preset, task=zoo.MaskedLM.task_name)
    for text, masks in zip(texts, model.fill_mask(list(texts), k), strict=True):
        click.echo(text)
        for mask in masks:
            found = ", ".join(f"{token} {score:.3f}" for token, score in mask)
            click.echo(f"  {found}")


@click.command()
@click.argument("preset", callback=arguments.check_model)
@click.argument("text")
@click.argument("target", required=False)
@click.option("--output", required=True, help="The HTML file to write.")
def attend(preset, text, target, output):
    """Write a page that shows what the tokens of a text attend to.

    PRESET may also be a `.keras` file. TARGET is for models that translate: what the
    decoder writes. By default it is the translation by greedy search. The page opens
    in any browser and needs no network.
    """
    from zoo.programs import attend as program

    click.echo(program.run(preset, text, target, output))


COMMANDS = (predict, fill_mask, attend)
