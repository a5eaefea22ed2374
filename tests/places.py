"""Where the files of the project are."""

import pathlib

TESTS = pathlib.Path(__file__).parent
ROOT = TESTS.parent
GOLDENS = TESTS / "goldens"
