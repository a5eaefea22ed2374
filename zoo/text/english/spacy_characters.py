"""The regular expressions of spaCy's English tokenizer, for RE2.

RE2 has no lookbehind and no lookahead. A pattern therefore matches the neighbours of
a mark, too, and its groups say which characters are the neighbours.

Source: spaCy 3.8, the character classes, affixes and URL pattern of its blank English
pipeline. There are patterns for texts in lower case and for texts with capitals. In the
first ones, the ranges of letters span capitals that are not there, and patterns that
require capitals (such as `US$`, or a full stop after two capitals) match only scripts
without case.
"""

import functools
import typing


class Patterns(typing.NamedTuple):
    """The patterns of one kind of text, and the groups that replace their matches."""

    prefix: str
    suffix: str
    suffix_groups: str
    infix: str
    comma: str
    url: str


def _ranges(text):
    """Writes hexadecimal ranges as the inside of a character class."""
    pairs = (part.split("-") for part in text.split())
    return "".join("-".join(rf"\x{{{code}}}" for code in pair) for pair in pairs)


# Scripts without case: both lower and upper case for spaCy.
UNCASED = _ranges(
    "591-5F4 620-64A 66E-6D5 6E5-6FF 750-77F 8A0-8BD 900-9FF B80-CFF D80-DFF 1100-137F "
    "2E80-2FDF 2FF0-30FF 31C0-31EF 3200-4DBF 4E00-9FFF AC00-D7AF F900-FAFF FB1D-FBB1 "
    "FBD3-FD3D FD50-FDC7 FDF0-FDFB FE30-FE4F FE70-FEFC 1EE00-1EEBB 1F200-1F2FF "
    "20000-2A6DF 2A700-2EBEF 2F800-2FA1F"
)
_LOWER_RANGES = (
    "61-7A DF-F6 F8-1BA 1BD-1BF 1C6-2AF 3AC-3AF 3B1-3C9 3CC-3CE 430-451 453-45A "
    "45C-45D 491 497 4A3 4AF 4BB 4D9 4E9 1D00-1D25 1D6B-1D77 1D79-1D9A 1E01-1EFF "
    "2C61-2C7B A723-A76F A771-A787 A78C-A78E A791-A7B9 A7FA AB30-AB5A AB60-AB64 "
    "FF41-FF5A"
)
LOWER = UNCASED + _ranges(_LOWER_RANGES)
# The ranges that hold the capitals, among other letters.
_UPPER_RANGES = (
    "41-5A C0-DE 100-250 386 388-38A 38C 38E-38F 391-3A9 400-401 403-40A 40C-40D "
    "410-42F 490 496 4A2 4AE 4BA 4D8 4E8 1E00-1EFF 2C60-2C7F A722-A76F A779-A787 "
    "A78B-A7B9 FF21-FF3A"
)


def _select(ranges, capitals):
    """The capitals in ranges, or all other characters, inside a character class."""
    codes = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        codes += range(int(first, 16), int(last or first, 16) + 1)
    letters = [chr(code) for code in codes]
    if capitals:
        return "".join(c for c in letters if c.isupper())
    return "".join(c for c in letters if not c.isupper() and not c.istitle())


