"""Export to TensorFlow Serving, a doctor for SavedModels, and a small client.

Neither this package nor the doctor imports TensorFlow or Keras.
"""

import importlib

_MODULES = {
    "Finding": "lint",
    "ask": "session",
    **dict.fromkeys(("Signature", "write_version"), "export"),
    **dict.fromkeys(("batching_config", "curl_lines", "docker_lines"), "client"),
    **dict.fromkeys(("models_config", "predict"), "client"),
    **dict.fromkeys(("diagnose", "format_findings"), "doctor"),
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted(__all__)
