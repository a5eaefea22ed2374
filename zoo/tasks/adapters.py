"""The adapter of a task, LoRA and the head, in a file of its own."""

import json

from keras import ops

from zoo.backbone.saving import preset_variables
from zoo.layers import enable_lora, is_lora, lora_layers
from zoo.layers.quantization import reset_functions
from zoo.presets import arrays_checksum, read_adapter, write_adapter

UNIFORM = "An adapter has LoRA of one rank and alpha, and only in the backbone. "
MADE_BY_ZOO = "Enable LoRA once for the task, with `zoo.enable_lora(model, rank)`."


def save_adapter(task, path):
    """Writes LoRA and the head of a task to a file; see `Task.save_adapter`."""
    rank, alpha, layers = lora_settings(task)
    record = {
        "family": task.backbone.family,
        "preset": task.backbone.origin,
        "base_sha256": base_checksum(task.backbone),
        "rank": rank,
        "alpha": alpha,
        "layers": layers,
        "task": task.task_name,
        "options": task.preset_record()["options"],
    }
    arrays = {
        name: as_array(variable) for name, variable in adapter_variables(task).items()
    }
    write_adapter(path, record, arrays)


def load_adapter(task, path):
    """Reads what `save_adapter` wrote into a task; see `Task.load_adapter`."""
    record, arrays = read_adapter(path)
    _check_task(task, record, path)
    _check_base(task.backbone, record, path)
    present = lora_layers(task)
    wanted = record["rank"], record["alpha"], record["layers"]
    if present and (found := lora_settings(task)) != wanted:
        raise ValueError(
            f"{path} must have the LoRA of the model. Received: (rank, alpha, layers) "
            f"{wanted!r:.200}, for a model with {found!r:.200}. Load it into a model "
            "without LoRA."
        )
    shapes = {k: tuple(v.shape) for k, v in adapter_variables(task).items()}
    if not present:
        shapes |= lora_shapes(task.backbone, record["layers"], record["rank"])
    found = {name: array.shape for name, array in arrays.items()}
    wrong = sorted(k for k in {*shapes, *found} if shapes.get(k) != found.get(k))
    if wrong:
        first = wrong[0]
        raise ValueError(
            f"{path} must have the arrays of LoRA and of the head of the model, and no "
            f"others. Received: {first!r} with shape {found.get(first)}, for a model "
            f"with {shapes.get(first)}. Make the task as it was when it was saved."
        )
    if not present:
        enable_lora(task, record["rank"], record["layers"], record["alpha"])
    for name, variable in adapter_variables(task).items():
        variable.assign(arrays[name])
    names = task.files.calibrated(task)
    values = {name: record["options"].get(name) for name in names}
    task.files.set_calibrated(task, values)
    task.new_heads = ()
    reset_functions(task)


def adapter_variables(task):
    """Dict of path to variable: LoRA's A and B, and all weights of the head."""
    base = {id(v) for v in task.backbone.weights if not is_lora(v)}
    return {v.path: v for v in task.weights if id(v) not in base}


def base_checksum(backbone):
    """The SHA-256 of the weights of a backbone without LoRA, str."""
    paths = backbone.variable_paths()
    named = {paths.get(id(v), v.path): v for v in preset_variables(backbone)}
    return arrays_checksum((name, as_array(named[name])) for name in sorted(named))


def as_array(variable):
    """The value of a variable as a NumPy array."""
    return ops.convert_to_numpy(variable)


def lora_settings(task):
    """Rank, alpha and the sorted paths of the layers with LoRA; ValueError if none."""
    layers = lora_layers(task)
    if not layers:
        raise ValueError(
            f"An adapter needs a model with LoRA. Received: {task.name!r}, which has "
            "none. Call `zoo.enable_lora(model, rank)` before the training."
        )
    settings = {(layer.lora_rank, float(layer.lora_alpha)) for layer in layers}
    inside = {id(layer) for layer in lora_layers(task.backbone)}
    paths = sorted(layer.path for layer in layers)
    if len(settings) > 1 or len(inside) < len(layers) or len({*paths}) < len(paths):
        raise ValueError(
            "An adapter has LoRA of one rank and alpha, and only in the backbone. "
            f"Received: {len(layers)} layers with (rank, alpha) {sorted(settings)}, "
            f"{len(inside)} of them in the backbone. Enable LoRA once for the task, "
            "with `zoo.enable_lora(model, rank)`."
        )
    return *settings.pop(), paths


def lora_shapes(backbone, names, rank):
    """Dict of path to the shape of A and B, of layers that have no LoRA yet."""
    shapes = {}
    for variable in backbone.weights:
        layer, _, name = variable.path.rpartition("/")
        if layer in names and name in ("kernel", "embeddings"):
            shapes[f"{layer}/lora_{name}_a"] = (variable.shape[0], rank)
            shapes[f"{layer}/lora_{name}_b"] = (rank, variable.shape[-1])
    return shapes


def _check_task(task, record, path):
    """Raises ValueError unless an adapter belongs to a task of this kind."""
    fixed = {*task.options} - {*task.files.calibrated(task)}
    options = json.loads(json.dumps(task.options))
    own = {"family": task.backbone.family, "task": task.task_name}
    saved = {name: record[name] for name in own}
    own |= {name: options[name] for name in fixed}
    if saved["task"] == own["task"]:
        saved |= {name: record["options"].get(name) for name in fixed}
    wrong = [name for name in saved if saved[name] != own[name]]
    if wrong:
        raise ValueError(
            f"{path} is for a model with {_words(saved, wrong)}. Received: one with "
            f"{_words(own, wrong)}. Make the task with {_call(record)}."
        )


def _check_base(backbone, record, path):
    """Raises ValueError unless an adapter was trained on these weights."""
    found = base_checksum(backbone)
    if found != record["base_sha256"]:
        raise ValueError(
            f"{path} was trained beside other weights of the backbone. Received: a "
            f"backbone with the checksum {found[:12]}, not "
            f"{record['base_sha256'][:12]}. Make the task with {_call(record)}."
        )


def _words(values, names):
    """What a message calls some values, such as "rank=2, alpha=2.0"."""
    return ", ".join(f"{name}={values[name]!r:.80}" for name in names)


def _call(record):
    """The call that makes the base of an adapter, in words."""
    options = {k: v for k, v in record["options"].items() if v is not None}
    preset = repr(record["preset"]) if record.get("preset") else "its base"
    options = _words({"task": record["task"], **options}, ["task", *options])
    return f"`zoo.from_preset({preset}, {options})`, and do not train it before"
