"""A disk that becomes full, for tests of writers."""

import contextlib

import pytest


@contextlib.contextmanager
def full_disk(size):
    """No file can grow beyond `size` bytes, as if the disk was full then."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
