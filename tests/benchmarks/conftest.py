"""What several tests of tables share."""

import click.testing
import keras
import pytest
import tiny
import tiny_workloads

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.text import CharacterTokenizer, FastaiTokenizer, train_fastai_vocabulary


@pytest.fixture
def make_run(tmp_path):
    """Function of a module and options: a run in the folders of the test."""

    def make(module, **options):
        folders = {"data": tmp_path, "work": tmp_path / "work"}
        return module.TABLE.run(**{**folders, "output": tmp_path / "tables", **options})

    return make


@pytest.fixture
def command(tmp_path):
    """Function of arguments that runs the command in the folders of the test."""

    def run(*arguments):
        from benchmarks.tables.runner import main

        folders = {"data": "", "work": "work", "output": "tables"}
        given = [f"--{name}={tmp_path / folder}" for name, folder in folders.items()]
        invoke = click.testing.CliRunner().invoke
        given += map(str, arguments)
        return invoke(main, given, catch_exceptions=False, standalone_mode=False).output

    return run


@pytest.fixture
def elmo(tmp_path):
    """A tiny ELMo as a directory."""
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    tokenizer = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    zoo.BidirectionalLM(elmo, tokenizer).save_to_preset(tmp_path / "elmo_tiny")
    return tmp_path / "elmo_tiny"


@pytest.fixture(scope="session")
def presets(tmp_path_factory):
    """A tiny ULMFiT of each direction and a tiny BERT, values of `--preset`."""
    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    folder = tmp_path_factory.mktemp("presets")
    tokens = train_fastai_vocabulary(tiny.make_texts(40)[0], minimum_count=1)[:-3]
    for seed, direction in enumerate(("forward", "backward")):
        keras.utils.set_random_seed(seed)
        fields = {"vocabulary_size": len(tokens), "pad_id": 1, "reverse": bool(seed)}
        backbone = ULMFiT(ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **fields}))
        model = zoo.CausalLM(backbone, FastaiTokenizer(tokens))
        model.save_to_preset(folder / f"lm_{direction}")
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    backbone.save_to_preset(folder / "bert_tiny")
    names = {"forward": "lm_forward", "backward": "lm_backward", "bert": "bert_tiny"}
    return [f"{role}={folder / name}" for role, name in names.items()]


@pytest.fixture
def workload_files(tmp_path):
    """A folder with the files of all workloads."""
    tiny_workloads.write_files(tmp_path)
    return tmp_path


@pytest.fixture
def shrink(monkeypatch, tmp_path):
    """Function of a name: the module of a workload, at a tiny size."""
    return tiny_workloads.shrink(monkeypatch, tmp_path)
