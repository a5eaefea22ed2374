"""A small classifier that answers tables."""

import pytest
import tiny
from tiny_bert import tiny_bert

import zoo


@pytest.fixture(scope="module")
def model():
    backbone = tiny_bert()
    return zoo.TextClassifier(backbone, backbone.tokenizer, labels=tiny.LABELS)
