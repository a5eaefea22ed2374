"""Makes gpt1.json: a small vocabulary, and the ids that OpenAI's rule for GPT-1 gives.

Made with ftfy 6.3.1 and spaCy 3.8 (Python 3.11), seed 11:

    python tests/goldens/make_gpt1.py
"""

import functools
import json
import pathlib
import random
import re

SEED, TEXTS, MERGES = 11, 130, 220
# Pieces that meet the rules: marks, quotes, dashes, HTML entities, contractions,
# emoticons, addresses, controls, accents, other scripts, emoji, and white space.
PIECES = (
    """
the cat sat on The CAT Don't don’t it's can't've cannot gonna I'm y'all o'clock
'em U.S. e.g. Mr. Ph.D. a.m. 7pm 10km 5% $5 5$ 1,000 3.5 3-4 well-known a--b
http://a.com/b?c me@x.org www.a.org C++ :D =D xD O.O ^_^ <3 >.< :) :-( ;) :'( a.b
A.b a...b wait… .. ... '' Hello world ΑΣ ΑΣΑ Σ İstanbul ß É é e\u0301 Å \u212b
\u1100\u1161\u11a8 각 中文 日本 naïve café 😀 👩‍👩‍👧 ❤️ ” “ ‘ ’ ‟ ʼ ´ ` ' " — – ― ‐ …
- -- ~ ! !! ? ; : , ( ) [ ] { } | _ / * + \\ \\\\ \\n \\t = < > <b> & @ # $ % ^ ©
½ ﬁ ŉ ﬅ ǅ Ａ １ ！ ー ｶﾞ ￦ ＜ &amp; &lt; &amp;lt; &amp;amp;gt; &LT; &EACUTE;
&SZLIG; &eacute &eacute; &notin; &notit; &#59; &#38;lt; &#233; &#xe9; &#0; &#1;
&#128; &#xD800; &#x110000; &#13; &#10; &NewLine; &nbsp; &hellip; &mdash;
&#000000000000000000000065; &#0000000000000000000000065; &#12ab; ＆lt； &lt\u037e
&CounterClockwiseContourIntegral; &l\x01t; \x1b[31m \x1b[0;1m \x1b\x01[31m
\x1b［31m \x1b \x85 \x91 \x93 \x97 \x81 \x9f \x80 \x9b \x00 \x01 \x7f \ufeff \u206a
\ufff9 \ufffc \ufffd \uffff \u200b \u200d \u00ad \u180e
""".strip()
    .replace("\n", " ")
    .split(" ")
)
SPACES = [" "] * 9 + [""] * 6 + ["  ", "\n", "\n\n", " \n ", "\t", "\r", "\r\n"]
SPACES += ["\u2028", "\x0b", "\x0c", "\x1c", "\xa0", "\u1680", "\u2003", "\u3000"]
SENTENCES = (
    "",
    " \n\t ",
    "\"Don't stop!\" she said -- and he didn't... (He COULD'VE.)\n\nThe end",
    "“It’s a &quot;test&quot;,” I wrote; R&amp;B — the 1990s’ best.",
    "&lt;b&gt; &amp;\n<b> &amp;\n&amp;",
    "&amp; \r <b> \n &amp;",
    "a &amp; b\r\nc &amp; < d",
)


def generate(seed=SEED, count=TEXTS, longest=16):
    draw, texts = random.Random(seed), []
    for _ in range(count):
        pieces = draw.choices(PIECES, k=draw.randrange(1, longest))
        texts.append("".join(piece + draw.choice(SPACES) for piece in pieces))
    return texts


def standardize(text):
    """The first two steps: ftfy, and the function of the same name."""
    import ftfy

    config = ftfy.TextFixerConfig(fix_encoding=False, explain=False)
    text = ftfy.fix_text(text, config)
    text = re.sub("[—–―]", "-", text).replace("…", "...").replace("´", "'")
    # The pattern of the released code, which is not a raw string: no backslash.
    marks = r"(-+|~+|!+|\"+|;+|\?+|\++|,+|\)+|\(+|\/+|\*+|\[+|\]+|}+|{+|\|+|_+)"
    text = re.sub(marks, r" \1 ", text)
    text = re.sub(r"\s*\n\s*", " \n ", text)
    return re.sub(r"[^\S\n]+", " ", text).strip()


@functools.cache
def english():
    import spacy

    return spacy.blank("en").tokenizer


def split(text):
    """The words of a text in lower case, list of str."""
    return [token.text.lower() for token in english()(standardize(text))]


def encode(word, ranks):
    """The tokens of a word by the ranks of pairs, list of str."""
    if word == "\n ":
        return ["\n</w>"]
    symbols = [*word[:-1], word[-1] + "</w>"]
    while len(symbols) > 1:
        pairs = zip(symbols[:-1], symbols[1:], strict=True)
        best = min(pairs, key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        joined, place = [], 0
        while place < len(symbols):
            pair = tuple(symbols[place : place + 2])
            joined.append("".join(pair) if pair == best else symbols[place])
            place += 1 + (pair == best)
        symbols = joined
    return symbols


class Reference:
    """OpenAI's rule in plain Python, of tokens with ids and pairs without a header."""

    def __init__(self, vocabulary, merges):
        self.vocabulary = vocabulary
        self.ranks = {tuple(pair.split()): i for i, pair in enumerate(merges)}
        self.known = {}

    def __call__(self, text):
        """Returns the ids of a text, list of int."""
        return [i for word in split(text) for i in self._ids(word)]

    def _ids(self, word):
        if word not in self.known:
            tokens = encode(word, self.ranks)
            self.known[word] = [self.vocabulary.get(token, 0) for token in tokens]
        return self.known[word]


def main():
    from zoo.text import train_bpe

    texts = [*SENTENCES, *generate()]
    words = [word.strip() for text in texts for word in split(text)]
    # Some characters are left out, so that the texts have unknown tokens.
    merges, _ = train_bpe([" ".join(words)], num_merges=MERGES)
    pairs = [line.split() for line in merges[1:]]
    letters = sorted({c for word in words for c in word if c not in "é中😀=&#"})
    tokens = ["<unk>", *letters, *(c + "</w>" for c in letters), "\n</w>"]
    tokens = [*dict.fromkeys([*tokens, *("".join(pair) for pair in pairs)])]
    reference = Reference({token: i for i, token in enumerate(tokens)}, merges[1:])
    golden = {
        "texts": texts,
        "vocabulary": tokens,
        "merges": merges,
        "ids": [reference(text) for text in texts],
    }
    path = pathlib.Path(__file__).with_name("gpt1.json")
    path.write_text(json.dumps(golden, ensure_ascii=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
