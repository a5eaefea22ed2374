"""Spans of tagged words: schemes, conversions, and the F1 of CoNLL."""

import collections

import numpy as np

OUTSIDE = "O"
PREFIXES = ("B", "I", "E", "S", OUTSIDE)
# Which prefix may follow which inside one span, and which may begin and end one.
BEGINS = {"IOB1": "IB", "IOB2": "B", "BIOES": "BS"}
ENDS = {"IOB1": "IB", "IOB2": "IB", "BIOES": "ES"}
INSIDE = {"IOB1": "I", "IOB2": "I", "BIOES": "IE"}
SCHEMES = tuple(BEGINS)


def split_tag(tag):
    """Prefix and type of a tag: `B-PER` is B and PER, `O` is O and nothing.

    Raises:
        ValueError: if the prefix is none of a scheme's.
    """
    prefix, _, kind = tag.partition("-")
    if prefix not in PREFIXES:
        raise ValueError(
            f"A tag of spans must begin with one of {PREFIXES}. Received: {tag!r}."
        )
    return prefix, kind


def find_spans(tags):
    """Spans of a tagged sentence, in any of the schemes.

    A span ends where another type begins, after E and S, and before B and S; it begins
    at B and S, and wherever something that is not O follows no open span of its type.
    So tags that break their scheme have spans, too, as in `conlleval` and seqeval.

    Args:
        tags: sequence of str, such as O, B-PER, I-PER, E-PER, S-PER.

    Returns:
        list of (type, begin, end): words begin to end - 1.

    Raises:
        ValueError: if a tag is one of words, such as NOUN, not of spans.
    """
    spans, begin = [], None
    before, type_before = OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, kind = split_tag(tag)
        fresh = prefix in "BS" or kind != type_before or before in "ESO"
        if begin is not None and (fresh or prefix == OUTSIDE):
            spans.append((type_before, begin, place))
            begin = None
        if prefix != OUTSIDE and begin is None:
            begin = place
        before, type_before = prefix, kind
    return spans


def write_spans(spans, length, scheme):
    """Tags of a sentence from its spans.

    Args:
        spans: iterable of (type, begin, end) that do not overlap.
        length: int, words of the sentence.
        scheme: "IOB1" (B only between neighbours of one type), "IOB2" or "BIOES".

    Returns:
        list of str.

    Raises:
        ValueError: if the scheme is unknown, or spans overlap or leave the sentence.
    """
    _check_scheme(scheme)
    tags = [OUTSIDE] * length
    for kind, begin, end in sorted(spans, key=lambda span: span[1]):
        if not 0 <= begin < end <= length or any(t != OUTSIDE for t in tags[begin:end]):
            raise ValueError(
                "Spans must lie in the sentence and not overlap. Received: "
                f"{(kind, begin, end)} in a sentence of {length} words."
            )
        prefixes = ["I"] * (end - begin)
        after_its_like = begin > 0 and split_tag(tags[begin - 1])[1] == kind
        if scheme != "IOB1" or after_its_like:
            prefixes[0] = "B"
        if scheme == "BIOES":
            prefixes[-1] = "E" if end - begin > 1 else "S"
        tags[begin:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    return tags


def convert_tags(tags, scheme):
    """Tags of a sentence in another scheme; see `find_spans` and `write_spans`."""
    return write_spans(find_spans(tags), len(tags), scheme)


def allowed_transitions(labels, scheme):
    """Which tag may follow which.

    Args:
        labels: sequence of str (T,), tags of one scheme.
        scheme: "IOB1", "IOB2" or "BIOES".

    Returns:
        bool (T + 1, T + 1): whether tag j may follow tag i; row T is the beginning and
        column T the end of a sentence.

    Raises:
        ValueError: if a label is no tag of the scheme.
    """
    _check_scheme(scheme)
    parts = [label.partition("-")[::2] for label in labels]
    known = {*BEGINS[scheme], *ENDS[scheme], *INSIDE[scheme]}
    for label, (prefix, kind) in zip(labels, parts, strict=True):
        if label != OUTSIDE and (prefix not in known or not kind):
            raise ValueError(
                f"Every label must be O or a prefix of {scheme}, a hyphen and a type. "
                f"Received: {label!r}."
            )
    outside = (OUTSIDE, "")
    return np.array(
        [
            [_may_follow(one, other, scheme) for other in [*parts, outside]]
            for one in [*parts, outside]
        ]
    )


def _may_follow(one, other, scheme):
    (prefix, kind), (following, kind_after) = one, other
    closes = prefix == OUTSIDE or prefix in ENDS[scheme]
    opens = following == OUTSIDE or following in BEGINS[scheme]
    # In IOB1 a B says that a span of the same type was just before.
    if scheme == "IOB1" and following == "B":
        return prefix != OUTSIDE and kind == kind_after
    if closes and opens:
        return True
    goes_on = prefix not in (OUTSIDE, "E", "S") and following in INSIDE[scheme]
    return goes_on and kind == kind_after


def _check_scheme(scheme):
    if scheme not in SCHEMES:
        raise ValueError(f"`scheme` must be one of {SCHEMES}. Received: {scheme!r}.")


def span_scores(references, predictions):
    """Precision, recall and F1 of spans, as CoNLL and seqeval count them.

    A span is right if type, begin and end are. Without spans on one side, a score that
    would be 0 / 0 is 0.

    Args:
        references, predictions: sequences of sentences of tags, in any scheme.

    Returns:
        dict of precision, recall and f1 in [0, 1], and types: the same for every type,
        with support, its number of references.

    Raises:
        ValueError: if the sentences differ in number or length.
    """
    if len(references) != len(predictions):
        raise ValueError(
            "`references` and `predictions` must be as many sentences. Received: "
            f"{len(references)} and {len(predictions)}."
        )
    counts = collections.defaultdict(lambda: np.zeros(3, int))  # both, found, true
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
        kind: {**_scores(count), "support": int(count[2])}
        for kind, count in sorted(counts.items())
    }
    return {**_scores(sum(counts.values(), np.zeros(3, int))), "types": types}


def _scores(count):
    both, found, true = map(int, count)
    return {
        "precision": both / found if found else 0.0,
        "recall": both / true if true else 0.0,
        "f1": 2 * both / (found + true) if found + true else 0.0,
    }
