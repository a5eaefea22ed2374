"""Published presets that are fetched from the web, when that goes wrong."""

import io

import pytest

from zoo import presets


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    return tmp_path


def serve(monkeypatch, *actions):
    """Answers of the web: bytes, or functions that are called first."""

    def urlopen(url, timeout):
        response = io.BytesIO(b"content")
        response.length = 0
        for action in actions:
            action(response)
        return response

    monkeypatch.setattr("urllib.request.urlopen", urlopen)


def test_a_download_that_ends_early_is_not_kept(home, monkeypatch):
    serve(monkeypatch, lambda response: setattr(response, "length", 7))
    with pytest.raises(FileNotFoundError, match="the connection ended early"):
        presets.find_preset("elmo_small_en")
    assert not [*home.iterdir()]
    serve(monkeypatch)
    assert presets.find_preset("elmo_small_en") == home / "elmo_small_en"


def test_another_process_may_be_faster(home, monkeypatch):
    files = presets.preset_info("elmo_small_en")["source"]["files"]

    def other(response):
        for name in files:
            (home / "elmo_small_en").mkdir(exist_ok=True)
            (home / "elmo_small_en" / name).write_text("theirs")

    serve(monkeypatch, other)
    directory = presets.find_preset("elmo_small_en")
    assert {(directory / name).read_text() for name in files} == {"theirs"}
    assert [path.name for path in home.iterdir()] == ["elmo_small_en"]
