"""Files appear whole or not at all."""

import pytest

from zoo.files import replacing


def test_a_file_is_replaced_at_the_end(tmp_path):
    path = tmp_path / "new" / "a.json"
    for text in ("first", "second"):
        with replacing(path) as temporary:
            assert temporary.parent == path.parent and temporary.suffix == ".json"
            temporary.write_text(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("directory", [False, True])
def test_what_fails_leaves_nothing_and_changes_nothing(tmp_path, directory):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        if directory:
            temporary.mkdir()
            (temporary / "part").write_text("half")
        else:
            temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_directory_with_something_in_it_is_not_replaced(tmp_path):
    path = tmp_path / "a"
    path.mkdir()
    (path / "kept").write_text("")
    with pytest.raises(OSError, match="not empty"), replacing(path) as temporary:
        temporary.mkdir()
    assert [p.name for p in tmp_path.rglob("*")] == ["a", "kept"]
