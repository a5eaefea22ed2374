"""Export to TensorFlow Serving, a doctor for SavedModels, and a small client.

Neither this package nor the doctor imports TensorFlow or Keras.
"""

import importlib

_MODULES = {
    "Finding": "lint",
    "Signature": "export",
    "ask": "session",
    "batching_config": "client",
    "curl_lines": "client",
    "diagnose": "doctor",
    "docker_lines": "client",
    "format_findings": "doctor",
    "models_config": "client",
    "predict": "client",
    "write_version": "export",
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted(__all__)
