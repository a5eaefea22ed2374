"""Makes subword_nmt.json: codes that subword-nmt learns, and the pieces that it makes.

Made with subword-nmt 0.3.8:

    python tests/goldens/make_subword_nmt.py
"""

import contextlib
import io
import json
import pathlib
import random

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

SEED = 24
CORPUS = [
    "the lowest of the low towers is lower than the newest tower",
    "newer and wider rivers are the widest , and the newest are wider still",
    "banana bandana anagram aaaa aaaaa aaaaaa xyxyxy xyxy",
    "ein müder Bär über den Bäumen , drüber und drunter",
    "новый новее новейший , новые новости",
]
WORDS = "lower newly widen unlowered banananana aaaaaaa xyxyx müde Bäume новизна 中 ẞ w"
OLD = 0.3  # the share of lines after which version 0.1 joins the mark on its own


def learn(merges):
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe(io.StringIO("\n".join(CORPUS * 2) + "\n"), codes, merges)
    return codes.getvalue().rstrip("\n").split("\n")


def main(path):
    draw = random.Random(SEED)
    codes = {"0.2": learn(60), "0.1": []}
    for line in codes["0.2"][1:]:
        codes["0.1"].append(line)
        left = line.split(" ")[0]
        if draw.random() < OLD and not left.endswith("</w>"):
            codes["0.1"].append(f"{left} </w>")
    words = [*" ".join(CORPUS).split(), *WORDS.split()]
    letters = sorted({*"".join(words)})
    words += ["".join(draw.choices(letters, k=draw.randrange(1, 12))) for _ in words]
    texts = [" ".join(draw.choices(words, k=draw.randrange(12))) for _ in range(60)]
    pieces = {}
    for version, lines in codes.items():
        judge = BPE(io.StringIO("\n".join(lines) + "\n"))
        pieces[version] = [judge.process_line(text).split() for text in texts]
    content = {"corpus": CORPUS, "codes": codes, "texts": texts, "pieces": pieces}
    text = json.dumps(content, ensure_ascii=False, indent=0)
    path.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(pathlib.Path(__file__).with_name("subword_nmt.json"))