# Letters without case, and those of which only the first half is a capital.
_OTHER_LETTERS = "1BB 1C5 1C8 1CB 1F2"
# Symbols and emoji, as of Unicode 11.
ICON = _ranges(
    "A6 A9 AE B0 482 58D-58E 60E-60F 6DE 6E9 6FD-6FE 7F6 9FA B70 BF3-BF8 BFA C7F D4F "
    "D79 F01-F03 F13 F15-F17 F1A-F1F F34 F36 F38 FBE-FC5 FC7-FCC FCE-FCF FD5-FD8 "
    "109E-109F 1390-1399 1940 19DE-19FF 1B61-1B6A 1B74-1B7C 2100-2101 2103-2106 "
    "2108-2109 2114 2116-2117 211E-2123 2125 2127 2129 212E 213A-213B 214A 214C-214D "
    "214F 218A-218B 2195-2199 219C-219F 21A1-21A2 21A4-21A5 21A7-21AD 21AF-21CD "
    "21D0-21D1 21D3 21D5-21F3 2300-2307 230C-231F 2322-2328 232B-237B 237D-239A "
    "23B4-23DB 23E2-2426 2440-244A 249C-24E9 2500-25B6 25B8-25C0 25C2-25F7 2600-266E "
    "2670-2767 2794-27BF 2800-28FF 2B00-2B2F 2B45-2B46 2B4D-2B73 2B76-2B95 2B98-2BC8 "
    "2BCA-2BFE 2CE5-2CEA 2E80-2E99 2E9B-2EF3 2F00-2FD5 2FF0-2FFB 3004 3012-3013 3020 "
    "3036-3037 303E-303F 3190-3191 3196-319F 31C0-31E3 3200-321E 322A-3247 3250 "
    "3260-327F 328A-32B0 32C0-32FE 3300-33FF 4DC0-4DFF A490-A4C6 A828-A82B A836-A837 "
    "A839 AA77-AA79 FDFD FFE4 FFE8 FFED-FFEE FFFC-FFFD 10137-1013F 10179-10189 "
    "1018C-1018E 10190-1019B 101A0 101D0-101FC 10877-10878 10AC8 1173F 16B3C-16B3F "
    "16B45 1BC9C 1D000-1D0F5 1D100-1D126 1D129-1D164 1D16A-1D16C 1D183-1D184 "
    "1D18C-1D1A9 1D1AE-1D1E8 1D200-1D241 1D245 1D300-1D356 1D800-1D9FF 1DA37-1DA3A "
    "1DA6D-1DA74 1DA76-1DA83 1DA85-1DA86 1ECAC 1F000-1F02B 1F030-1F093 1F0A0-1F0AE "
    "1F0B1-1F0BF 1F0C1-1F0CF 1F0D1-1F0F5 1F110-1F16B 1F170-1F1AC 1F1E6-1F202 "
    "1F210-1F23B 1F240-1F248 1F250-1F251 1F260-1F265 1F300-1F3FA 1F400-1F6D4 "
    "1F6E0-1F6EC 1F6F0-1F6F9 1F700-1F773 1F780-1F7D8 1F800-1F80B 1F810-1F847 "
    "1F850-1F859 1F860-1F887 1F890-1F8AD 1F900-1F90B 1F910-1F93E 1F940-1F970 "
    "1F973-1F976 1F97A 1F97C-1F9A2 1F9B0-1F9B9 1F9C0-1F9C2 1F9D0-1F9FF 1FA60-1FA6D"
)
QUOTE = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉〈〉⟦⟧"
PUNCTUATION = r"…,:;!?¿؟¡()\[\]{}<>_#*&。？！，、；：～·।،۔؛٪"
CURRENCY = r"$£€¥฿₠-₿﷼"
UNIT = (
    "km|km²|km³|m|m²|m³|dm|dm²|dm³|cm|cm²|cm³|mm|mm²|mm³|ha|µm|nm|yd|in|ft|kg|g|mg|µg|"
    "t|lb|oz|m/s|km/h|kmh|mph|mbar|mb|kb|gb|tb|%|км|км²|км³|м|м²|м³|дм|дм²|дм³|см|см²|"
    "см³|мм|мм²|мм³|нм|кг|г|мг|м/с|км/ч|мбар|кб|мб|гб|тбكم|كم²|كم³|م|م²|م³|سم|سم²|سم³|مم|"
    "مم²|مم³|كم|غرام|جرام|جم|كغ|ملغ|كوب|اكواب"
)
CAPITAL_UNIT = "hPa|Pa|MB|KB|GB|TB|T|G|M|K|кПа|Па|Кб|КБ|Мб|МБ|Гб|ГБ|Тб|ТБ"
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


@functools.cache
def patterns(cased):
    """Returns the patterns, `Patterns`.

    Args:
        cased: bool, whether texts have capitals.
    """
    lower, upper, letter = LOWER, UNCASED, LOWER + _ranges("1BB")
    currency, unit, final = f"[{CURRENCY}]", UNIT, "s"
    if cased:
        lower = UNCASED + _select(_LOWER_RANGES, False)
        upper = UNCASED + _select(_UPPER_RANGES, True)
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
