"""Makes fastai_older.json: tokens by the rules of fastai 0.7 and 1.

The rules are written again here, from the description of fastai 0.7 (`text.py`, and
`imdb_scripts/create_toks.py`) and 1.0.61 (`text/transform.py`), on spaCy's tokenizer.
Made with spaCy 3.8 (Python 3.11), seed 31:

    python tests/goldens/make_fastai_older.py
"""

import html
import json
import pathlib
import re

from make_fastai import SENTENCES, generate

SEED, LINES = 31, 60
MORE = """Wow wow wow wow! no, no, no, no, no. a-a-a-a-a, b,b,b,b, c ha HA HA HA HA HA
Mr. O'Neil and DON'T, I'M Can't CAN'T WON'T I'd U.S.A. Ph.D. e.g. St. Louis 5KM 3GB US$5
éé ÉÉ École ÉCOLE ΑΣ ΑΣΣ ΣΑΣ. Ǆ ǅ ßß ŒUVRE ⅧⅨ ªº iPhone MacDonald's eBay's IT'S He's
x\\y a\\\\b <br> <BR/> <br/>text 1 @,@ 000 2 @.@ 5 THE<unk>END xxbos $5 A.B a.B A.b AB.
!!!! !!! ---- ...... a a a a b b b b. the the the the\tthe / # \n\n x
(Hello) "World". 'Tis Hello,World hello-World 10AM 5pm.
Nov. 5 www.A.org A:B °C. °F:""".split("\n")
MARKS = {"v1": ("xxrep", "xxwrep", "xxunk"), "0.7": ("tk_rep", "tk_wrep", "u_n")}
REPLACEMENTS = (
    ("#39;", "'"),
    ("amp;", "&"),
    ("#146;", "'"),
    ("nbsp;", " "),
    ("#36;", "$"),
    ("\\n", "\n"),
    ("quot;", "'"),
    ("<br />", "\n"),
    ('\\"', '"'),
)


def repair(text, unknown, commas):
    more = [("<unk>", unknown), (" @.@ ", "."), (" @-@ ", "-")]
    more += [(" @,@ ", ",")] * commas + [("\\", " \\ ")]
    for old, new in (*REPLACEMENTS, *more):
        text = text.replace(old, new)
    return re.sub("  +", " ", html.unescape(text))


def count(text, characters, words):
    """The rules about repeated characters and words."""
    text = re.sub(r"(\S)\1{3,}", lambda m: f" {characters} {len(m[0])} {m[1]} ", text)

    def write(match):
        others = match[0][len(match[1]) :].split()
        return f" {words} {len(others) + 1} {match[1]} "

    return re.sub(r"(\b\w+\W+)\1{3,}", write, text)


def tokenize_as_1(text, split):
    text = count(repair("xxbos " + text, "xxunk", True), *MARKS["v1"][:2])
    text = re.sub("  +", " ", re.sub(r"([/#\n])", r" \1 ", text))
    tokens = []
    for token in split(text):
        if token.isupper() and len(token) > 1:
            tokens.append("xxup")
        elif token[0].isupper() and token[1:].islower():
            tokens.append("xxmaj")
        tokens.append(token.lower())
    return tokens


def tokenize_as_07(text, split):
    text = count(repair("\nxbos xfld 1 " + text, "u_n", False), *MARKS["0.7"][:2])
    parts = [
        f" t_up {part.lower()}" if part.isupper() and len(part) > 2 else part.lower()
        for part in re.findall(r"\w+|\W+", text)
    ]
    text = re.sub("  +", " ", re.sub("([/#])", r" \1 ", "".join(parts)))
    return split(re.sub(r"<\s*br\s*/?>", "\n", text, flags=re.IGNORECASE))


RULES = {"v1": tokenize_as_1, "0.7": tokenize_as_07}


def tokenize(texts):
    """Dict of version to the tokens of texts, list of list of str."""
    import spacy

    english = spacy.blank("en")

    def split(text):
        return [token.text for token in english.tokenizer(text)]

    return {name: [rule(text, split) for text in texts] for name, rule in RULES.items()}


def make_texts(seed=SEED, lines=LINES):
    texts = [*MORE, *SENTENCES, *generate(seed, lines)]
    # Texts that begin with the marks of numbers would join the tokens before them.
    return [text for text in texts if not text.lstrip(" ").startswith("@")]


def main(path):
    texts = make_texts()
    content = {"texts": texts, "tokens": tokenize(texts)}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main(pathlib.Path(__file__).with_name("fastai_older.json"))
