"""Warnings that name the line of the user's program."""

import sys
import warnings


def warn_user(message):
    """Warns, and names the line outside of this package and Keras that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and _package(frame) in ("zoo", "keras"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _package(frame):
    """The name of the package whose code runs in a frame."""
    return frame.f_globals.get("__name__", "").partition(".")[0]
