"""A preset that several programs read, and a report on its fine-tuning."""

import keras
import pytest
import tiny
from report_runs import finetune, write_table


@pytest.fixture(scope="session")
def preset(tmp_path_factory):
    """The directory of a tiny BERT without training, which no test may change."""
    from zoo.registry import build_backbone
    from zoo.text import WordPieceTokenizer

    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    directory = tmp_path_factory.mktemp("programs") / "preset"
    backbone.save_to_preset(directory)
    return directory


@pytest.fixture(scope="module")
def bert(preset):
    """The BERT of the preset with its tokenizer, one for all tests of a module."""
    import zoo

    return zoo.from_preset(preset)


@pytest.fixture(scope="session")
def classified(preset, tmp_path_factory):
    """Output, report and directory of a classifier on a separate validation file."""
    from eager import without_graphs

    directory = tmp_path_factory.mktemp("classified")
    texts, labels = tiny.make_texts(48)
    train = write_table(directory / "train.tsv", texts, labels)
    others, truth = tiny.make_texts(40, seed=1)
    truth = ["bad" if i % 4 == 0 else label for i, label in enumerate(truth)]
    valid = write_table(directory / "valid.tsv", others, truth)
    with without_graphs():
        output, report = finetune(preset, train, directory, "--valid", valid)
    return output, report, directory, (others, truth)
