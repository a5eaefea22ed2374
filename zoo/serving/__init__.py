"""Export to TensorFlow Serving, a doctor for SavedModels, and a small client.

Neither this package nor the doctor imports TensorFlow or Keras.
"""

from zoo.lazy_names import lazy_names

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
__getattr__, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}
)
