"""The rules of spaCy's English tokenizer: regular expressions for RE2, and exceptions.

RE2 has no lookbehind and no lookahead. A pattern therefore matches the neighbours of
a mark, too, and its groups say which characters are the neighbours.

Source: spaCy 3.8, the character classes, affixes, URL pattern and exceptions of its
blank English pipeline; `spacy_rules.json` holds the tables. There are patterns for
texts in lower case and for texts with capitals. In the first ones, the ranges of
letters span capitals that are not there, and patterns that require capitals (such as
`US$`, or a full stop after two capitals) match only scripts without case.
"""

import functools
import json
import pathlib
import typing

_TABLES = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text("utf-8"))


class Patterns(typing.NamedTuple):
    """The patterns of one kind of text, and the groups that replace their matches."""

    prefix: str
    suffix: str
    suffix_groups: str
    infix: str
    comma: str
    url: str


def _ranges(hexadecimal):
    """Writes hexadecimal ranges, a list, as the inside of a character class."""
    pairs = (part.split("-") for part in hexadecimal)
    return "".join("-".join(rf"\x{{{code}}}" for code in pair) for pair in pairs)


def _select(ranges, capitals):
    """The capitals in ranges, or all other characters, inside a character class."""
    codes = []
    for part in ranges:
        first, _, last = part.partition("-")
        codes += range(int(first, 16), int(last or first, 16) + 1)
    letters = [chr(code) for code in codes]
    if capitals:
        return "".join(c for c in letters if c.isupper())
    return "".join(c for c in letters if not c.isupper() and not c.istitle())


# Scripts without case: both lower and upper case for spaCy.
UNCASED = _ranges(_TABLES["letters_without_case"])
LOWER = UNCASED + _ranges(_TABLES["lower"])
# Letters without case, and those of which only the first half is a capital.
_OTHER_LETTERS = ["1BB", "1C5", "1C8", "1CB", "1F2"]
ICON = _ranges(_TABLES["symbols"])  # symbols and emoji, as of Unicode 11
QUOTE = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉〈〉⟦⟧"
PUNCTUATION = r"…,:;!?¿؟¡()\[\]{}<>_#*&。？！，、；：～·।،۔؛٪"
CURRENCY = r"$£€¥฿₠-₿﷼"
UNIT = "|".join(_TABLES["units"])
CAPITAL_UNIT = "|".join(_TABLES["units_with_capitals"])
CAPITAL_CURRENCY = r"US\$|C\$|A\$"
HYPHEN = "-|–|—|--|---|——|~"
PREFIX_GROUPS = r"\1"
# Marks that are tokens inside of a word.
ELLIPSIS = rf"(\.\.+|…|[{ICON}])"
INFIX_GROUPS = r"\1\4\7 \2\5\8 \3\6\9"
COMMA_GROUPS = r"\1 \2 \3"

# Addresses whose first numbers are of private networks are no URLs.
_OCTET = r"(?:1?\pN{1,2}|2[0-4]\pN|25[0-5])"
_NOT_16_31 = r"(?:\pN|1[0-5]|3[2-9]|[04-9]\pN|1\pN\pN|2[0-4]\pN|25[0-5])"
_NOT_168 = r"(?:\pN{1,2}|1[0-57-9]\pN|16[0-79]|2[0-4]\pN|25[0-5])"
_NOT_254 = r"(?:1?\pN{1,2}|2[0-4]\pN|25[0-35])"
_FIRST = (
    r"(?:[1-9]|1[1-9]|[2-9]\pN|1[013-5]\pN|12[0-689]|16[0-8]|17[013-9]|18\pN|19[013-9]|"
    r"2[01]\pN|22[0-3])"
)
_TWO = rf"(?:{_FIRST}\.{_OCTET}|169\.{_NOT_254}|172\.{_NOT_16_31}|192\.{_NOT_168})"
_ADDRESS = rf"{_TWO}\.{_OCTET}\.(?:[1-9]\pN?|1\pN\pN|2[0-4]\pN|25[0-4])".replace(
    r"\pN", r"\p{Nd}"
)
_HOST = r"A-Za-z0-9\x{a1}-\x{ffff}"
_DOMAIN = rf"(?:(?:[{_HOST}][{_HOST}_-]{{0,62}})?[{_HOST}]\.)+"


def exceptions(cased):
    """Tokens of the words that are split, or kept, against the rules; dict of str."""
    # The tokens have a space between them. fastai 0.7 and 2 lower texts before they
    # split them, and need no words with capitals. fastai 1 lowers the tokens.
    tokens = [*_TABLES["exceptions"]]
    if cased:
        tokens += _TABLES["exceptions_with_capitals"]
    return {text.replace(" ", ""): text for text in tokens}


@functools.cache
def patterns(cased):
    """The patterns of texts with or without capitals, `Patterns`."""
    lower, upper, letter = LOWER, UNCASED, LOWER + _ranges(["1BB"])
    currency, unit, final = f"[{CURRENCY}]", UNIT, "s"
    if cased:
        lower = UNCASED + _select(_TABLES["lower"], False)
        upper = UNCASED + _select(_TABLES["upper"], True)
        letter = lower + upper + _ranges(_OTHER_LETTERS)
        currency, unit = f"{currency}|{CAPITAL_CURRENCY}", f"{UNIT}|{CAPITAL_UNIT}"
        final = "[sS]"
    prefix = rf"[§%=—–{PUNCTUATION}{QUOTE}{ICON}]|{currency}|\.\.+|\+([^0-9]|$)"
    suffix = (
        rf"(?:……|\.\.+|['’]{final}|[—–{PUNCTUATION}{QUOTE}{ICON}]|"
        rf"([0-9])(?:\+|{currency}|{unit})|"
        rf"([0-9%²+\-|?:(){PUNCTUATION}{QUOTE}{lower}])\.|"
        rf"([{upper}]{{2}}|°[FCK])\.)$"
    )
    # Three groups in each alternative: the neighbour, the mark and the neighbour.
    infix = (
        r"([0-9])([+\-*^])([0-9-])|"
        rf"([{lower}{QUOTE}])(\.)([{upper}{QUOTE}])|"
        rf"([{letter}0-9])({HYPHEN}|[:<>=/])([{letter}])"
    )
    url = (
        r"(?s)(?:[\pL\pN_+\-.]{2,}://)?(?:.+@)?"
        rf"(?:{_ADDRESS}|{_DOMAIN}[{lower}]{{2,}})(?::\p{{Nd}}{{2,5}})?(?:[/?#].*)?"
    )
    comma = rf"([{letter}])(,)([{letter}])"
    return Patterns(f"^(?:{prefix})", suffix, r"\1\2\3", infix, comma, url)
