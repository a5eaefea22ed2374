"""Spans of tagged words: tagging schemes, conversion, and the F1 score of CoNLL."""

import collections

import numpy as np

from zoo.checks.ranges import check_choice

OUTSIDE = "O"
PREFIXES = ("B", "I", "E", "S", "L", "U")
# The prefixes that begin a span in every scheme, and those that no span continues.
OPENING, CLOSING = "BSU", "ELSUO"
# The prefixes that may begin a span, end a span, and continue a span.
BEGIN_PREFIXES = {"IOB1": "IB", "IOB2": "B", "BIOES": "BS", "BILOU": "BU"}
END_PREFIXES = {"IOB1": "IB", "IOB2": "IB", "BIOES": "ES", "BILOU": "LU"}
INSIDE_PREFIXES = {"IOB1": "I", "IOB2": "I", "BIOES": "IE", "BILOU": "IL"}
SCHEMES = tuple(BEGIN_PREFIXES)
ALL_PREFIXES = {
    scheme: {*BEGIN_PREFIXES[scheme], *END_PREFIXES[scheme], *INSIDE_PREFIXES[scheme]}
    for scheme in SCHEMES
}
MIN_SHARE_IN_SCHEME = 0.99  # the least share of sentences that follow their scheme


def split_tag(tag):
    """Splits a tag into prefix and type: B and PER for `B-PER`, O and "" for `O`."""
    prefix, _, kind = tag.partition("-")
    if tag != OUTSIDE and (prefix not in PREFIXES or not kind):
        raise ValueError(
            f"A tag of a span must be O, or one of {PREFIXES} with a hyphen and a type,"
            f" such as B-PER. Received: {tag!r}."
        )
    return prefix, kind


def find_spans(tags):
    """Finds the spans of a tagged sentence, in any scheme.

    A span ends before a tag of another type, before B, S, U and O, and after E, L, S
    and U. A span begins at B, S and U, and at any other tag except O that does not
    continue a span of its type. The rule also finds spans in tags that violate their
    scheme, as `conlleval` and seqeval do.

    Args:
        tags: sequence of str, such as O, B-PER, I-PER, E-PER, S-PER, or L-PER and U-PER
            of BILOU in place of the last two.

    Returns:
        list of tuple (type, begin, end). The span has the words begin to end - 1.

    Raises:
        ValueError: if a tag is not a tag of spans, such as NOUN.
    """
    spans, begin = [], None
    before, type_before = OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, kind = split_tag(tag)
        fresh = prefix in OPENING or kind != type_before or before in CLOSING
        if begin is not None and (fresh or prefix == OUTSIDE):
            spans.append((type_before, begin, place))
            begin = None
        if prefix != OUTSIDE and begin is None:
            begin = place
        before, type_before = prefix, kind
    return spans


