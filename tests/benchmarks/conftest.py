"""What the tests of ULMFiT's table read."""

import dataclasses

import keras
import pytest
import tiny
from test_labelled_sets import write_sets

import zoo
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.text import FastaiTokenizer, train_fastai_vocabulary


@pytest.fixture
def transfer(monkeypatch, tmp_path):
    """The module under test, with small sets and folders of its own."""
    from benchmarks.tables import transfer

    folder = tmp_path / "transfer"
    folder.mkdir()
    (folder / "README.md").write_text("<!-- results -->\n<!-- end of results -->\n")
    monkeypatch.setattr(transfer, "FOLDER", folder)
    for name, corpus in transfer.SETS.items():
        labelled = dataclasses.replace(corpus.labelled, train=None, test=None)
        small = {"labelled": labelled, "language_model": {"epochs": 1, "rows": 4}}
        small |= {"fit": {"epochs": 2, "batch_size": 32}, "epochs_per_group": 1}
        monkeypatch.setitem(transfer.SETS, name, dataclasses.replace(corpus, **small))
    write_sets(tmp_path)
    return transfer


@pytest.fixture(scope="session")
def presets(tmp_path_factory):
    """A tiny ULMFiT of each direction and a tiny BERT, as directories."""
    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    folder = tmp_path_factory.mktemp("presets")
    tokens = train_fastai_vocabulary(tiny.make_texts(40)[0], minimum_count=1)[:-3]
    found = {}
    for seed, direction in enumerate(("forward", "backward")):
        keras.utils.set_random_seed(seed)
        fields = {"vocabulary_size": len(tokens), "pad_id": 1, "reverse": bool(seed)}
        backbone = ULMFiT(ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **fields}))
        model = zoo.CausalLM(backbone, FastaiTokenizer(tokens))
        found[direction] = str(folder / f"lm_{direction}")
        model.save_to_preset(found[direction])
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    found["bert"] = str(folder / "bert_tiny")
    backbone.save_to_preset(found["bert"])
    return found
