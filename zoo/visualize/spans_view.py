"""A page of texts in which spans are marked, such as names, answers or phrases."""

import reprlib

from zoo.checks.ranges import fits, plain_value
from zoo.visualize.given_values import to_list
from zoo.visualize.pages import escape, make_page, write_page
from zoo.visualize.plain_text import to_text

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; line-height: 1.5;
  font-family: system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 0 0 1rem;
  padding: 0; list-style: none; font-size: .875rem; }
.text { margin: 0; padding: .7rem 0; border-top: 1px solid var(--line);
  line-height: calc(2.4 + .6 * var(--levels)); white-space: pre-wrap;
  unicode-bidi: isolate; }
mark { padding: calc(.2rem + .28rem * var(--level)) .3rem; border-radius: .4rem;
  border: 1.5px solid var(--color); background: none; color: inherit;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
mark.inner { background: color-mix(in srgb, var(--color) 18%, transparent); }
mark small { padding-left: .35rem; font-size: .7rem; font-weight: bold; opacity: .85; }
"""
COLORS = (
    "#1f77b4", "#e06c00", "#2a9134", "#d62839", "#8a5bd0", "#8c5a44", "#d94da0",
    "#14939e", "#8b8b12", "#6b7080",
)  # fmt: skip


def spans_page(texts, spans, title="Spans"):
    """Makes a page of texts with their spans.

    A span is a box with its label. Each label has a color. Spans may lie in each other,
    as phrases do. The page is one file, which loads nothing.

    Args:
        texts: list of str (N,).
        spans: list (N,) of lists of dict: begin and end int, in characters, and
            optionally label and score, such as from `entities` of a tagger,
            `answer_question` of a question answerer, or `zoo.text.phrase_spans`. A span
            from -1 to -1, which means no answer, is ignored.
        title: str.

    Returns:
        str, HTML. The score of a span is shown when the mouse is over it.

    Raises:
        ValueError: if a text is no str, a span is no such dict, the lengths differ, or
            a span is empty, outside of its text, or overlaps with another one without
            one of them being in the other.
    """
    known, rows = to_list(texts), to_list(spans)
    rows = rows and [*map(to_list, rows)]
    paired = None not in (known, rows) and len(known) == len(rows)
    if not paired or None in rows or not all(isinstance(text, str) for text in known):
        raise ValueError(
            "`texts` must be a list of str, and `spans` must have a list for each. "
            f"Received: {reprlib.repr(texts)} and {reprlib.repr(spans)}."
        )
    texts, spans = known, [[*filter(None, map(_to_span, row))] for row in rows]
    labels = dict.fromkeys(span["label"] for row in spans for span in row)
    colors = {label: COLORS[i % len(COLORS)] for i, label in enumerate(labels)}
    items = "".join(
        f"<li>{_mark(0, colors[label])}{escape(label)}</mark></li>"
        for label in colors
        if label
    )
    legend = f'<ul class="legend">{items}</ul>\n' if items else ""
    body = "\n".join(
        _marked(text, row, colors) for text, row in zip(texts, spans, strict=True)
    )
    return make_page(title, legend + body, STYLE)


def save_spans_page(path, texts, spans, title="Spans"):
    """Writes the page of `spans_page`, whose arguments it takes, to an HTML file.

    Returns:
        pathlib.Path of the file.
    """
    return write_page(path, spans_page(texts, spans, title))


def _to_span(span):
    """A span with plain values, None for no answer; ValueError if it is no span."""
    given = span if isinstance(span, dict) else {}
    found = {name: plain_value(given.get(name)) for name in ("begin", "end", "score")}
    try:
        score = found["score"]
        found["score"] = None if score in (None, "") else float(score)
    except (TypeError, ValueError):
        given = {}
    if not given or not all(fits(found[name], int) for name in ("begin", "end")):
        raise ValueError(
            "A span must be a dict with `begin` and `end`, characters of the text, and "
            "optionally a `label` and a `score`, a number. Received: "
            f"{reprlib.repr(span)}."
        )
    found["label"] = to_text(given.get("label"))
    return found if found["end"] != -1 else None


def _mark(level, color, score=None):
    """The begin of the element of a span, in which there are `level` other levels."""
    inner = "" if level else ' class="inner"'
    shown = "" if score is None else f' title="score {score:.3f}"'
    return f'<mark{inner} style="--level: {level}; --color: {color}"{shown}>'


def _nested(spans, text):
    """Pairs of the number of a span and that of the smallest one around it, or None.

    They are in the order of their begins. Raises ValueError if a span is empty, outside
    of its text, or crosses another one.
    """
    order = sorted(
        range(len(spans)), key=lambda i: (spans[i]["begin"], -spans[i]["end"], i)
    )
    found, around = [], []
    for number in order:
        begin, end = spans[number]["begin"], spans[number]["end"]
        while around and spans[around[-1]]["end"] <= begin:
            around.pop()
        limit = spans[around[-1]]["end"] if around else len(text)
        if not 0 <= begin < end <= limit:
            raise ValueError(
                "A span must lie in its text, have at least one character, and not "
                f"cross another span. Received: begin={begin}, end={end} in "
                f"{text[:40]!r} of {len(text)} characters."
            )
        found.append((number, around[-1] if around else None))
        around.append(number)
    return found


def _marked(text, spans, colors):
    """A paragraph of a text with its spans."""
    nested, levels = _nested(spans, text), [0] * len(spans)
    for number, outer in reversed(nested):
        if outer is not None:
            levels[outer] = max(levels[outer], levels[number] + 1)
    begins, ends = {}, {}
    for number, _ in nested:
        span = spans[number]
        label = span["label"]
        mark = _mark(levels[number], colors[label], span["score"])
        begins.setdefault(span["begin"], []).append(mark)
        shown = f"<small>{escape(label)}</small>" if label else ""
        ends.setdefault(span["end"], []).insert(0, f"{shown}</mark>")
    places = sorted({0, len(text), *begins, *ends})
    parts = []
    for place, after in zip(places, [*places[1:], None], strict=True):
        parts += [*ends.get(place, ()), *begins.get(place, ())]
        parts.append(escape(text[place:after]))
    level = max(levels, default=0)
    style = f'class="text" dir="auto" style="--levels: {level}"'
    return f"<p {style}>{''.join(parts)}</p>"