def write_spans(spans, length, scheme):
    """Makes the tags of a sentence from its spans.

    Args:
        spans: iterable of (type, begin, end), which must not overlap.
        length: int, number of words of the sentence.
        scheme: str, "IOB2", "BIOES", "BILOU", or "IOB1", where B is used only after a
            span of the same type.

    Returns:
        list of str.

    Raises:
        ValueError: if the scheme is unknown, spans overlap, or a span is not inside the
            sentence.
    """
    check_choice("scheme", scheme, SCHEMES)
    tags = [OUTSIDE] * length
    for kind, begin, end in sorted(spans, key=lambda span: span[1]):
        if not 0 <= begin < end <= length or any(t != OUTSIDE for t in tags[begin:end]):
            raise ValueError(
                "Spans must be inside the sentence and must not overlap. Received: "
                f"{(kind, begin, end)} in a sentence of {length} words."
            )
        prefixes = ["I"] * (end - begin)
        after_same_type = begin > 0 and split_tag(tags[begin - 1])[1] == kind
        if scheme != "IOB1" or after_same_type:
            prefixes[0] = "B"
        if scheme in ("BIOES", "BILOU"):
            prefixes[-1] = END_PREFIXES[scheme][0 if end - begin > 1 else 1]
        tags[begin:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    return tags


def convert_tags(tags, scheme):
    """Converts the tags of a sentence to another scheme.

    Args:
        tags: sequence of str, see `find_spans`.
        scheme: str, see `write_spans`.

    Returns:
        list of str.

    Raises:
        ValueError: if a tag or the scheme is unknown.
    """
    return write_spans(find_spans(tags), len(tags), scheme)


def find_scheme(sentences):
    """The scheme of tagged sentences.

    A few sentences may have errors, as in the training set of CoNLL-2003.

    Args:
        sentences: sequence of sequences of str.

    Returns:
        str, the first scheme of "IOB2", "BIOES", "BILOU" and "IOB1" that has all tags,
        and that 99 % of the sentences with spans follow; None if there is none.
    """
    try:
        spans = [find_spans(tags) for tags in sentences]
    except ValueError:
        return None
    rows = [
        (list(tags), row) for tags, row in zip(sentences, spans, strict=True) if row
    ]
    if not rows:
        return None
    prefixes = {split_tag(tag)[0] for tags, _ in rows for tag in tags}
    for scheme in ("IOB2", "BIOES", "BILOU", "IOB1"):
        right = [write_spans(row, len(tags), scheme) == tags for tags, row in rows]
        known = prefixes <= ALL_PREFIXES[scheme] | {OUTSIDE}
        if known and sum(right) >= MIN_SHARE_IN_SCHEME * len(rows):
            return scheme
    return None


def allowed_transitions(labels, scheme):
    """Computes which tag may follow which tag.

    Args:
        labels: sequence of str (T,), tags of one scheme.
        scheme: str, "IOB1", "IOB2", "BIOES" or "BILOU".

    Returns:
        bool (T + 1, T + 1), whether tag j may follow tag i. Row T is the start of the
        sentence, column T its end.

    Raises:
        ValueError: if a label is not a tag of the scheme.
    """
    check_choice("scheme", scheme, SCHEMES)
    parts = [label.partition("-")[::2] for label in labels]
    for label, (prefix, kind) in zip(labels, parts, strict=True):
        if label != OUTSIDE and (prefix not in ALL_PREFIXES[scheme] or not kind):
            raise ValueError(
                f"Every label must be O, or a prefix of {scheme}, a hyphen and a type. "
                f"Received: {label!r}."
            )
    parts.append((OUTSIDE, ""))
    return np.array(
        [[_may_follow(before, after, scheme) for after in parts] for before in parts]
    )


def _may_follow(before, after, scheme):
    (prefix, kind), (following, kind_after) = before, after
    closes = prefix == OUTSIDE or prefix in END_PREFIXES[scheme]
    opens = following == OUTSIDE or following in BEGIN_PREFIXES[scheme]
    # In IOB1, B is used only after a span of the same type.
    if scheme == "IOB1" and following == "B":
        return prefix != OUTSIDE and kind == kind_after
    if closes and opens:
        return True
    goes_on = prefix not in CLOSING and following in INSIDE_PREFIXES[scheme]
    return goes_on and kind == kind_after


def span_scores(references, predictions):
    """Computes precision, recall and F1 of spans, like `conlleval` and seqeval.

    A span is correct if its type, begin and end are correct. A score of 0 / 0 is 0.

    Args:
        references, predictions: sequences of sentences, each a sequence of tags in any
            scheme.

    Returns:
        dict of precision, recall and f1 in [0, 1], and types: a dict of each type to
        its precision, recall, f1 and support, the number of true spans.

    Raises:
        ValueError: if the number or the lengths of the sentences differ.
    """
    if len(references) != len(predictions):
        raise ValueError(
            "`references` and `predictions` must have the same number of sentences. "
            f"Received: {len(references)} and {len(predictions)}."
        )
    # For each type: correct spans, predicted spans, true spans.
    counts = collections.defaultdict(lambda: np.zeros(3, int))
    for row, (true, found) in enumerate(zip(references, predictions, strict=True)):
        if len(true) != len(found):
            raise ValueError(
                "A prediction must have a tag for every word. Received: "
                f"{len(found)} tags for {len(true)} words in sentence {row}."
            )
        true, found = set(find_spans(true)), set(find_spans(found))
        for column, spans in enumerate((true & found, found, true)):
            for kind, _, _ in spans:
                counts[kind][column] += 1
    types = {
        kind: {**precision_recall_f1(count), "support": int(count[2])}
        for kind, count in sorted(counts.items())
    }
    total = sum(counts.values(), np.zeros(3, int))
    return {**precision_recall_f1(total), "types": types}


def precision_recall_f1(count):
    """Precision, recall, F1 from correct, predicted and true ones; 0 / 0 is 0."""
    both, found, true = map(int, count)
    return {
        "precision": both / found if found else 0.0,
        "recall": both / true if true else 0.0,
        "f1": 2 * both / (found + true) if found + true else 0.0,
    }
