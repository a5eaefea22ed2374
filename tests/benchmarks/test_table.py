"""The table of the README: what it shows, and that it is up to date."""

import pytest
from places import ROOT

from benchmarks import table


def test_readme_shows_the_results():
    directory = ROOT / "benchmarks"
    text = (directory / "README.md").read_text("utf-8")
    rows = table.read_results(directory / "results")
    assert rows and table.insert(text, table.render(rows)) == text, (
        "run `python -m benchmarks.table`"
    )


def test_a_commit_is_shortened():
    commit = "v1-2-g" + "0123456789" * 4 + "-dirty"
    assert table.short_commit(commit) == "v1-2-g01234567-dirty"


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
