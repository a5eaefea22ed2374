"""Export to TensorFlow Serving, a doctor for SavedModels, and answers of exports.

Only what exports a model imports TensorFlow and Keras.
"""

from zoo.lazy_names import lazy_names

_MODULES = {
    "ExportedModel": "exported_model",
    "Finding": "lint",
    "Signature": "export",
    "ask": "exported_model",
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
