"""All tables: what their pages show, what is computed again, and the options."""

import dataclasses
import functools
import json
import shutil

import click
import pytest
from places import ROOT

from benchmarks.table import insert
from benchmarks.tables import defaults, gpt_finetuning, runner, transfer
from benchmarks.tables.stored_results import FIELDS, mean_interval, stored

BENCHMARKS = ROOT / "benchmarks"
CIRCUMSTANCES = (*FIELDS, "threads", "python")
# Their results hold sentences of test sets, and are not checked in.
UNSTORED = {"translations", "trees"}
# Its intervals take half a minute.
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name == "gpt_finetuning" else name
    for name in runner.NAMES
]
# Cells that consist of several results: one of them, and the function that computes it.
PARTS = {
    "defaults": ("mrpc-elmo_mini_en_books", "-search_0.002-0", "-best-0", "fit_cell"),
    "tagger_defaults": ("conll2003_3000-make_tagger-0", "", "", "fit"),
    "taggers": ("conll2003-glove", "-0.003-1", "", "fit"),
}


def test_every_table_has_a_name():
    modules = {path.stem for path in (BENCHMARKS / "tables").glob("*.py")}
    assert modules >= {*runner.NAMES}
    for name in runner.NAMES:
        assert runner.find_table(name).name in (name, "defaults")
    with_table = [
        path.stem
        for path in (BENCHMARKS / "tables").glob("*.py")
        if "\nTABLE = " in path.read_text("utf-8")
    ]
    assert sorted(with_table) == [*runner.NAMES]
    page = (BENCHMARKS / "README.md").read_text("utf-8")
    for name in runner.NAMES:
        assert f"python -m benchmarks.tables {name}" in page


@functools.cache
def render(name):
    """The tables of the checked-in results."""
    return runner.find_table(name).run().render()


@pytest.mark.parametrize("name", NAMES)
def test_pages_show_the_stored_results(name):
    made, pages = render(name), runner.find_table(name).run().pages()
    assert bool(made) == (name not in UNSTORED) and pages
    for path, text in pages.items():
        for comment, table in made.items():
            assert insert(text, table, comment) == text, (
                f"{path} is not up to date: run `python -m benchmarks.tables {name} "
                "--render`"
            )


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("name", NAMES)
def test_a_deleted_result_is_computed_again(name, command, monkeypatch, tmp_path):
    module = runner.importlib.import_module(f"benchmarks.tables.{name}")
    if name in UNSTORED:
        pytest.skip("Its results are not checked in.")
    table, folder = module.TABLE, tmp_path / "tables" / module.TABLE.name
    shutil.copytree(BENCHMARKS / table.name / "results", folder / "results")
    page = BENCHMARKS / table.name / "README.md"
    if name in PARTS:
        cell, part, end, function = PARTS[name]
        result, cell = f"{cell}{part}", cell + end
    else:
        cell = result = [*table.cells(table.run())][-1]
    result = folder / f"results/{result}.json"
    deleted, calls = json.loads(result.read_text("utf-8")), []
    result.unlink()
    deleted = {key: x for key, x in deleted.items() if key not in CIRCUMSTANCES}

    def compute(*arguments):
        calls.append(arguments)
        return dict(deleted)

    if name in PARTS:
        monkeypatch.setattr(module, function, compute)
    else:
        fake = {"compute": compute, "prepare": runner.no_cell, "draw": runner.no_cell}
        monkeypatch.setattr(module, "TABLE", dataclasses.replace(table, **fake))
    given = [name, f"--vectors={tmp_path}"]
    assert f"missing {cell}\n" in command(*given, "--list") and not calls
    command(*given, "--cells", cell)
    command(*given, "--cells", cell)
    assert len(calls) == 1
    assert f"missing {cell}\n" not in command(*given, "--list")
    again = json.loads(result.read_text("utf-8"))
    assert again == {**again, **deleted} and {*CIRCUMSTANCES} <= {*again}
    if page.exists():
        text = (folder / "README.md").read_text("utf-8")
        assert rows_of(text) == rows_of(page.read_text("utf-8"))


