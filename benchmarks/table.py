"""Writes the table in the README from the results.

    python -m benchmarks.table

The table is between two comments. It has one row for each workload and peer.
"""

import csv
import pathlib
import re

from benchmarks.files import write_whole
from benchmarks.run import WORKLOADS

HERE = pathlib.Path(__file__).parent
HEADS = ("workload", "peer", "median ms", "minimum ms", "speed relative to the peer")
HEADS += ("peak MiB", "note", "commit", "date")


def read_results(directory):
    """Reads the rows of all measured workloads, in the order of `WORKLOADS`."""
    rows = []
    for workload in WORKLOADS:
        path = pathlib.Path(directory) / f"{workload}.csv"
        if path.exists():
            with open(path, encoding="utf-8", newline="") as file:
                rows += csv.DictReader(file)
    return rows


def short_commit(commit):
    """Shortens a commit to eight digits, and keeps "-dirty"."""
    return re.sub(r"[0-9a-f]{40}", lambda found: found[0][:8], commit)


def cells(row):
    """The cells of one row of the table, list of str."""
    where = [short_commit(row["commit"]), row["date"][:10]]
    names = [row["workload"], f"`{row['peer']}`"]
    if row["skipped"]:
        return [*names, "", "", "", "", f"skipped: {row['skipped']}", *where]
    times = [f"{1e3 * float(row[name]):,.1f}" for name in ("median_s", "minimum_s")]
    ratio = f"{float(row['ratio']):.2f}"
    # Older results have no columns for memory and note.
    memory, note = row.get("peak_mib", ""), row.get("note", "")
    return [*names, *times, ratio, memory, note, *where]


def render(rows):
    """Makes the table in Markdown, a str that ends with a newline."""
    lines = [HEADS, ["---", "---", *["--:"] * 4, "---", "---", "---"]]
    lines += [cells(row) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def insert(text, table, name="results"):
    """Replaces the text between the two comments of a table with the table.

    Args:
        text: str.
        table: str, Markdown that ends with a newline.
        name: str, the table is between `<!-- name -->` and `<!-- end of name -->`.

    Raises:
        ValueError: if a comment is missing, occurs twice, or is in the wrong order.
    """
    opening, closing = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, begin, rest = text.partition(opening)
    _, end, after = rest.partition(closing)
    if not (begin and end) or opening in rest or closing in before + after:
        raise ValueError(
            f"The text must have {opening.strip()!r} and then {closing.strip()!r}, "
            "once each."
        )
    return f"{before}{begin}\n{table}\n{end}{after}"


def main():
    """Updates `README.md`."""
    readme = HERE / "README.md"
    table = render(read_results(HERE / "results"))
    write_whole(readme, insert(readme.read_text("utf-8"), table))


if __name__ == "__main__":
    main()
