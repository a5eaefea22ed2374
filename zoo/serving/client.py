"""Instructions and a REST client for a model in TensorFlow Serving.

They follow the documented protocol and the source code of the server. The authors have
tried them with a replacement only; the tests use a real server if TFS_URL has its
address.
"""

import base64
import csv
import http.client
import io
import json
import shlex
import urllib.error
import urllib.parse
import urllib.request

import numpy as np

from zoo.checks.ranges import Count, Size, check_values
from zoo.files.buckets import local_path

SERVER_IMAGE = "tensorflow/serving:2.20.0"
LOCAL_URL = "http://localhost:8501"


def curl_lines(name, example, url=LOCAL_URL):
    """Makes shell commands that send requests to a served model.

    Args:
        name: str, the name of the model in the server.
        example: dict from input name to numpy array, for `serving_default`.
        url: str, scheme, host and port of the server's REST interface.

    Returns:
        str: commands that ask for the state of the model, its signatures, and a
        prediction.
    """
    instances = {"instances": _rows(example)}
    body = json.dumps(instances, ensure_ascii=False, default=_encode_bytes)
    model = _model_url(url, name)
    return (
        f"curl {shlex.quote(model)}\n"
        f"curl {shlex.quote(f'{model}/metadata')}\n"
        f"curl -d {shlex.quote(body)} {shlex.quote(f'{model}:predict')}"
    )


def docker_lines(base_dir, name):
    """Makes shell commands that serve a model with the official Docker image.

    The image has TF Serving 2.20. Exports of TensorFlow 2.20 and of 2.21 need that or a
    later one: the C loader of TensorFlow 2.20 gives the answers of both. The authors
    have not tried these commands.

    Args:
        base_dir: path of the directory of versions, as given to `write_version`.
        name: str, the name of the model in the server.

    Returns:
        str: the commands. REST is on port 8501 and gRPC on port 8500.
    """
    source, target = local_path(base_dir).resolve(), f"/models/{name}"
    mount = io.StringIO()
    # `--mount` takes a line of CSV. `-v` would split a path at a colon.
    fields = ["type=bind", f"source={source}", f"target={target}", "readonly"]
    csv.writer(mount).writerow(fields)
    return (
        f"docker pull {SERVER_IMAGE}\n"
        "docker run --rm -p 8501:8501 -p 8500:8500 \\\n"
        f"  --mount {shlex.quote(mount.getvalue().strip())} \\\n"
        f"  -e {shlex.quote(f'MODEL_NAME={name}')} {SERVER_IMAGE}"
    )


def models_config(models):
    """Makes a file for the server's `--model_config_file`, to serve several models.

    Args:
        models: dict from name to base directory, a path on the server.

    Returns:
        str: a ModelServerConfig in text format.
    """
    entries = [
        "  config {\n"
        f"    name: {json.dumps(name)}\n"
        f"    base_path: {json.dumps(str(base_dir))}\n"
        '    model_platform: "tensorflow"\n'
        "  }\n"
        for name, base_dir in models.items()
    ]
    return f"model_config_list {{\n{''.join(entries)}}}\n"


def batching_config(max_batch_size=32, batch_timeout_micros=2000, num_batch_threads=4):
    """Makes a file for the server's `--batching_parameters_file`.

    With `--enable_batching` the server puts requests of several clients into one
    batch. Rows of different widths then fail, and this file does not enable padding:
    the server pads a row with its own first value, which changes the answer for token
    ids without an error. Signatures that take strings need no padding.

    Args:
        max_batch_size: int, the largest number of rows in a batch, at least 1.
        batch_timeout_micros: int, microseconds that a request waits for others, at
            least 0.
        num_batch_threads: int, number of batches processed at a time, at least 1.

    Returns:
        str: BatchingParameters in text format. The allowed sizes are the powers of two
        and the largest size, so that the model gets few different shapes.

    Raises:
        ValueError: if a number is too small.
    """
    check_values(
        Size, max_batch_size=max_batch_size, num_batch_threads=num_batch_threads
    )
    check_values(Count, batch_timeout_micros=batch_timeout_micros)
    # The server requires that the last size is the largest batch.
    powers = (2**exponent for exponent in range(max_batch_size.bit_length()))
    sizes = [size for size in powers if size < max_batch_size] + [max_batch_size]
    allowed = "".join(f"allowed_batch_sizes: {size}\n" for size in sizes)
    return (
        f"max_batch_size {{ value: {max_batch_size} }}\n"
        f"batch_timeout_micros {{ value: {batch_timeout_micros} }}\n"
        f"num_batch_threads {{ value: {num_batch_threads} }}\n"
        f"max_enqueued_batches {{ value: 100 }}\n{allowed}"
    )


def predict(url, name, texts, timeout=60):
    """Sends texts to a served model, in the row format of REST.

    Args:
        url: str, scheme, host and port of the server's REST interface.
        name: str, the name of the model in the server.
        texts: list of str, for a `serving_default` with one string input.
        timeout: int or float, seconds.

    Returns:
        list with one prediction for each text: a dict from output name to value. If
        the signature has one output, a prediction is its value without the name.

    Raises:
        TypeError: if `texts` is not a list of str.
        ConnectionError: if there is no server.
        TimeoutError: if the answer takes longer than `timeout`.
        ValueError: if the server rejects the request, or does not send rows.
    """
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(
            "`texts` must be a list of strings. Received: "
            f"{texts!r:.80}. Wrap a single text in a list."
        )
    request = urllib.request.Request(
        f"{_model_url(url, name)}:predict",
        data=json.dumps({"instances": list(texts)}).encode("utf-8"),
        headers={"Content-Type": "application/json"},
    )
    response = _send(request, timeout)
    predictions = response.get("predictions") if isinstance(response, dict) else None
    if not isinstance(predictions, list) or len(predictions) != len(texts):
        raise ValueError(
            "The server must send one prediction for each text. Received: "
            f"{str(response):.200} for {len(texts)} texts. Check that {url} is the "
            "REST interface of TensorFlow Serving."
        )
    return predictions


def _send(request, timeout):
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        body = error.read().decode("utf-8", "replace")
        try:
            reason = json.loads(body)["error"]
        except (json.JSONDecodeError, KeyError, TypeError):
            reason = body[:200]
        raise ValueError(
            "The server must accept the request. Received: status "
            f"{error.code} from {request.full_url}: {reason}. Check the name and the "
            "inputs of the model at its /metadata."
        ) from error
    except (json.JSONDecodeError, http.client.HTTPException) as error:
        raise ValueError(
            "The server must answer in JSON. Received: another format from "
            f"{request.full_url}. Check the port: REST is 8501, gRPC is 8500."
        ) from error
    except TimeoutError as error:
        raise TimeoutError(
            f"The server must answer within {timeout} s. Received: no answer yet from "
            f"{request.full_url}. Give a larger `timeout`."
        ) from error
    except OSError as error:
        raise ConnectionError(
            "A server must listen at the address. Received: "
            f"{error} from {request.full_url}. Start one as in `docker_lines`."
        ) from error


def _model_url(url, name):
    return f"{url.rstrip('/')}/v1/models/{urllib.parse.quote(name, safe='')}"


def _rows(example):
    columns = {key: np.asarray(value).tolist() for key, value in example.items()}
    if len(columns) == 1:
        return next(iter(columns.values()))
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _encode_bytes(data):
    """What JSON has in place of bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # This is the server's notation for bytes that are not UTF-8.
        return {"b64": base64.b64encode(data).decode("ascii")}
