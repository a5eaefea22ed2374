"""The page of a report: HTML with styles and pictures inside, without scripts."""

import html
import re

from zoo.programs.finetune.data_summary import data_lines, tokens_line
from zoo.visualize.pages import make_page
from zoo.visualize.plain_text import printable

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; line-height: 1.5;
  font-family: system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.1rem .3rem 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; overflow-wrap: normal; }
td.number, th.number { text-align: right; white-space: nowrap; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); }
figure { margin: 0; padding: .5rem; background: #fff; color: #000;
  border-radius: .4rem; overflow-x: auto; }
figure svg { display: block; width: 100%; height: auto; margin: auto; }
figure.confusion { grid-column: 1 / -1; }
figure.confusion svg, figure.scatter svg { max-width: 32rem; }
figure.large svg { min-width: 52rem; max-width: 60rem; }
.errors li { margin: 0 0 .8rem; padding: .5rem .7rem; background: var(--soft); }
.errors p { margin: 0; unicode-bidi: isolate; }
summary { cursor: pointer; padding: .3rem 0; }
@media (max-width: 30rem) {
  th, td { padding-right: .5rem; font-size: .8rem; }
}
"""
NO_BREAK = "\N{NO-BREAK SPACE}"
ROWS_SHOWN = 20  # rows of a table that are shown at once
MANY_LABELS = 16  # of a confusion matrix that is wider than a telephone


def render(content, pictures):
    """Makes the page, which loads nothing; texts of the data are escaped.

    Args:
        content: dict of plain values, see `zoo.programs.finetune.report.write_report`.
        pictures: list of paths of SVG files.
    """
    predictions = [
        _figures(content, pictures, training=False),
        *(_table(rows, title) for title, rows in content.get("tables", {}).items()),
        _table(content.get("most_confused"), "Labels that are confused most often"),
    ]
    settings = [
        {
            "setting": key.replace("_", " "),
            "value": None if value is None else str(value),
        }
        for key, value in content["settings"].items()
    ]
    sections = {
        "Scores": _scores(content),
        "What was read": _data(content),
        "Training": _figures(content, pictures, training=True),
        "Predictions": "\n".join(filter(None, predictions)),
        "Largest errors": _errors(content.get("errors")),
        "Settings": _table(settings),
    }
    body = "\n".join(
        f"<section>\n<h2>{heading}</h2>\n{text}\n</section>"
        for heading, text in sections.items()
        if text
    )
    return make_page(printable(str(content["title"])), body, STYLE)


def _text(value):
    return "–" if value is None else html.escape(printable(str(value)))


def _name(key):
    return _text(key.replace("_", " "))


def format_number(value):
    """An int, or a float with three decimals, as str; a dash for None."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _table(rows, title=""):
    """A table of dicts with the same keys; a long one is folded."""
    if not rows:
        return ""
    numeric = {k for row in rows for k, v in row.items() if isinstance(v, (int, float))}
    kinds = {key: ' class="number"' if key in numeric else "" for key in rows[0]}
    head = "".join(f'<th scope="col"{kinds[key]}>{_name(key)}</th>' for key in rows[0])
    lines = []
    for row in rows:
        cells = [
            f"<td{kinds[key]}>{format_number(value)}</td>"
            if key in numeric
            else f'<td dir="auto">{_text(value)}</td>'
            for key, value in row.items()
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>\n")
    table = (
        f'<div class="wide" tabindex="0"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{''.join(lines)}</tbody></table></div>"
    )
    if len(rows) > ROWS_SHOWN:
        summary = f"<summary>{len(rows):,} rows</summary>"
        table = f"<details>{summary}\n{table}\n</details>"
    return f"<h3>{_text(title)}</h3>\n{table}" if title else table


def _scores(content):
    """The scores of the model and of other predictors, and their differences."""
    scored = content["scored"]
    scores = [
        {"predictor": name, **{k: _interval(v) for k, v in values.items()}}
        for name, values in content["scores"].items()
    ]
    differences = [
        {"the model minus": name, **{k: _interval(v, "+") for k, v in values.items()}}
        for name, values in content.get("differences", {}).items()
    ]
    title = "Differences: an interval without 0 is significant at 5 %"
    return (
        f"<p>Measured on the {scored['rows']:,} rows for {_text(scored['part'])}. The "
        "brackets hold 95 % intervals: Wilson's for shares such as the accuracy, and "
        f"those of the bootstrap for other scores.</p>\n{_table(scores)}\n"
        f"{_table(differences, title)}"
    )


def format_interval(score, sign=""):
    """A score, a dict of value and perhaps low and high, as str."""
    if score["value"] is None:
        return "–"
    value = f"{score['value']:{sign}.3f}"
    if score.get("low") is None:
        return value
    return f"{value} ({score['low']:{sign}.3f} to {score['high']:{sign}.3f})"


def _interval(score, sign=""):
    return format_interval(score, sign).replace(" to ", f"{NO_BREAK}to{NO_BREAK}")


def _data(content):
    lines = data_lines(content["data"])
    if "tokens" in content:
        lines.append(tokens_line(content["tokens"]))
    items = "\n".join(f"<li>{_text(line)}</li>" for line in lines + content["notes"])
    counts = {name: part.get("counts", {}) for name, part in content["data"].items()}
    labels = dict.fromkeys(label for part in counts.values() for label in part)
    rows = [
        {"label": label, **{name: part.get(label, 0) for name, part in counts.items()}}
        for label in labels
    ]
    return f"<ul>\n{items}\n</ul>\n{_table(rows, 'Rows with each label')}"


def _figures(content, paths, training):
    """The pictures of the training, or those of the predictions, as figures."""
    figures = []
    for path in paths:
        kind = path.stem if path.stem in ("confusion", "scatter") else ""
        if bool(kind) == training:
            continue
        if kind == "confusion" and len(content["confusion"]["labels"]) > MANY_LABELS:
            kind = "confusion large"
        svg = _inline(path.read_text("utf-8"), path.stem)
        figures.append(f'<figure class="{kind}">\n{svg}\n</figure>\n')
    return f'<div class="pictures">\n{"".join(figures)}</div>' if figures else ""


def _inline(svg, name):
    """An SVG file as an element of a page, with ids that no other picture has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = html.escape(name.replace("_", " "))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)

    def rename(tag):
        return re.sub(r'( id="|url\(#|href="#)', rf"\1{label}-", tag[0])

    return re.sub(r"<[^>]+>", rename, svg)


def _errors(errors):
    """The rows with the largest errors, a list."""
    items = []
    for error in errors or ():
        texts = [
            f'<p dir="auto">{_text(text) or "<em>(empty)</em>"}</p>'
            for text in error["texts"]
        ]
        facts = [f"{_name(k)}: <b>{_text(v)}</b>" for k, v in error["labels"].items()]
        facts = ", ".join([*facts, f"error {format_number(error['error'])}"])
        items.append(f'<li>{"".join(texts)}<p dir="auto">{facts}</p></li>\n')
    if not items:
        return ""
    return (
        f"<p>The {len(items)} rows with the largest errors. The error is the "
        "probability of a wrong label (for tags, the sum over a sentence), the "
        "distance of a number, 1 - chrF / 100 of a text, or 1 - F1 of a tree or of an "
        f'answer.</p>\n<ol class="errors">\n{"".join(items)}</ol>'
    )
