"""Instructions for the server, and the client against a stand-in that speaks REST."""

import csv
import http.server
import json
import os
import shlex
import threading
import time

import numpy as np
import pytest
from google.protobuf import text_format
from pages import GUIDES, blocks, name, run_shell
from tensorflow_serving.config import model_server_config_pb2

from zoo.serving import (
    batching_config,
    curl_lines,
    docker_lines,
    models_config,
    predict,
)


@pytest.fixture
def server():
    """A stand-in: doubles texts; the model's name selects faults."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            texts = json.loads(self.rfile.read(size))["instances"]
            status, body = 200, json.dumps({"predictions": [t * 2 for t in texts]})
            if self.path == "/v1/models/short:predict":
                body = json.dumps({"predictions": []})
            elif self.path == "/v1/models/html:predict":
                body = "<html>"
            elif self.path == "/v1/models/grpc:predict":
                self.wfile.write(b"\0\0\0\4\0\0\0\0\0")
                return
            elif self.path == "/v1/models/plain:predict":
                status, body = 502, "bad gateway"
            elif self.path == "/v1/models/slow:predict":
                time.sleep(1)
                status, body = 200, "{}"
            elif self.path != "/v1/models/double:predict":
                status, body = 404, json.dumps({"error": "Servable not found"})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/"
        httpd.shutdown()


def test_predict(server):
    assert predict(server, "double", ["a", "Ü🙂", ""]) == ["aa", "Ü🙂Ü🙂", ""]


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing", "status 404 .*missing:predict: Servable not found"),
        ("plain", "status 502 .*bad gateway"),
        ("short", "must send one prediction for each text.*1 texts"),
        ("html", "must answer in JSON"),
        ("grpc", "must answer in JSON.*REST is 8501, gRPC is 8500"),
    ],
)
def test_predict_says_what_the_server_did(server, name, message):
    with pytest.raises(ValueError, match=message):
        predict(server, name, ["a"])


def test_predict_without_a_server():
    with pytest.raises(ConnectionError, match="A server must listen.*127.0.0.1:9"):
        predict("http://127.0.0.1:9", "clf", ["a"], timeout=5)


def test_a_server_that_is_slow_is_not_called_missing(server):
    with pytest.raises(TimeoutError, match="must answer within 0.2 s.*`timeout`"):
        predict(server, "slow", ["a"], timeout=0.2)


@pytest.mark.parametrize("texts", ["one text", [b"bytes"], [None]])
def test_predict_refuses_other_inputs(texts):
    with pytest.raises(TypeError, match="`texts` must be a list of strings"):
        predict("http://127.0.0.1:9", "clf", texts)


def test_curl_lines():
    lines = curl_lines("clf", {"text": np.array(["it's", "Ü"])}).splitlines()
    assert lines[0] == "curl http://localhost:8501/v1/models/clf"
    assert lines[1] == "curl http://localhost:8501/v1/models/clf/metadata"
    words = shlex.split(lines[2])
    assert words[3] == "http://localhost:8501/v1/models/clf:predict"
    assert json.loads(words[2]) == {"instances": ["it's", "Ü"]}


def test_curl_rows_of_several_inputs_and_bytes():
    example = {
        "image": np.array([b"\xff\x00"], object),
        "ids": np.array([[1, 2]], np.int64),
    }
    body = json.loads(shlex.split(curl_lines("m", example).splitlines()[2])[2])
    assert body == {"instances": [{"image": {"b64": "/wA="}, "ids": [1, 2]}]}


@pytest.mark.parametrize("name", ["a b", "12:30", 'a,"b"'])
def test_docker_lines(tmp_path, name):
    words = shlex.split(docker_lines(tmp_path / name, "clf").replace("\\\n", " "))
    (fields,) = csv.reader([words[words.index("--mount") + 1]])
    source = f"source={tmp_path / name}"
    assert fields == ["type=bind", source, "target=/models/clf", "readonly"]
    assert "MODEL_NAME=clf" in words
    assert words[-1] == "tensorflow/serving:2.20.0"


def test_models_config_parses():
    config = text_format.Parse(
        models_config({"clf": "/models/clf", 'od"d': "/models/odd"}),
        model_server_config_pb2.ModelServerConfig(),
    )
    found = config.model_config_list.config
    assert [entry.name for entry in found] == ["clf", 'od"d']
    assert [entry.base_path for entry in found] == ["/models/clf", "/models/odd"]
    assert found[0].model_platform == "tensorflow"


@pytest.mark.parametrize(
    "largest, sizes",
    [(1, [1]), (2, [1, 2]), (32, [1, 2, 4, 8, 16, 32]), (24, [1, 2, 4, 8, 16, 24])],
)
def test_batching_config(largest, sizes):
    lines = batching_config(largest).splitlines()
    assert f"max_batch_size {{ value: {largest} }}" in lines
    allowed = [line.split()[1] for line in lines if line.startswith("allowed_batch")]
    assert allowed == [str(size) for size in sizes]
    assert not any("pad_variable_length_inputs" in line for line in lines)


def test_batching_config_refuses_nothing():
    with pytest.raises(ValueError, match="`max_batch_size` must be an .* from 1 .*: 0"):
        batching_config(max_batch_size=0)


@pytest.mark.skipif(
    "TFS_URL" not in os.environ,
    reason="set TFS_URL to a real TensorFlow Serving (and TFS_MODEL to its model)",
)
def test_a_real_server():
    url, name = os.environ["TFS_URL"], os.environ.get("TFS_MODEL", "text_classifier")
    texts = ["A good film.", "", "Ünïcødé 🙂"]
    together = predict(url, name, texts)
    assert together == [predict(url, name, [text])[0] for text in texts]


def test_the_guide_to_serving_has_files_that_parse(tmp_path, monkeypatch):
    """Its file with labels, which is a part of a block of sh."""
    monkeypatch.chdir(tmp_path)
    (page,) = (page for page in GUIDES if name(page) == "serving")
    (block,) = (block for block in blocks(page, "sh") if "<<" in block)
    (tmp_path / "models").mkdir()
    run_shell(block, tmp_path)
    config = text_format.Parse(
        (tmp_path / "models" / "models.config").read_text(),
        model_server_config_pb2.ModelServerConfig(),
    ).model_config_list.config[0]
    assert dict(config.version_labels) == {"stable": 1, "canary": 2}
    assert [*config.model_version_policy.specific.versions] == [1, 2]
