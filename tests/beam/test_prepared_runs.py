"""What Apache Beam prepares is what `zoo pretrain` prepares, byte for byte."""

import gzip
import json

import pytest
import tiny

from zoo.data.files import corpus_parts
from zoo.pretraining import Recipe, running

beam = pytest.importorskip("zoo.beam", exc_type=ImportError)
pytest.importorskip("apache_beam")

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


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("name", RECIPES)
def test_the_files_are_the_same(name, data, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_parts, "PART_BYTES", PARTS)
    here, found = prepare_twice(name, data, tmp_path)
    assert found == here and len(found) > 3
