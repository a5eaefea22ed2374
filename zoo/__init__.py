"""zoo: contextual word representations in Keras, from raw text to TF Serving.

Names are imported when they are first used, so `import zoo` does not import TensorFlow.
"""

from zoo.lazy_names import lazy_names
from zoo.tasks import MODULES as _TASKS

__version__ = "0.2.0"

_PLACES = {
    **dict.fromkeys(_TASKS, "zoo.tasks"),
    "Family": "zoo.registry",
    "Layout": "zoo.registry",
    "TextEnsemble": "zoo.tasks",
    "assess": "zoo.programs.scores.model_scores",
    "attend": "zoo.programs.vectors.attend",
    "embed": "zoo.programs.vectors.text_vectors",
    "embed_words": "zoo.programs.vectors.layer_vectors",
    "enable_lora": "zoo.layers",
    "evaluate_suite": "zoo.programs.scores.task_suite",
    "extend_vocabulary": "zoo.programs.vocabulary.taggers",
    "find_uses": "zoo.programs.vectors.word_uses",
    "finetune_ulmfit": "zoo.programs.finetune.transfer",
    "from_preset": "zoo.registry",
    "list_presets": "zoo.presets",
    "local_path": "zoo.files.buckets",
    "load_model": "zoo.registry",
    "make_tagger": "zoo.programs.vocabulary.taggers",
    "preset_info": "zoo.presets",
    "probe": "zoo.programs.vectors.probing",
    "register_family": "zoo.registry",
    "register_task": "zoo.registry",
    "soft_labels": "zoo.programs.finetune.soft_labels",
    "strategy": "zoo.distribution",
    "training_memory": "zoo.programs.costs.model_memory",
    "train_word_vectors": "zoo.programs.vectors.word_vectors",
    "transfer_vocabulary": "zoo.programs.vocabulary.vocabulary_transfer",
}
_MODULES = (
    "beam",
    "checkpoint",
    "data",
    "evaluation",
    "generation",
    "layers",
    "models",
    "serving",
    "tasks",
    "text",
    "training",
    "visualize",
)

__all__ = ["__version__", *_PLACES, *_MODULES]
__getattr__, __dir__ = lazy_names(__name__, {**_PLACES, **dict.fromkeys(_MODULES)})
