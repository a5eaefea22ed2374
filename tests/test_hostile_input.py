"""Bad input: a clear error or a defined answer, and no file of the user is read."""

import numpy as np
import pytest
import tiny
from foreign_files import change_json

import zoo
from zoo.text import SentencePieceTokenizer
from zoo.text.contents import without_paths


def test_any_text_gets_a_finite_answer_which_others_do_not_change(make_task):
    classifier, texts = make_task(), [*tiny.WEIRD.values()]
    classifier.truncation_reported = True
    alone = [classifier.predict([text], verbose=0) for text in texts]
    assert np.isfinite(alone).all() and np.shape(alone) == (len(texts), 1, 2)
    together = classifier.predict(texts, verbose=0)
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


def test_a_preset_names_no_file_of_the_user(make_task, tmp_path):
    (tmp_path / "secret.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nsecret\n")
    make_task().save_to_preset(tmp_path / "preset")
    changes = {"arguments.vocabulary": str(tmp_path / "secret.txt"), "files": {}}
    changes = {f"tokenizer.{name}": value for name, value in changes.items()}
    change_json(tmp_path / "preset" / "preset.json", **changes)
    with pytest.raises(ValueError, match="`vocabulary` must hold the entries. Receive"):
        zoo.from_preset(tmp_path / "preset")
    with pytest.raises(ValueError, match="`model` must hold base64"):
        SentencePieceTokenizer.from_config({"model": str(tmp_path / "secret.model")})


def test_a_path_is_not_a_model():
    with pytest.raises(ValueError, match="`model` must hold base64. Received: '/a.m"):
        without_paths({"model": "/a.model"}, {"model": "text.model"})
