"""An S3 server on this machine."""

import contextlib
import uuid

import fsspec
import pytest


@contextlib.contextmanager
def new_bucket(monkeypatch):
    """Yields the address of an empty bucket of a server; skips without the packages."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    thread = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    thread.start()
    port = thread.get_host_and_port()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = f"shelf-{uuid.uuid4().hex}"  # the server keeps buckets
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    yield f"s3://{name}"
    thread.stop()
    fsspec.filesystem("s3").clear_instance_cache()
