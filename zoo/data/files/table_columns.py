"""Finds the columns of texts and labels in a table, and whether it has a header."""

import shlex

# Names of columns, without upper case, spaces and punctuation.
TEXT_COLUMNS = {
    *("text", "texts", "sentence", "sentences", "phrase", "paragraph", "passage"),
    *("review", "reviewtext", "reviewbody", "comment", "commenttext", "commentbody"),
    *("content", "utterance", "tweet", "tweettext", "message", "post", "statement"),
    *("question", "questiontext", "query", "document", "article", "body"),
    *("title", "headline", "description", "shortdescription", "abstract", "summary"),
}
PAIR_COLUMNS = [
    *(("sentence1", "sentence2"), ("sentencea", "sentenceb"), ("text1", "text2")),
    *(("texta", "textb"), ("text", "textpair"), ("premise", "hypothesis")),
    *(("question1", "question2"), ("1string", "2string"), ("question", "sentence")),
    *(("question", "answer"), ("question", "passage"), ("query", "passage")),
    *(("query", "document"), ("claim", "evidence"), ("headline", "body")),
]
LABEL_COLUMNS = {
    *("label", "labels", "class", "classindex", "category", "target", "intent"),
    *("sentiment", "topic", "emotion", "polarity", "rating", "stars", "score"),
    *("goldlabel", "entailmentlabel", "entailmentjudgment", "relatedness"),
    *("relatednessscore", "similarity", "isduplicate", "quality"),
}
ROLES = {"text": "texts", "pair": "second texts", "label": "labels"}


def choose_columns(table, text=None, pair=None, label=None):
    """Finds the columns of a table, see `zoo.data.read_labelled`.

    `text`, `pair` and `label` are names or numbers of columns, or None to find them by
    their names. Returns the numbers of "text", "label" and, for pairs, "pair", and the
    number of the first row after the header, 0 or 1.

    Raises:
        ValueError: if columns are missing or ambiguous, or if it is unclear whether
            the first line is a header.
    """
    check_first_texts(text, pair)
    given = {"text": text, "pair": pair, "label": label}
    given = {role: column for role, column in given.items() if column is not None}
    found = {role: column_number(table, role, column) for role, column in given.items()}
    if len({*found.values()}) < len(found):
        raise ValueError(
            f"The columns of {table.path} for texts and labels must differ. Received: "
            f"{given}. {_list_columns(table)}"
        )
    # A number says nothing about the header, a name does.
    named = not all(str(column).isdecimal() for column in given.values())
    candidates = _known_columns(table.names, found)
    for role, columns in candidates.items():
        if len(columns) == 1:
            named = True
            found.update(zip((role, "pair"), columns[0], strict=False))
    if len(table.names) == 2 and len(found) == 1:
        other = "label" if "text" in found else "text"
        found[other] = 1 - next(iter(found.values()))
    elif len(table.names) == 2 and not (table.header or any(candidates.values())):
        found = found or _guess_columns(table)
    if not {"text", "label"} <= {*found}:
        raise ValueError(_ask_for_columns(table, found, candidates))
    return found, 0 if table.header else _header_rows(table, found, named)


def check_first_texts(text, pair):
    """Raises ValueError if a user gives a column of second texts only."""
    if pair is not None and text is None:
        raise ValueError(
            "A column of second texts needs a column of first texts. Received: "
            f"pair_column={pair!r}, text_column=None. Give both."
        )


def column_number(table, role, column):
    """The number of a column that a user named or numbered. JSON has no numbers."""
    names, matches = table.names, []
    if not table.header and str(column).isdecimal():
        matches = [i for i in range(len(names)) if i == int(column)]
    if not matches:
        matches = [i for i, name in enumerate(names) if name == column]
    if not matches and isinstance(column, str):
        plain = [plain_name(name) for name in names]
        matches = [i for i, name in enumerate(plain) if name == plain_name(column)]
    if len(matches) != 1:
        raise ValueError(
            f"`{role}_column` must be one column of {table.path}. Received: "
            f"{column!r}, which is {len(matches) or 'none'} of them. "
            f"{_list_columns(table)}"
        )
    return matches[0]


def plain_name(name):
    """A name in lower case, without spaces and punctuation."""
    return "".join(filter(str.isalnum, str(name).casefold()))


