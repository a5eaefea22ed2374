"""Makes fastai.json: the tokens that fastai's rules and spaCy's tokenizer make.

Made with fastai 2.8.12 and spaCy 3.8 (Python 3.11), seed 27:

    python tests/goldens/make_fastai.py
"""

import json
import pathlib
import random

SEED, LINES = 27, 300
# Pieces that meet the rules: marks, quotes, capitals, HTML, repetitions, addresses,
# abbreviations, emoticons, and white space of several kinds.
WORDS = (
    """
the Go NO no no no ha ha ha! I A1 É ÉA AÉ iPhone Hello USA U.S. u.s.a. don't
Don’t It's well-known mother-in-law ... .. .... !!! aaa AAAA &amp; &lt;b&gt;
&#39; &eacute; &#233; &notit; &#x110000; <br /> <unk> 1,000 1.5 $5 5km 5$
US$20 €7 10% +4 3+4 1-2-3 25°C. 7pm 7p.m. http://a.com/b?c=d www.a.org/x,
me@x.org mailto:me@x.org 8.8.8.8 192.168.1.1 a.b. \\n \\" @-@ @.@ a/b #tag C++
:) :-( hi:) (hi) ("so") “Quoted” ‘s 'em 'twas dogs' xxbos xxmaj naïve 中文。 日本.語
。。。 e.g., i.e. vs. Mr. a.m. etc. -- — – a--b a—b 3.5% \x00 ~x w w w ha-ha é é
é, e\u0301 κόσμος ΣΑΣ. İstanbul ß 😀 😀😀😀 🤍 👩‍👩‍👧 ❤️ 2²+ °f. can't've cannot
gonna let's y'all who'd o'clock ma'am and/or w/o [1] {x} <x> x=y x<y a:b a,b
A.B a.B *x* _x_ x_y
""".strip()
    .replace("\n", " ")
    .split(" ")
)
SPACES = [" "] * 12 + ["  ", "\n", " \n", "\n\n ", "\t", "\xa0", "\u2003", "\x1c", ""]
# Texts for replace_wrep: which white space a match takes decides about the next match.
LETTERS = ["a ", "a", "b ", "b", "a\n", "a. ", "a  ", "a, ", "é ", " "]
SENTENCES = """It wasn't the U.S.'s fault, Mr. O'Neil said: "We're SO sorry..."
I payed $1,000.50 for a 10km run -- at 7a.m.!
See http://www.example.com/a_b?c=1#d, or write to someone.else@example.co.uk.
He'd've said "no no no no" (twice), wouldn't he?!?!
THE END. A B C. Well-Known McDonald's iPhone eBay's TVs' OK? o.k.
A &quot;classic&quot;<br /><br />with &amp;nbsp; and AT&T, R&amp;B &c.""".split("\n")


def generate(seed=SEED, lines=LINES):
    draw = random.Random(seed)
    texts = ["", " ", "\n", "\x00", *SENTENCES, "\n".join(SENTENCES)]
    for _ in range(lines):
        count = draw.randrange(25)
        text = "".join(draw.choice(WORDS) + draw.choice(SPACES) for _ in range(count))
        texts.append(text)
        texts.append("".join(draw.choices(LETTERS, k=draw.randrange(1, 16))))
    return texts


def tokenize(texts):
    from fastai.text.core import TokenizeWithRules, WordTokenizer

    return [[*map(str, row)] for row in TokenizeWithRules(WordTokenizer())(texts)]


def main(path):
    texts = generate()
    content = {"texts": texts, "tokens": tokenize(texts)}
    path.write_text(json.dumps(content, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main(pathlib.Path(__file__).with_name("fastai.json"))
