"""The defaults of `generate` in files of Hugging Face: one rule for every reader."""

import shutil
import warnings

import pytest
from foreign_files import find_layout, write_json
from places import GOLDENS

import zoo
from zoo.checkpoint import read_generation, write_generation
from zoo.models import gpt, transformer

# Reader to its golden directory and the token that ends a text.
READERS = {
    "gpt1": (GOLDENS / "gpt_hugging_face" / "gpt1", None),
    "gpt2": (GOLDENS / "gpt_hugging_face" / "gpt2", 256),
    "marian": (GOLDENS / "marian" / "joint", 0),
}
FAMILIES = {"gpt1": gpt, "gpt2": gpt, "marian": transformer}
# What a file says, and what we then read, with and without a source.
READ = [
    ({"num_beams": 3}, {"num_beams": 3}),
    ({"length_penalty": 0.5}, {"length_penalty": 0.5}),
    ({"no_repeat_ngram_size": 3}, {"no_repeat_ngram_size": 3}),
    ({"max_new_tokens": 7}, {"max_new_tokens": 7}),
    ({"min_new_tokens": 2}, {"min_new_tokens": 3}),
    ({"suppress_tokens": [2]}, {"suppressed": [2]}),
    ({"bad_words_ids": [[4], [5]]}, {"suppressed": [4, 5]}),
    ({"suppress_tokens": [2], "bad_words_ids": [[4]]}, {"suppressed": [2, 4]}),
    ({"forced_eos_token_id": 6}, {"last_token": 6}),
    ({"forced_eos_token_id": [6]}, {"last_token": 6}),
    ({"renormalize_logits": True}, {"renormalize": True}),
    ({"do_sample": True}, {"temperature": 1.0, "top_k": 50}),
    (
        {"do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 0.9},
        {"temperature": 0.7, "top_p": 0.9},
    ),
    ({"temperature": 0.7, "top_k": 5}, {}),  # without samples they count for nothing
]
NEUTRAL = {
    "early_stopping": False,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "typical_p": 1.0,
    "num_return_sequences": 1,
    "guidance_scale": None,
    "sequence_bias": {},
    "bad_words_ids": None,
    "max_time": None,
    "an_option_of_tomorrow": False,
    "transformers_version": "9.0",
    "output_scores": True,
    "use_cache": False,
}
UNKNOWN = {
    "early_stopping": True,
    "encoder_no_repeat_ngram_size": 2,
    "num_beam_groups": 2,
    "diversity_penalty": 0.5,
    "forced_bos_token_id": 3,
    "begin_suppress_tokens": [3],
    "sequence_bias": [[[1], -1.0]],
    "force_words_ids": [[1]],
    "constraints": [1],
    "min_length": 2,
    "bad_words_ids": [[3, 4]],
    "eos_token_id": [1, 2],
    "num_return_sequences": 3,
    "typical_p": 0.3,
    "stop_strings": ["."],
    "max_time": 2.5,
    "an_option_of_tomorrow": 0.5,
}


def make(reader, directory, values):
    """A copy of a golden directory whose generation_config.json has other values."""
    source = READERS[reader][0]
    shutil.copytree(source, directory, ignore=shutil.ignore_patterns("outputs.npz"))
    write_json(directory / "generation_config.json", **values)
    return directory


def read(reader, directory):
    """The generation that a reader finds, without warnings and Marian's rule."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The tokens of a prompt do not count")
        found = find_layout(FAMILIES[reader], "hugging_face").read(directory)
    search = dict(found.options["generation"])
    if search.pop("penalty", None) and not search["suppressed"]:
        del search["suppressed"]
    return search


@pytest.mark.parametrize("reader", READERS)
def test_what_is_supported_is_read(reader, tmp_path):
    for number, (values, expected) in enumerate(READ):
        found = read(reader, make(reader, tmp_path / str(number), values))
        assert found == expected, values


@pytest.mark.parametrize("reader", READERS)
def test_neutral_values_are_ignored(reader, tmp_path):
    assert read(reader, make(reader, tmp_path / "a", NEUTRAL)) == {}
    assert read_generation(tmp_path / "a") == {}


@pytest.mark.parametrize("reader", READERS)
def test_other_values_give_one_warning(reader, tmp_path):
    unknown = dict(UNKNOWN)
    # It has no token that ends a text; of a source, the length is that of the target.
    known = {"gpt1": "eos_token_id", "marian": "min_length"}
    unknown.pop(known.get(reader), None)
    directory = make(reader, tmp_path / "a", {**unknown, "num_beams": 2})
    layout = find_layout(FAMILIES[reader], "hugging_face")
    with pytest.warns(UserWarning) as found:
        options = layout.read(directory).options["generation"]
    assert options["num_beams"] == 2
    messages = [str(warning.message) for warning in found]
    (message,) = [text for text in messages if "generation_config" in text]
    assert f"options {', '.join(sorted(unknown))} of " in message
    assert "differ from those of Hugging Face" in message
    for name, value in unknown.items():
        write_json(directory / "generation_config.json", **{name: value})
        with pytest.warns(UserWarning, match=f"not have the options {name} of"):
            layout.read(directory)


def test_lengths_of_a_model_with_a_source_count_its_first_token(tmp_path):
    path = tmp_path / "generation_config.json"
    for values, expected in (
        ({"max_length": 12}, {"max_new_tokens": 11}),
        ({"max_length": 12, "max_new_tokens": 5}, {"max_new_tokens": 5}),
        ({"max_length": 99}, {"max_new_tokens": 20}),
        ({"min_length": 4}, {"min_new_tokens": 4}),
        ({"min_length": 4, "min_new_tokens": 6}, {"min_new_tokens": 7}),
    ):
        write_json(path, **values)
        assert read_generation(tmp_path, longest=20) == expected
    path.write_text('{"min_length": 4, "max_length": 12}')
    with pytest.warns(UserWarning, match="the options min_length of"):
        assert read_generation(tmp_path) == {}  # they count a prompt, too


@pytest.mark.parametrize("longest", [None, 20])
def test_what_is_written_is_read(longest, tmp_path):
    options = {
        "num_beams": 2,
        "no_repeat_ngram_size": 2,
        "max_new_tokens": 9,
        "min_new_tokens": 3,
        "suppressed": [4],
        "last_token": 1,
    }
    values, lost = write_generation({**options, "stop": (".",)}, longest)
    assert lost == ["stop"]
    write_json(tmp_path / "generation_config.json", **values)
    assert read_generation(tmp_path, longest=longest) == options
    values, _ = write_generation({"temperature": 0.5}, longest)
    write_json(tmp_path / "generation_config.json", **values)
    assert read_generation(tmp_path, longest=longest)["temperature"] == 0.5


@pytest.mark.parametrize("reader", ["gpt2", "marian"])
def test_a_task_has_the_options(reader, tmp_path):
    values = {"no_repeat_ngram_size": 2, "max_new_tokens": 5}
    model = zoo.from_preset(make(reader, tmp_path / "a", values))
    options = model.writer.generation_options()
    assert (options.no_repeat_ngram_size, options.max_new_tokens) == (2, 5)
