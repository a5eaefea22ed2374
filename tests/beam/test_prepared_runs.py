"""What Apache Beam prepares is what `zoo pretrain` prepares, byte for byte."""

import dataclasses
import gzip
import json
import shutil

import pytest
import tiny
from command_line import run
from s3_server import new_bucket

from zoo.data.files import corpus_parts
from zoo.files.buckets import local_path, open_store
from zoo.pretraining import Recipe, running

pytest.importorskip("apache_beam")
from zoo import beam  # noqa: E402

PARTS = 2500  # bytes; the corpus has several parts
PROCESSES = {"direct_num_workers": 2, "direct_running_mode": "multi_processing"}


def lines_of(**fields):
    return {"train": ["*.txt", "*.jsonl.gz"], "valid": ["valid.txt"], **fields}


RECIPES = {
    "masked_lm": tiny.recipe({"next_sentence": True}, **lines_of(unique=True)),
    "causal_rows": lines_of(
        family="gpt",
        objective={"name": "causal_rows"},
        config={**tiny.GPT_CONFIG, "vocabulary_size": 300},
        stages=[[16, 4, 100]],
    ),
    "causal_streams": lines_of(
        family="ulmfit",
        objective={"name": "causal_streams", "characters": 200},
        config={**tiny.ULMFIT_CONFIG, "vocabulary_size": 60},
        stages=[[7, 4, 100]],
        unique=True,
    ),
    "bidirectional_lm": lines_of(
        family="elmo",
        objective={"name": "bidirectional_lm", "num_words": 50},
        config=tiny.ELMO_CONFIG,
        stages=[[5, 3, 100]],
    ),
    "translator": {
        "family": "transformer",
        "objective": {"name": "translator"},
        "config": {**tiny.TRANSFORMER_CONFIG, "vocabulary_size": 320},
        "train": ["pairs.tsv"],
        "stages": [[16, 8, 100]],
        "unique": True,
    },
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(corpus_parts, "PART_BYTES", PARTS)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Texts, some of them twice, in files of two formats; and pairs."""
    folder = tmp_path_factory.mktemp("data")
    tiny.write_corpus(folder / "a.txt", documents=20)
    documents = (folder / "a.txt").read_text().split("\n\n")
    rows = [{"text": text} for text in (*documents[:5], "new one.\nand two", "")]
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    pairs = [*zip(*tiny.make_pairs(80), strict=True)]
    lines = ["\t".join(pair) + "\n" for pair in pairs + pairs[:9]]
    (folder / "pairs.tsv").write_text("".join(lines))
    return folder


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def prepare_twice(name, data, folder, **options):
    """What is prepared in this process and by Beam, from several parts."""
    recipe = Recipe(**RECIPES[name])
    (folder / "here").mkdir()
    running.prepare(recipe, data, folder / "here")
    faults = beam.prepare(recipe, data, folder / "beam", options=options)
    assert not any(faults.values())
    return contents(folder / "here"), contents(folder / "beam")


@pytest.mark.shown("masked_lm", "translator")
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("name", RECIPES)
def test_the_files_are_the_same(name, data, tmp_path):
    here, found = prepare_twice(name, data, tmp_path)
    assert found == here and len(found) > 3


@pytest.mark.slow
def test_two_processes_write_the_same_files(data, tmp_path):
    here, found = prepare_twice("causal_rows", data, tmp_path, **PROCESSES)
    assert found == here


@pytest.mark.parametrize(
    "name, options",
    [
        ("masked_lm", {}),
        pytest.param("causal_rows", PROCESSES, marks=pytest.mark.slow),
    ],
)
def test_text_and_output_in_a_bucket(name, options, data, tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    recipe = Recipe(**RECIPES[name])
    (tmp_path / "here").mkdir()
    running.prepare(recipe, data, tmp_path / "here")
    with new_bucket(monkeypatch) as bucket:
        store, place = open_store(bucket)
        store.put(f"{data}/", f"{place}/text", recursive=True)
        beam.prepare(recipe, f"{bucket}/text", f"{bucket}/run", options=options)
        shutil.rmtree(tmp_path / "home")
        found = contents(local_path(f"{bucket}/run"))
    assert found == contents(tmp_path / "here")


def test_faults_are_counted_and_nothing_else_is_lost(tmp_path, capsys):
    """Broken JSON, no text, half of a surrogate pair, and bytes that are no UTF-8."""
    recipe = Recipe(**RECIPES["causal_rows"] | lines_of(train=["*.txt", "*.jsonl"]))
    rows = ['{"text": "first"}', "{", '{"body": "b"}', '{"text": "\\ud800"}', "[]"]
    tiny.write_corpus(tmp_path / "a.txt", documents=3)
    for name in ("sound", "damaged"):
        (tmp_path / name).mkdir()
        for path in (tmp_path / "a.txt", tmp_path / "valid.txt"):
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
    (tmp_path / "sound" / "b.jsonl").write_text(rows[0])
    (tmp_path / "damaged" / "b.jsonl").write_text("\n".join(rows))
    with open(tmp_path / "damaged" / "a.txt", "ab") as file:
        file.write(b"\n\nwrong \xff byte\nof three\n")
    faults = beam.prepare(recipe, tmp_path / "damaged", tmp_path / "damaged" / "run")
    assert faults == {"train": 5, "valid.txt": 0}
    running.prepare(recipe, tmp_path / "sound", make(tmp_path / "sound" / "run"))
    found = contents(tmp_path / "damaged" / "run" / "examples")
    assert found == contents(tmp_path / "sound" / "run" / "examples")
    path = tmp_path / "damaged" / "run" / "train.faults.jsonl"
    named = [json.loads(line) for line in path.read_text().splitlines()]
    places = {(fault["path"][-5:], fault["place"]) for fault in named}
    assert places == {("a.txt", "document 4")} | {
        ("jsonl", f"line {number}") for number in range(2, 6)
    }
    assert f"train: 5 documents left out, see {path}" in capsys.readouterr().out


def make(folder):
    folder.mkdir()
    return folder


REFUSED = {
    "nothing": ({"runner": "Nothing"}, "A runner must be one of .*Received: 'Nothing'"),
    "absent": ({"runner": "my.Own"}, "The runner must be installed. Received: my.Own"),
    "option": (
        {"options": {"direct_num_worker": 2}},
        "mean direct_num_workers",
    ),
    "value": ({"options": {"direct_num_workers": "x"}}, "invalid int value: 'x'"),
    "missing": ({"runner": "DataflowRunner"}, "must have its options.*temp_location"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_runners_and_options_are_checked(case, data, tmp_path):
    options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message) as caught:
        beam.prepare(Recipe(**RECIPES["causal_rows"]), data, tmp_path, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("eagerly")
def test_the_command_prepares_for_the_next_one(data, tmp_path, monkeypatch):
    """The same fields of the recipe may be given to both."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "r.json").write_text(json.dumps(RECIPES["translator"]))
    arguments = ["--data", data, "--output", tmp_path / "run", "--seed", 3]
    arguments += ["--recipe", tmp_path / "r.json"]
    message = run("prepare", *arguments, "--runner-option", "x", code=1)
    assert "`--runner-option` must be NAME=VALUE. Received: 'x'." in message
    one = ("--runner-option", "direct_num_workers=1")
    assert run("prepare", *arguments, *one).split() == [
        str(tmp_path / "run" / "examples" / "train.tsv")
    ]
    recipe = dataclasses.replace(Recipe(**RECIPES["translator"]), seed=3)
    running.prepare(recipe, data, tmp_path / "run")
    assert not (tmp_path / "run" / "parts").exists()


def test_texts_are_needed(tmp_path):
    recipe = Recipe(**RECIPES["causal_rows"] | {"train": ["a.txt"], "valid": []})
    (tmp_path / "a.txt").write_text(" \n\n")
    with pytest.raises(ValueError, match="must have words. Received: none"):
        beam.prepare(recipe, tmp_path, tmp_path / "run")
    (tmp_path / "a.txt.gz").write_bytes(b"\x1f\x8b damaged")
    recipe = Recipe(**RECIPES["causal_rows"] | {"train": ["a.txt.gz"], "valid": []})
    with pytest.raises(ValueError, match="failed.*must be a complete .gz file"):
        beam.prepare(recipe, tmp_path, tmp_path / "other")


def test_other_objectives_are_refused(tmp_path):
    recipe = {**tiny.recipe(), "objective": {"name": "distillation", "teacher": "t"}}
    with pytest.raises(ValueError, match="Received: distillation. Use `zoo pretrain`"):
        beam.prepare(Recipe(**recipe), tmp_path, tmp_path)
    with pytest.raises(ValueError, match="`unique` is not for the objective"):
        Recipe(**recipe, unique=True)
