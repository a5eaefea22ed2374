"""Files of fairseq: copies, options that cannot be computed, damage, and malice."""

import json
import shutil
import sys
import warnings

import numpy as np
import pytest
from command_line import run
from fairseq_files import FAIRSEQ, FILES, write_fairseq

import zoo
from zoo.checkpoint import open_training_checkpoint
from zoo.models.transformer.fairseq import read_options
from zoo.models.transformer.weights import read


@pytest.fixture
def write(tmp_path):
    """Function that writes a changed copy of a golden directory."""

    def write(name="post_norm", arrays=None, leave=(), **options):
        directory = tmp_path / "model"
        shutil.copytree(FAIRSEQ / name, directory, dirs_exist_ok=True)
        stored, _ = open_training_checkpoint(directory / FILES[name], "model")
        kept = {k: stored[k] for k in stored if k not in leave}
        arrays = {**kept, **(arrays or {})}
        write_fairseq(directory / FILES[name], arrays, **options)
        return directory

    return write


@pytest.mark.parametrize(
    ("options", "message"),
    (
        (
            {"arrays": {"decoder.output_projection.weight": np.ones((72, 8))}},
            "must equal 'decoder.embed_tokens.weight'",
        ),
        ({"name": "pre_norm", "leave": ("decoder.version",)}, "decoder.version"),
        (
            {"name": "pre_norm", "arrays": {"encoder.version": np.ones(1)}},
            "encoder.version must be at least 2",
        ),
        ({"entries": {"args": None}}, "options of its model as 'args' or 'cfg'"),
        ({"entries": {"model": 3}}, "a dict of tensors as 'model'"),
    ),
)
def test_a_damaged_model_is_explained(write, options, message):
    with pytest.raises(ValueError, match=message):
        read(write(**options))


def test_one_of_several_checkpoints_must_be_chosen(write):
    directory = write()
    (directory / "model.pt").unlink()
    for name in ("a.pt", "b.pt"):
        shutil.copy(FAIRSEQ / "post_norm" / "model.pt", directory / name)
    with pytest.raises(ValueError, match="one checkpoint.*Received: a.pt, b.pt"):
        read(directory)


def without_names(**options):
    """Options that do not name the languages, as those of published models."""
    return {**options, "source_lang": None, "target_lang": None}


def rename_dictionaries(directory, *names):
    """Gives the dictionaries of English and German other languages."""
    for old, new in zip(("en", "de"), names, strict=True):
        (directory / f"dict.{old}.txt").rename(directory / f"dict.{new}.txt")
    return directory


@pytest.mark.parametrize("name", [None, "merges.txt", "sentencepiece.bpe.model"])
def test_without_codes_there_is_no_translator(write, name):
    directory = write()
    codes = directory / "bpecodes"
    codes.rename(directory / name) if name else codes.unlink()
    message = (
        rf"model must hold byte-pair codes .*{name or 'dict.de.txt'}.*no tokenizer"
    )
    with pytest.warns(UserWarning, match=message):
        model = zoo.from_preset(directory)
    assert not isinstance(model, zoo.Translator) and model.tokenizer is None


@pytest.mark.parametrize(
    "name", ["bpe.code", "bpe.codes", "bpe_codes", "bpe-codes", "codes.txt", "code"]
)
def test_codes_have_several_names(write, name):
    directory = write()
    (directory / "bpecodes").rename(directory / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(directory)
    assert found.tokenizer == read(FAIRSEQ / "post_norm").tokenizer
    (directory / "bpe.codes.2").write_text("#version: 0.2\na b\n")
    if name not in ("code", "codes"):
        with pytest.raises(ValueError, match="one file of byte-pair codes. Rec"):
            read(directory)


def test_languages_that_are_not_named_may_share_a_dictionary(write):
    directory = write(**without_names())
    assert read(directory).tokenizer == read(FAIRSEQ / "post_norm").tokenizer
    path = directory / "dict.de.txt"
    path.write_text(path.read_text("utf-8").replace("the ", "teh ", 1), "utf-8")
    with pytest.raises(ValueError, match="must be the same.*different tokens in dict"):
        read(directory)


@pytest.mark.parametrize("named", [{}, {"source_lang": "en"}, {"target_lang": "de"}])
def test_sizes_say_to_which_side_a_dictionary_belongs(write, named):
    expected = read(FAIRSEQ / "nameless").tokenizer
    sizes = len(expected["vocabulary"]), len(expected["target_vocabulary"])
    assert sizes == (49, 52)
    directory = write("nameless", **named)
    assert read(directory).tokenizer == expected
    with pytest.raises(ValueError, match=r"for every row .*dict\.en\.txt': 49"):
        read(directory, languages=("de", "de"))
    if not named:  # whatever the names are
        directory = rename_dictionaries(directory, "yy", "xx")
        assert read(directory).tokenizer == expected


@pytest.fixture
def twins(write):
    """A directory whose dictionaries are of one size, and the tokens of each."""
    found = read(FAIRSEQ / "pre_norm").tokenizer
    sizes = len(found["vocabulary"]), len(found["target_vocabulary"])
    least = min(sizes)
    table = np.zeros((least, 6), "float32")
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    copies = dict.fromkeys((*names, "decoder.output_projection.weight"), table)
    directory = write("pre_norm", copies, **without_names())
    for language in ("en", "de"):
        path = directory / f"dict.{language}.txt"
        lines = path.read_text("utf-8").splitlines()[: least - 4]
        path.write_text("\n".join(lines) + "\n", "utf-8")
    tokens = found["vocabulary"][:least], found["target_vocabulary"][:least]
    return directory, tokens


def test_languages_may_be_given(twins, tmp_path):
    directory, (english, german) = twins
    with pytest.raises(ValueError, match=r"`languages=`, such as \('de', 'en'\)"):
        read(directory)
    for languages, sides in (
        (("en", "de"), (english, german)),
        (["de", "en"], (german, english)),
    ):
        tokenizer = read(directory, languages=languages).tokenizer
        assert (tokenizer["vocabulary"], tokenizer["target_vocabulary"]) == sides
    model = zoo.from_preset(directory, languages=("de", "en"))
    assert model.tokenizer.id_to_token(5) == german[5]
    run("convert", directory, tmp_path / "a", "--languages", "de", "en")
    assert zoo.from_preset(tmp_path / "a").tokenizer.id_to_token(5) == german[5]
    for languages, message in (
        (("en", "fr"), r"dict\.fr\.txt. Received: dict.de.txt, dict.en.txt"),
        ("en", "must be two names"),
        (("en", None), "must be two names"),
    ):
        with pytest.raises(ValueError, match=message):
            zoo.from_preset(directory, languages=languages)
    directory = rename_dictionaries(directory, "src", "tgt")
    assert read(directory).tokenizer["vocabulary"] == english


def test_other_layouts_have_no_languages(tmp_path):
    with pytest.raises(ValueError, match="`languages` must be None for a layout"):
        zoo.from_preset(FAIRSEQ.parent / "marian" / "joint", languages=("en", "de"))
    with pytest.raises(ValueError, match="`languages` must be None for a preset of"):
        zoo.from_preset("gpt_mini_en_books", languages=("en", "de"))


def test_classes_of_other_programs_are_never_imported():
    before = {*sys.modules}
    _, entries = open_training_checkpoint(FAIRSEQ / "pre_norm" / "model.pt", "model")
    assert not any("omegaconf" in name for name in {*sys.modules} - before)
    options = read_options(entries, "model.pt")
    assert json.loads(json.dumps(options))["encoder_learned_pos"] is True
    assert "decoder_input_dim" not in options  # a reference to another option
