"""Warnings name a line of the user's program, however deep the call is."""

import pytest

from zoo.checks.user_warnings import warn_user


def test_a_warning_names_the_caller_outside_of_zoo_and_keras():
    code = "def call(function, *rest):\n    function(*rest)"
    inner, outer = {"__name__": "zoo.tasks.base"}, {"__name__": "keras.src.trainer"}
    for namespace in (inner, outer):
        exec(code, namespace)
    with pytest.warns(UserWarning, match="Rows are left out.") as found:
        outer["call"](inner["call"], warn_user, "Rows are left out.")
    assert found[0].filename == __file__
