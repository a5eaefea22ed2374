"""A preset that several programs read."""

import keras
import pytest
import tiny


@pytest.fixture(scope="session")
def bert_preset(tmp_path_factory):
    """The directory of a tiny BERT without training, which no test may change."""
    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    directory = tmp_path_factory.mktemp("programs") / "preset"
    backbone.save_to_preset(directory)
    return directory
