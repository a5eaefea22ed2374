"""Tiny data sets and models, as the tables of benchmarks read them."""

import gzip

import keras
import numpy as np
import tiny
from tiny_gpt import tiny_byte_tokenizer

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.gpt import GPT, GPTConfig
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.registry import build_backbone
from zoo.text import CharacterTokenizer, FastaiTokenizer, WordPieceTokenizer

# Files of words with tags: the form of a line, and the names of the parts: training,
# test and development set.
TAGGED = {
    "conll2003/eng.{}.gz": ("{} X Y {}", ("train", "testb", "testa")),
    "ud_ewt/{}.pos.tsv.gz": ("{}\t{}", ("train", "test", "dev")),
    "btc/{}.conll.gz": ("{}\t{}", ("b", "f", "a")),
    "wikigold/{}.conll.gz": ("{}\t{}", ("train", "test", "valid")),
}


def write(path, lines):
    """Writes lines to a gzip file, in a new folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_tagged(folder, count):
    """The sets of words with tags, `count` rows in each part.

    One has lines without a word. In another one, the tags have the scheme IOB1.
    """
    for pattern, (form, parts) in TAGGED.items():
        for seed, part in enumerate(parts):
            texts, _ = tiny.make_texts(count, seed)
            lines = []
            for text, tags in zip(texts, tiny.make_tags(texts), strict=True):
                words = zip(text.split(), tags, strict=True)
                lines += [*(form.format(*pair) for pair in words), ""]
            if pattern.startswith("conll2003"):
                lines = [line.replace("B-", "I-") for line in lines]
                lines = ["-DOCSTART- X Y O", "", *lines]
            if part == "f":
                lines += [" \tO", "\tO", ""]
            write(folder / pattern.format(part), lines)


def write_sets(folder, count=40):
    """Every labelled set as its files hold it, `count` rows in each part."""
    for seed, part in enumerate(("train", "test")):
        texts, names = tiny.make_texts(count, seed)
        labels = [tiny.LABELS.index(name) for name in names]
        rows = list(zip(texts, reversed(texts), labels, strict=True))
        dev = "train" if part == "train" else "dev"
        lines = [f"{a}\t{label}" for a, _, label in rows]
        write(folder / f"glue/SST-2/{dev}.tsv.gz", ["sentence\tlabel", *lines])
        lines = [f"{label}\t0\t0\t{a}\t{b}" for a, b, label in rows]
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
        write(folder / f"glue/MRPC/{dev}.tsv.gz", [header, *lines])
        lines = [f"{label + 1}\t{label + 1}\t{a}\t{b}" for a, b, label in rows]
        write(folder / f"snli20k/{part}.tsv.gz", [*lines, "0\t0\tno\tlabel"])
        lines = [f"{label}\t{a}" for a, _, label in rows]
        write(folder / f"imdb/{part}.tsv.gz", lines)
        lines = [line.replace("\t", " ") for line in lines]
        write(folder / f"trec6/{part}.txt.gz", lines)
    write_tagged(folder, count)


def write_choices(folder, count=24):
    """STS-B and CODAH as their files hold them. The right ending begins with "good"."""
    draw = np.random.default_rng(0)
    words = ["good", "bad", "dull", "fine", "old", "new"]
    for part in ("train", "dev"):
        pairs, choices = ["sentence1\tsentence2\tscore"], []
        for _ in range(count):
            a, b = (" ".join(draw.choice(words, 4)) for _ in range(2))
            pairs.append(f"{a}\t{b}\t{len({*a.split()} & {*b.split()})}")
            right = int(draw.integers(4))
            endings = ["bad " + b, "dull " + a, "new " + b, "old " + a]
            endings[right] = "good " + b
            choices.append("\t".join(["o", a, *endings, str(right)]))
        write(folder / f"glue/STS-B/{part}.tsv.gz", pairs)
        write(folder / f"codah/{part}.tsv.gz", choices)


def make_bert(**fields):
    """A tiny BERT with its tokenizer, and other fields of its config."""
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, **fields})
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return backbone


def make_elmo():
    """The language model of a tiny ELMo."""
    tokenizer = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    return zoo.BidirectionalLM(ELMo(ELMoConfig(**tiny.ELMO_CONFIG)), tokenizer)


def make_ulmfit(tokens, reverse=False):
    """The language model of a tiny ULMFiT that has these tokens."""
    keras.utils.set_random_seed(int(reverse))
    fields = {"vocabulary_size": len(tokens), "pad_id": 1, "reverse": reverse}
    config = ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **fields})
    return zoo.CausalLM(ULMFiT(config), FastaiTokenizer(tokens))


def make_gpt(start_token=False, **fields):
    """The language model of a tiny GPT, with other fields of its config."""
    keras.utils.set_random_seed(5)
    config = GPTConfig(**{**tiny.GPT_CONFIG, **fields})
    return zoo.CausalLM(GPT(config), tiny_byte_tokenizer(start_token=start_token))
