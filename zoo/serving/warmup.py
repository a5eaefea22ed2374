"""Warm-up requests of TensorFlow Serving: a TFRecord file of PredictionLogs.

The server runs every record before it makes a version available. If one record fails,
the server does not load the version.
"""

import pathlib
import struct

from google.protobuf.message import DecodeError

from zoo.serving import wire

WARMUP_PATH = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")
MAX_WARMUP_RECORDS = 1000


_CRC_TABLE = list(range(256))
for _ in range(8):
    # The Castagnoli polynomial with its bits in reverse order.
    _CRC_TABLE = [(x >> 1) ^ (0x82F63B78 if x & 1 else 0) for x in _CRC_TABLE]


def masked_crc32c(data):
    """Computes TFRecord's checksum of bytes: CRC-32C, rotated, plus a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_records(path, payloads):
    """Writes a TFRecord file of records, bytes."""
    with open(path, "wb") as file:
        for payload in payloads:
            header = struct.pack("<Q", len(payload))
            file.write(header + struct.pack("<I", masked_crc32c(header)))
            file.write(payload + struct.pack("<I", masked_crc32c(payload)))


def read_records(path):
    """The records of a TFRecord file, bytes; ValueError if it is damaged."""
    # A record is a length, its checksum, a payload and its checksum, little-endian.
    data = memoryview(pathlib.Path(path).read_bytes())
    payloads, position = [], 0
    while position < len(data):
        header = _checked(data, position, 8, len(payloads))
        (length,) = struct.unpack("<Q", header)
        payloads.append(bytes(_checked(data, position + 12, length, len(payloads))))
        position += 12 + length + 4
    return payloads


def _checked(data, start, length, index):
    stop = start + length
    if stop + 4 > len(data):
        raise ValueError(
            "A TFRecord file must end with a complete record. Received: record "
            f"{index} is incomplete. Write the file again."
        )
    (expected,) = struct.unpack("<I", data[stop : stop + 4])
    if masked_crc32c(data[start:stop]) != expected:
        raise ValueError(
            "A TFRecord's checksum must match its bytes. Received: record "
            f"{index} with a wrong CRC. Write the file again."
        )
    return data[start:stop]


def encode_request(model_name, signature_name, inputs):
    """A warm-up record of a Predict request, bytes of a PredictionLog."""
    log = wire.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature_name
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(wire.encode_tensor(array))
    return log.SerializeToString(deterministic=True)


def decode_request(payload):
    """The signature's name and the inputs of a Predict request; None for others.

    ValueError if the bytes are no PredictionLog, or a tensor in it is damaged.
    """
    try:
        log = wire.PredictionLog.FromString(payload)
    except DecodeError as error:
        raise ValueError(
            "A warm-up record must be a PredictionLog. Received: bytes that cannot be "
            "parsed. Write them with tensorflow_serving.apis or `write_version`."
        ) from error
    if not log.HasField("predict_log"):
        return None
    request = log.predict_log.request
    inputs = {name: wire.decode_tensor(proto) for name, proto in request.inputs.items()}
    return request.model_spec.signature_name or "serving_default", inputs
