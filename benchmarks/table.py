"""Writes the table of the README from the results.

    python -m benchmarks.table

It stands between two comments, one row for each workload and peer.
"""

import csv
import pathlib
import re

from benchmarks.files import write_whole
from benchmarks.run import WORKLOADS

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"
HEADS = (
    "workload",
    "peer",
    "median ms",
    "minimum ms",
    "zoo is faster by",
    "peak MiB",
    "note",
    "commit",
    "date",
)


def read_results(directory):
    """The rows of all workloads that were measured, in the order of `WORKLOADS`.

    Args:
        directory: of the CSV files.

    Returns:
        list of dict of str.
    """
    rows = []
    for workload in WORKLOADS:
        path = pathlib.Path(directory) / f"{workload}.csv"
        if path.exists():
            with open(path, encoding="utf-8", newline="") as file:
                rows += csv.DictReader(file)
    return rows


def short_commit(commit):
    """Eight digits of a commit, and whether files were changed after it."""
    return re.sub(r"[0-9a-f]{40}", lambda found: found[0][:8], commit)


def cells(row):
    """What stands in one line of the table, list of str."""
    where = [short_commit(row["commit"]), row["date"][:10]]
    names = [row["workload"], f"`{row['peer']}`"]
    if row["skipped"]:
        return [*names, "", "", "", "", f"skipped: {row['skipped']}", *where]
    times = [f"{1e3 * float(row[name]):,.1f}" for name in ("median_s", "minimum_s")]
    ratio = f"{float(row['ratio']):.2f}"
    # Results of before the memory was measured have no such columns.
    memory, note = row.get("peak_mib", ""), row.get("note", "")
    return [*names, *times, ratio, memory, note, *where]


def render(rows):
    """The table in Markdown, a str that ends its last line."""
    lines = [HEADS, ["---", "---", *["--:"] * 4, "---", "---", "---"]]
    lines += [cells(row) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def insert(text, table):
    """A text with the table between the two comments, in place of what stands there.

    Raises:
        ValueError: if the comments are not there, once each and in this order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        raise ValueError(
            f"The text must hold {BEGIN.strip()!r} and then {END.strip()!r}, once each."
        )
    return f"{before}{begin}\n{table}\n{end}{after}"


def main():
    """Rewrites `README.md`."""
    readme = HERE / "README.md"
    table = render(read_results(HERE / "results"))
    write_whole(readme, insert(readme.read_text("utf-8"), table))


if __name__ == "__main__":
    main()
