"""Fixtures for all tests."""

import os
import pathlib

import pytest


@pytest.fixture(scope="session")
def shared():
    """Directory of data and oracles beside the checkout; skips where it is absent."""
    beside = pathlib.Path(__file__).parents[1].parent / "shared"
    candidates = [os.environ.get("ZOO_SHARED"), beside]
    for candidate in filter(None, candidates):
        if pathlib.Path(candidate).is_dir():
            return pathlib.Path(candidate)
    pytest.skip("No shared data: set ZOO_SHARED, or put it in ../shared.")
