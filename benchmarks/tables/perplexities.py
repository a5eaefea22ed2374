"""The perplexity of language models with different tokens, on the same words.

    python -m benchmarks.tables.perplexities --data DIR

DIR has `books` and `wikitext2`. A forward and a backward ULMFiT are compared with the
two directions of an ELMo, and with a GPT. A word is what white space separates in the
file, after the changes of `zoo.data.read_documents`. So all models have the same words,
whatever their tokens are. The plain baseline draws the tokens of the forward ULMFiT
independently of each other, with the frequencies that they have in the same text. No
other model without context has a lower perplexity. Three numbers are computed for each
model, over its full vocabulary:

1. Perplexity: `exp(-log P / N)`. P is the probability of all tokens of the text, marks
   of capitals and of the ends of sentences or texts included. N is the number of words.
2. Unknown: the share of words with a token that is not in the vocabulary. In P, such a
   token counts as the unknown token of the model, which is easier to predict than the
   word itself.
3. Known to all: `exp(-log P / n)` over the tokens of the n words that have no unknown
   token in any of the models. Marks between words are left out.

Recurrent models carry their states through the whole file. The GPT reads it in windows
that overlap by half. Results are stored in `perplexities/results` and not computed
again. The table is written to the notes and the cards of each ULMFiT and of the GPT.
"""

import functools
import pathlib

import click
import numpy as np

from benchmarks.files import write_whole
from benchmarks.tables.preset_card import NOTES, card
from benchmarks.tables.stored_results import (
    lines,
    short_name,
    stored,
    told,
    write_table,
)
from benchmarks.tables.word_losses import (
    read_lines,
    score_elmo,
    score_gpt,
    score_ulmfit,
    score_unigram,
)

FOLDER = pathlib.Path(__file__).parents[1] / "perplexities"
PRESETS = pathlib.Path(__file__).parents[2] / "presets"
FILES = {
    "books, valid": "books/valid.txt.xz",
    "WikiText-2, valid": "wikitext2/wiki.valid.tokens.gz",
    "WikiText-2, test": "wikitext2/wiki.test.tokens.gz",
}
UNIGRAM = "frequencies of tokens, no context"
PAGE = FOLDER / "page.md"  # of notes that have no table yet


def compute(path, forward, backward, elmo, gpt):
    """The numbers of a file, dict of model to `Scores.summary`; see `stored`."""
    text = read_lines(path)
    scores = {UNIGRAM: score_unigram(forward, text)}
    scores |= {short_name(p): score_ulmfit(p, text) for p in (forward, backward)}
    names = (f"{short_name(elmo)}, {d}" for d in ("forward", "backward"))
    scores |= zip(names, score_elmo(elmo, text), strict=True)
    scores[short_name(gpt)] = score_gpt(gpt, text)
    known = np.logical_and.reduce([part.known for part in scores.values()])
    found = {name: part.summary(known) for name, part in scores.items()}
    return {"words": sum(map(len, text)), "models": found}


def table(names):
    """The table of some results in Markdown, or None without results.

    Args:
        names: dict of title to the name of a stored result.
    """
    rows, results = [], []
    for title, name in names.items():
        found = stored(name, folder=FOLDER)
        if not found:
            continue
        results.append(found)
        for model, numbers in found["models"].items():
            row = [f"{title}, {found['words']:,} words"]
            row.append(model if model == UNIGRAM else f"`{model}`")
            row += [f"{numbers['perplexity']:.1f}", f"{100 * numbers['unknown']:.1f} %"]
            share = f"{100 * numbers['share_known']:.1f} % of the words"
            rows.append([*row, f"{numbers['known_to_all']:.1f} ({share})"])
    heads = ["text", "model", "perplexity", "unknown", "known to all"]
    return f"{lines(heads, rows)}\n{told(results)}" if rows else None


def write_card(preset, text):
    """Writes the table to the notes of a shipped preset, and the card again."""
    notes = preset / NOTES
    known = notes.read_text("utf-8") if notes.exists() else ""
    if "<!-- perplexities -->" not in known:
        write_whole(notes, "\n".join([known, PAGE.read_text("utf-8")]).lstrip())
    write_table("perplexities", text, notes)
    if (preset / "log.csv").exists():
        write_whole(preset / "README.md", card(preset))


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--forward", default="ulmfit_mini_en_books", help="Name or directory.")
@click.option("--backward", default="ulmfit_mini_en_books_backward")
@click.option("--elmo", default="elmo_mini_en_books", help="Name or directory.")
@click.option("--gpt", default="gpt_mini_en_books", help="Name or directory.")
def main(data, forward, backward, elmo, gpt):
    """Computes missing results and writes the tables."""
    shown = [short_name(preset) for preset in (forward, backward, gpt)]
    names = {title: f"{path.split('.tokens')[0]}" for title, path in FILES.items()}
    names = {
        t: f"{pathlib.Path(n).name.split('.txt')[0]}-{'+'.join(shown)}"
        for t, n in names.items()
    }
    for title, path in FILES.items():
        work = functools.partial(compute, data / path, forward, backward, elmo, gpt)
        stored(names[title], work, FOLDER)
        for name in shown:
            for folder in PRESETS.glob(f"*/{name}"):
                write_card(folder, table(names))


if __name__ == "__main__":
    main()
