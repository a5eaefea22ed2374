"""Rows of a collection of documents are those of a file, in whatever order."""

import numpy as np
import pytest
import tiny

from zoo.data import read_records
from zoo.pretraining import Recipe
from zoo.pretraining.masked_lm import MaskedPretraining

apache_beam = pytest.importorskip("apache_beam")
from zoo import beam  # noqa: E402


def rows_of(documents, folder, *arguments):
    def save(rows):
        np.save(folder / "rows.npy", np.array(rows, object), allow_pickle=True)

    with apache_beam.Pipeline(runner="FnApiRunner") as pipeline:
        texts = pipeline | apache_beam.Create(documents)
        rows = texts | beam.PretrainingRows(*arguments)
        _ = rows | apache_beam.combiners.ToList() | apache_beam.Map(save)
    return np.load(folder / "rows.npy", allow_pickle=True).tolist()


def as_set(rows):
    return sorted(
        str([(k, np.asarray(v).tolist()) for k, v in sorted(row.items())])
        for row in rows
    )


@pytest.mark.usefixtures("eagerly")
def test_masked_rows_are_those_of_a_file(tmp_path):
    recipe = Recipe(**tiny.recipe({"next_sentence": True}, valid=[], unique=True))
    tiny.write_corpus(tmp_path / "a.txt", documents=6)
    documents = sorted((tmp_path / "a.txt").read_text().split("\n\n"))
    (tmp_path / "a.txt").write_text("\n\n".join(documents))
    (tmp_path / "valid.txt").unlink()
    (tmp_path / "run").mkdir()
    run = MaskedPretraining(recipe, tmp_path, tmp_path / "run")
    expected = []
    for length in (16, 24):
        for batch in read_records(run.files[length], 8).as_numpy_iterator():
            values = zip(*batch.values(), strict=True)
            expected += [dict(zip(batch, row, strict=True)) for row in values]
    documents = [*documents[::-1], documents[2]]
    found = rows_of(documents, tmp_path, recipe, run.tokenizer, 1)
    assert as_set(found) == as_set(expected) and len(found) > 20
    several = rows_of(documents, tmp_path, recipe, run.tokenizer, 3)
    again = rows_of(documents[::-1], tmp_path, recipe, run.tokenizer, 3)
    assert as_set(several) == as_set(again) != as_set(found)


def test_a_shipped_recipe_has_its_tokenizer(tmp_path):
    with pytest.raises(ValueError, match="Rows need a tokenizer"):
        beam.PretrainingRows(Recipe(**tiny.recipe()))
    assert beam.PretrainingRows("bert_mini_en_uncased_books")
