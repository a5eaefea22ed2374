"""The table of the README: what it shows, and that it is up to date."""

import pytest
from places import ROOT

from benchmarks import table

ROW = {
    "workload": "masked_batch",
    "peer": "zoo",
    "median_s": "1.25",
    "minimum_s": "0.0125",
    "ratio": "1.0",
    "peak_mib": "900",
    "note": "small",
    "skipped": "",
    "commit": "v1-2-g" + "0123456789" * 4 + "-dirty",
    "date": "2026-11-21T15:57Z",
}


def test_readme_shows_the_results():
    directory = ROOT / "benchmarks"
    text = (directory / "README.md").read_text("utf-8")
    rows = table.read_results(directory / "results")
    assert rows and table.insert(text, table.render(rows)) == text, (
        "run `python -m benchmarks.table`"
    )


def test_a_row():
    where = "v1-2-g01234567-dirty | 2026-11-21"
    line = f"| masked_batch | `zoo` | 1,250.0 | 12.5 | 1.00 | 900 | small | {where} |\n"
    assert table.render([ROW]).endswith(line)
    old = {key: ROW[key] for key in ROW if key not in ("peak_mib", "note")}
    assert "| 1.00 |  |  | v1" in table.render([old])
    gone = {**ROW, "skipped": "x is not installed", "median_s": "", "note": ""}
    assert f"| skipped: x is not installed | {where} |" in table.render([gone])


def test_the_table_replaces_what_stands_there():
    begin, end = "<!-- results -->\n", "<!-- end of results -->\n"
    text = f"before\n{begin}old\n{end}after\n"
    found = table.insert(text, "new\n")
    assert found == f"before\n{begin}\nnew\n\n{end}after\n"
    assert table.insert(found, "new\n") == found
    for wrong in ("", begin, end + begin, text + text):
        with pytest.raises(ValueError, match="must have '<!-- results -->' and then"):
            table.insert(wrong, "new\n")


def test_a_text_may_have_several_tables():
    parts = [f"<!-- {name} -->\nold\n<!-- end of {name} -->\n" for name in "ab"]
    found = table.insert("".join(parts), "new\n", "b")
    assert found == parts[0] + parts[1].replace("old", "\nnew\n")
    with pytest.raises(ValueError, match="must have '<!-- c -->' and then"):
        table.insert("".join(parts), "new\n", "c")