def test_options_choose_presets_seeds_and_cells():
    run = transfer.TABLE.run(["a/lm", "bert=b/small"], "float32", max_seeds=1)
    assert run.presets["forward"] == "a/lm" and run.presets["bert"] == "b/small"
    names = [*transfer.TABLE.cells(run)]
    assert "trec6-small-full-0" in names and "trec6-lm-full-0" in names
    assert not [name for name in names if name.endswith("-1")]
    assert run.dtype == "float32" and transfer.TABLE.run().dtype == "mixed_bfloat16"
    run = gpt_finetuning.TABLE.run(["a/gpt"])
    assert "codah-gpt-random_lm-1" in gpt_finetuning.TABLE.cells(run)
    run = defaults.TABLE.run(["a/new"])
    assert run.presets["new"] == "a/new" and "elmo_mini_en_books" in run.presets
    received = "forward, backward, bert. Received: --preset x"
    with pytest.raises(click.UsageError, match=received):
        transfer.TABLE.run(["x=a"])


def test_the_command_says_what_it_needs(command):
    with pytest.raises(click.UsageError, match="taggers needs --vectors"):
        command("taggers")
    with pytest.raises(click.BadParameter, match="is not one of 'ablation'"):
        command("nothing")


def test_rendering_computes_nothing(command, tmp_path):
    assert command("lengths", "--render") == ""
    assert not (tmp_path / "tables").exists()
    shutil.copytree(BENCHMARKS / "lengths/results", tmp_path / "tables/lengths/results")
    command("lengths", "--render")
    page = (BENCHMARKS / "lengths/README.md").read_text("utf-8")
    assert (tmp_path / "tables/lengths/README.md").read_text("utf-8") == page


def test_notes_and_cards_are_written(command, tmp_path):
    card = tmp_path / "presets/taglm/taglm_mini_en_ner"
    shutil.copytree(ROOT / "presets/taglm/taglm_mini_en_ner", card)
    shutil.copytree(BENCHMARKS / "names/results", tmp_path / "tables/names/results")
    expected = {name: (card / name).read_text() for name in ("notes.md", "README.md")}
    head, table = expected["notes.md"].split("<!-- results -->")
    tail = table.split("<!-- end of results -->")[1]
    begin, end = "<!-- results -->\n", "<!-- end of results -->"
    (card / "notes.md").write_text(f"{head}{begin}{end}{tail}")
    command("names", "--render")
    assert {name: (card / name).read_text() for name in expected} == expected


def test_a_result_has_the_options_of_its_command(tmp_path):
    def compute():
        return {"score": 1.0}

    read = functools.partial(stored, folder=tmp_path)
    found = read("a", compute, options={"rows": (1, 2)})
    assert found["options"] == {"rows": [1, 2]}
    assert found == read("a") == read("a", options={"rows": [1, 2]})
    received = r"Received: \{'rows': \[1, 2\]\} in .*a.json, and \{'rows': 3\}"
    with pytest.raises(ValueError, match=received):
        read("a", options={"rows": 3})
    read("b", compute)  # as older versions stored it
    assert read("b", options={"rows": 3})["score"] == 1.0


def test_results_have_the_dtype_of_the_command(command, tmp_path):
    for name in ("biattentive", "gpt_finetuning", "transfer"):
        table = runner.find_table(name)
        run = table.run(dtype="float32", output=tmp_path / "tables")
        cell = [*table.cells(run)][0]
        run.stored(cell, dict, table.settings(run))
        with pytest.raises(ValueError, match="'float32'} in .*'mixed_bfloat16'}"):
            command(name, "--cells", cell)


def test_intervals():
    assert mean_interval([0.5]) == "50.0"
    # t(0.975, 2 degrees) = 4.303; mean 66.7, standard error 16.67
    assert mean_interval([1, 0.5, 0.5]) == "66.7 ± 71.7"
    assert mean_interval([0.25, 0.25], "+") == "+25.0 ± 0.0"
