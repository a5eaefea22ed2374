"""What several tests of models need."""

import pytest


@pytest.fixture(scope="session")
def keras_nlp():
    """The package, which takes seconds to import, so not where tests are collected."""
    import keras_nlp

    return keras_nlp
