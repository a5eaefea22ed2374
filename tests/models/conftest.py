"""What several tests of models need."""

import pathlib
import sys

import pytest

# Tests of one family use another's golden files.
HERE = pathlib.Path(__file__).parent
sys.path[1:1] = [str(path) for path in sorted(HERE.iterdir()) if path.is_dir()]


@pytest.fixture(scope="session")
def keras_nlp():
    """The package, which takes seconds to import, so not where tests are collected."""
    import keras_nlp

    return keras_nlp