def _known_columns(names, found):
    """Columns with known names for the roles "text" and "label" that are not found yet.

    They are lists of tuples; a tuple for texts has two numbers if they are a pair.
    `text` and `label` take precedence over other names of their role.
    """
    plain = {i: plain_name(n) for i, n in enumerate(names) if i not in found.values()}

    def called(*names):
        return [i for i, name in plain.items() if name in names]

    candidates = {}
    if "text" not in found:
        pairs = [(i, j) for a, b in PAIR_COLUMNS for i in called(a) for j in called(b)]
        of_pairs = {i for pair in pairs for i in pair}
        single = ([] if pairs else called("text")) or called(*TEXT_COLUMNS)
        candidates["text"] = pairs + [(i,) for i in single if i not in of_pairs]
    if "label" not in found:
        candidates["label"] = [(i,) for i in called("label") or called(*LABEL_COLUMNS)]
    return candidates


def known_text_columns(names, count):
    """The numbers of the only columns with known names for `count` texts, or []."""
    found = _known_columns(names, {})["text"]
    chosen = [columns for columns in found if len(columns) == count]
    return [*chosen[0]] if len(chosen) == 1 else []


def _guess_columns(table):
    """Columns of a file of two columns without known names, or an empty dict.

    The labels are the column of numbers, else the column with fewer different values.
    """
    ranks = [
        (not all(map(_is_number, column[1:])), len({*column}))
        for column in zip(*table.rows, strict=True)
    ]
    label = ranks.index(min(ranks))
    return {} if ranks[0] == ranks[1] else {"text": 1 - label, "label": label}


def _is_number(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def _header_rows(table, found, named):
    """1 if the first row is a header, 0 if it is not.

    A header is not a number, and does not occur again in the column of labels.
    """
    first, *labels = [row[found["label"]].strip() for row in table.rows]
    numbered = [name for name in table.names if name]
    if len(numbered) > 1 and numbered == [str(i) for i in range(len(numbered))]:
        return 1  # the names that pandas gives to columns without names
    repeated, numeric = first in labels, _is_number(first)
    if (repeated or numeric) and not named:
        return 0
    advice = "If it is, correct the labels."
    if repeated:
        reason = f"is also the label in {table.places[labels.index(first) + 1]}"
    elif numeric:
        reason = "is a number"
    elif named or plain_name(first) in LABEL_COLUMNS:
        return 1
    else:
        reason = "occurs only once as a label"
        advice = f"If it is, name the columns: {_options(found, table.names)}."
    raise ValueError(
        f"It must be clear whether the first line of {table.path} is a header. "
        f"Received: {table.names!r:.200}, where `{first:.40}` {reason}. {advice} If it "
        "is not, insert a header such as `text` and `label`."
    )


def _options(found, names):
    """Options of the command line, and of Python, that choose columns."""
    names = [name if len(name) <= 40 else "NAME" for name in map(str, names)]
    chosen = [(role, names[found[role]]) for role in ROLES if role in found]
    shell = " ".join(f"--{role}-column {shlex.quote(name)}" for role, name in chosen)
    python = ", ".join(f"{role}_column={name!r}" for role, name in chosen)
    return f"`{shell}`, or in Python {python}"


def _list_columns(table):
    names = [repr(str(name)[:40]) for name in table.names]
    if not table.header:
        names = [f"{i} {name}" for i, name in enumerate(names)]
    more = ", ..." if len(names) > 20 else ""
    return f"Its columns are {', '.join(names[:20])}{more}."


def _ask_for_columns(table, found, candidates):
    """The message for a table whose columns are missing or ambiguous."""
    missing = [role for role in ("text", "label") if role not in found]
    names, example, reasons = [*table.names, "NAME"], dict(found), []
    for role in missing:
        columns = candidates.get(role) or [(len(names) - 1,)]
        example[role] = columns[0][0]
        numbers = dict.fromkeys(i for c in candidates.get(role, ()) for i in c)
        reason = " and ".join(repr(names[i]) for i in numbers) + " may be the"
        if not numbers:
            reason = "no column has a known name for"
        reasons.append(f"{reason} {ROLES[role]}")
    advice = f"Name the columns: {_options(example, names)}"
    if "pair" not in example and "text" in missing:
        advice += "; for pairs, name the second texts with `--pair-column`"
    if not table.header:
        advice += "; in a file without a header, give numbers from 0 for names"
    if len(table.names) == 1 and not table.header:
        advice += (
            ". Columns are separated by tabs in .tsv and .txt, and by commas, "
            "semicolons or tabs in .csv"
        )
    return (
        f"The columns of {table.path} must be clear. Received: {'; '.join(reasons)}. "
        f"{_list_columns(table)} {advice}."
    )
