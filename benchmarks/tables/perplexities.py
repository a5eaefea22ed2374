"""The perplexity of language models with different tokens, on the same words.

    python -m benchmarks.tables perplexities --data DIR

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
that overlap by half. The table is in the notes and the cards of each ULMFiT and of the
GPT.
"""

import numpy as np

from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import markdown, short_name
from benchmarks.tables.word_losses import (
    read_lines,
    score_elmo,
    score_gpt,
    score_ulmfit,
    score_unigram,
)

FILES = {
    "books, valid": "books/valid.txt.xz",
    "WikiText-2, valid": "wikitext2/wiki.valid.tokens.gz",
    "WikiText-2, test": "wikitext2/wiki.test.tokens.gz",
}
UNIGRAM = "frequencies of tokens, no context"


def shown_presets(run):
    """The short names of the presets whose cards have the table."""
    return [short_name(run.presets[role]) for role in ("forward", "backward", "gpt")]


def name_of(run, path):
    """The name of the result of a file."""
    stem = short_name(path).split(".tokens")[0].split(".txt")[0]
    return f"{stem}-{'+'.join(shown_presets(run))}"


def compute(run, path):
    """The numbers of a file, dict of model to `Scores.summary`."""
    presets, text = run.presets, read_lines(run.data / path)
    scores = {UNIGRAM: score_unigram(presets["forward"], text)}
    for role in ("forward", "backward"):
        scores[short_name(presets[role])] = score_ulmfit(presets[role], text)
    elmo = short_name(presets["elmo"])
    names = (f"{elmo}, {direction}" for direction in ("forward", "backward"))
    scores |= zip(names, score_elmo(presets["elmo"], text), strict=True)
    scores[short_name(presets["gpt"])] = score_gpt(presets["gpt"], text)
    known = np.logical_and.reduce([part.known for part in scores.values()])
    found = {name: part.summary(known) for name, part in scores.items()}
    return {"words": sum(map(len, text)), "models": found}


def table(run):
    """The table in Markdown, or None without results."""
    rows, results = [], {t: run.stored(name_of(run, p)) for t, p in FILES.items()}
    results = {title: found for title, found in results.items() if found}
    for title, found in results.items():
        for model, numbers in found["models"].items():
            row = [f"{title}, {found['words']:,} words"]
            row.append(model if model == UNIGRAM else f"`{model}`")
            row += [f"{numbers['perplexity']:.1f}", f"{100 * numbers['unknown']:.1f} %"]
            share = f"{100 * numbers['share_known']:.1f} % of the words"
            rows.append([*row, f"{numbers['known_to_all']:.1f} ({share})"])
    heads = ["text", "model", "perplexity", "unknown", "known to all"]
    return markdown(heads, rows, [*results.values()])


TABLE = Table(
    "perplexities",
    cells=lambda run: {name_of(run, path): (path,) for path in FILES.values()},
    compute=compute,
    tables={"perplexities": table},
    presets={
        "forward": "ulmfit_mini_en_books",
        "backward": "ulmfit_mini_en_books_backward",
        "elmo": "elmo_mini_en_books",
        "gpt": "gpt_mini_en_books",
    },
    cards=shown_presets,
)
