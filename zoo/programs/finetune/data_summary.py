"""What a file of labelled texts holds: rows, labels and lengths, before training."""

import numpy as np

from zoo.tasks.inputs.text_batches import token_lengths
from zoo.visualize.plain_text import printable

# Of more labels, the first half and the last half of this number are listed.
MAX_LISTED_LABELS = 10


def describe_data(kind, parts):
    """Counts the rows and the labels of each part; frequent labels come first."""
    found = {}
    for name, (_, labels) in parts.items():
        described = kind.files.for_rows(labels).describe_labels(labels)
        found[name] = {"rows": len(labels), **described}
        counts = found[name].get("counts", {})
        order = sorted(counts, key=lambda label: (-counts[label], label))
        if counts:
            found[name]["counts"] = {label: counts[label] for label in order}
    return found


def describe_tokens(model, parts):
    """Measures the texts of all parts in tokens, special ones included."""
    columns = [model.text_columns(x) for x, _ in parts.values()]
    lengths = np.concatenate([token_lengths(model, part) for part in columns])
    limit = model.sequence_length
    return {
        "texts": len(lengths),
        "median": float(np.median(lengths)),
        "percentile_95": float(np.percentile(lengths, 95)),
        "longest": int(lengths.max()),
        "sequence_length": limit,
        "longer": 0 if limit is None else int((lengths > limit).sum()),
        "truncated": model.preprocessor.truncates,
    }


def data_lines(data, counted="rows"):
    """Sentences about the result of `describe_data`, list of str.

    `counted` is what the counts of labels are shares of, see `LabelledFiles`.
    """
    rows = [f"{part['rows']:,} rows for {name}" for name, part in data.items()]
    lines = [f"{', '.join(rows)}."]
    for name, part in data.items():
        numbers = part.keys() - {"rows", "counts"}
        shown = [f"{key} {part[key]:,.6g}" for key in part if key in numbers]
        if shown:
            lines.append(f"Labels for {name}: {', '.join(shown)}.")
    first, *held_out_parts = data
    counts = data[first].get("counts", {})
    if counts:
        total = data[first][counted]
        shown = [
            f"{printable(name)}: {count:,} ({100 * count / total:.1f} %)"
            for name, count in counts.items()
        ]
        if len(shown) > MAX_LISTED_LABELS:
            shown[MAX_LISTED_LABELS // 2 : -MAX_LISTED_LABELS // 2] = ["…"]
        lines.append(f"{len(counts)} labels for {first}: {'; '.join(shown)}.")
        once = [name for name, count in counts.items() if count == 1]
        lines += name_labels(f"that occur once for {first}", once)
    for name in held_out_parts:
        held_out = data[name].get("counts", {})
        lines += name_labels(
            f"without a row for {first}", held_out.keys() - counts.keys()
        )
        lines += name_labels(
            f"without a row for {name}", counts.keys() - held_out.keys()
        )
    return lines


def name_labels(what, labels):
    """A line that names labels, the first ten of them, or no line without labels."""
    names = sorted(map(printable, labels))
    if not names:
        return []
    more = f", … ({len(names)})" if len(names) > MAX_LISTED_LABELS else ""
    return [f"Labels {what}: {', '.join(names[:MAX_LISTED_LABELS])}{more}."]


def tokens_line(tokens):
    """A sentence about the result of `describe_tokens`, str."""
    line = (
        f"Lengths in tokens: median {tokens['median']:.0f}, 95 % at most "
        f"{tokens['percentile_95']:.0f}, longest {tokens['longest']:,}. "
    )
    if tokens["sequence_length"] is None:
        return line + "The model has no limit."
    done = "truncated" if tokens["truncated"] else "read in windows"
    return line + (
        f"{tokens['longer']:,} of {tokens['texts']:,} texts are longer than "
        f"{tokens['sequence_length']:,} tokens and are {done}."
    )
