"""What a continued run compares: its preset, its data and its settings."""

import functools
import json

import pytest

from zoo.presets import preset_info
from zoo.programs.scores import task_suite
from zoo.programs.scores.stored_settings import describe_function, keep_settings


@pytest.fixture
def preset(tmp_path):
    """A directory like a preset, with what other programs wrote into it."""
    directory = tmp_path / "preset"
    for name in ("preset.json", "weights.safetensors", "README.md", "member/x.txt"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(name)
    return directory


def keep(preset, output, **settings):
    """Keeps the settings, and adds a result."""
    output.mkdir(parents=True, exist_ok=True)
    keep_settings(output, preset, output, settings)
    (output / "cola-0.json").write_text('{"scores": {}}')


def test_other_results_in_the_preset_do_not_count(preset):
    keep(preset, preset / "suite")
    stored = (preset / "suite" / "settings.json").read_text("utf-8")
    assert len(json.loads(stored)["sha256"]) == 64
    keep(preset, preset / "glue", seeds=3)
    (preset / "README.md").write_text("new")
    (preset / "model.keras").write_text("a model")
    (preset / "model_report").mkdir()
    (preset / "model_report" / "report.json").write_text("{}")
    keep(preset, preset / "suite")
    assert (preset / "suite" / "settings.json").read_text("utf-8") == stored


@pytest.mark.parametrize(
    "name", ["preset.json", "weights.safetensors", "member/x.txt", "new.txt"]
)
def test_other_files_of_the_preset_do(preset, tmp_path, name):
    keep(preset, tmp_path / "suite")
    (preset / name).write_text("other")
    with pytest.raises(ValueError, match="All results in .* must have the settings"):
        keep(preset, tmp_path / "suite")


def test_results_are_not_among_the_files_of_the_preset(preset):
    with pytest.raises(ValueError, match="must not be in the directory of the preset"):
        keep(preset, preset)


def test_files_of_others_are_kept(preset, tmp_path):
    for name in ("settings.json", "README.md"):
        directory = tmp_path / f"project_{name}"
        directory.mkdir()
        (directory / name).write_text("{}")
        (directory / "package.json").write_text("{}")
        with pytest.raises(FileExistsError, match=f"{name} is not of such results"):
            keep_settings(directory, preset, tmp_path, {}, pages=("README.md",))
        assert (directory / name).read_text() == "{}"


def test_a_shipped_preset_has_the_checksum_of_its_weights(tmp_path):
    name = "bert_mini_en_uncased_books"
    keep(name, tmp_path)
    path = tmp_path / "settings.json"
    stored = json.loads(path.read_text("utf-8"))
    assert stored["sha256"] == preset_info(name)["weights"]["sha256"]
    keep(name, tmp_path)
    path.write_text(json.dumps({**stored, "sha256": "of other weights"}))
    with pytest.raises(ValueError, match="must have the settings"):
        keep(name, tmp_path)


def test_arguments_of_a_partial_function_count():
    def train(rate, *rest, **options):
        return rate

    found = [
        describe_function(functools.partial(train, *arguments, **options))
        for arguments, options in (
            ((1e-3,), {}), ((1e-5,), {}), ((), {"rates": [1]}), ((), {"rates": [2]}),
            ((), {"rate": None}), ((), {"rate": print}),
        )
    ]  # fmt: skip
    assert len({*found}) == 6 and found[0].endswith("train(0.001)")
    assert "0x" not in found[-1]


def test_functions_of_one_name_differ_in_what_they_read():
    def make(rate, seen):
        def train():
            return rate, seen

        return train

    assert describe_function(make(1, [])) != describe_function(make(2, []))
    assert describe_function(make(1, [])) == describe_function(make(1, [2]))
    with pytest.raises(ValueError, match="must have a name.*Received: a lambda"):
        describe_function(lambda: 1)


def test_without_results_settings_may_change(preset, tmp_path):
    keep(preset, tmp_path / "suite", seeds=1)
    with pytest.raises(ValueError, match="must have the settings"):
        keep(preset, tmp_path / "suite", seeds=2)
    (tmp_path / "suite" / "cola-0.json").unlink()
    keep(preset, tmp_path / "suite", seeds=2)
    stored = json.loads((tmp_path / "suite" / "settings.json").read_text("utf-8"))
    assert stored["seeds"] == 2


def test_settings_of_a_suite(tmp_path):
    """What is equal after a stop, and what is not."""

    def check(preset="p", data="d", fit=None, **settings):
        task_suite._check_settings(tmp_path, preset, data, fit, settings)

    fit = functools.partial(check, data="x", model=object())
    check(layers=3)  # other settings may follow as long as there is no result
    check(fit=fit, layers=(1, 2))
    (tmp_path / "sst2-0.json").write_text('{"scores": {}}')
    check(fit=fit, layers=[1, 2])
    for other in ({"data": "e"}, {"fit": functools.partial(check, data="y")}):
        with pytest.raises(ValueError, match="Give another directory"):
            check(**{"fit": fit, "layers": (1, 2), **other})
