"""From a task to the signatures that TF Serving offers."""

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.ranges import check_values
from zoo.files.buckets import local_path
from zoo.layers import lora_layers, merged_weights
from zoo.serving import Signature, write_version
from zoo.serving.changes import facts_file
from zoo.serving.versions import check_version

WARMUP_TEXTS = ("A first request, so that the first client need not wait.", "")


def export_task(task, directory, version=None, pair=None, warmup_texts=WARMUP_TEXTS):
    """Writes the next version of a TF Serving model, checked before it is published.

    `serving_default` takes strings, one input for each column of the task, such as
    `text` and `text_pair`. Named inputs are safer than one packed string over REST: a
    row that lacks one is refused by name, and neither order nor separator can be
    wrong. A second signature, `tokens`, of tasks with one answer for a row, takes the
    model's inputs, such as token_ids, segment_ids and padding_mask, int32 (B, L). Do
    not let the server pad them: `pad_variable_length_inputs` repeats the first value
    instead of 0.

    The graph computes in float32 whatever the model's policy, without XLA. LoRA is
    merged into the weights beside it.

    Args:
        task: `zoo.tasks.Task` with a tokenizer.
        directory: of the model; versions are the numbered directories in it.
        version: int; by default one more than the highest there.
        pair: bool, whether a request has the optional columns; by default as the data
            that `fit` was given.
        warmup_texts: list of str that the server answers before its first client, and
            the self-check compares.

    Returns:
        pathlib.Path of the version, with saved_model.pb in it.

    Raises:
        ValueError: if there is no tokenizer, the task does not take the columns, or the
            self-check fails; then nothing is written.
    """
    if task.tokenizer is None:
        raise ValueError(
            "An export takes strings, so the task needs a tokenizer. Received: a task "
            "without one. Give `tokenizer=` when you make it."
        )
    check_values(bool | None, pair=pair)
    check_version(local_path(directory), version)
    texts = example_texts(warmup_texts)
    model = float32_clone(task)
    names = task.columns[: task.num_columns]
    if pair is not None:
        names = task.columns if pair else task.required_columns
    task.check_columns(len(names))
    signatures = {
        key: text_signature(method, names, texts)
        for key, method in model.serving_methods().items()
    }
    if task.answers_tokens:
        x = model.preprocessor((tf.constant(texts),) * len(names))
        signatures["tokens"] = Signature(
            lambda **inputs: model.answers(model(inputs, training=False)),
            {k: tf.TensorSpec([None] * len(v.shape), v.dtype, k) for k, v in x.items()},
            {name: value.numpy() for name, value in x.items()},
        )
    # Keras tracks the variables of signatures; those of a model it would store twice.
    facts = export_facts(task, names, task.options.get("labels"), task.sequence_length)
    track = [model.tokenizer]
    return write_version(directory, signatures, track, version, extra_files=facts)


def export_facts(task, names, labels, sequence_length=None):
    """What clients of an export of a task must know, see `facts_file`."""
    return facts_file(
        labels=labels and [*labels],
        sequence_length=sequence_length,
        columns=[*names],
        answers=task.files.answer_names,
        table=task.files.table_names,
        padded=[*task.files.padded_names],
    )


def example_texts(texts):
    """`warmup_texts`, checked, as an array of str (B,)."""
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    check_values(list[str] | tuple[str, ...], warmup_texts=texts)
    if not texts:
        raise ValueError("`warmup_texts` must have a text. Received: none.")
    return np.array(texts, dtype=object)


def text_signature(method, names, texts):
    """A signature of a function of string tensors (B,), one for each name."""
    return Signature(
        lambda **inputs: method(*(inputs[name] for name in names)),
        {name: tf.TensorSpec([None], tf.string, name) for name in names},
        dict.fromkeys(names, texts),
    )


def float32_clone(task):
    """The task, or its copy if it has LoRA, 16 bits, or no preprocessor."""
    computed = {task.compute_dtype, *_compute_dtypes(task.backbone)}
    plain = computed == {"float32"} and not lora_layers(task)
    if plain and task.preprocessor is not None:
        return task
    config = task.get_config()
    _set_float32(config["backbone"])
    clone = type(task).from_config(config)
    values = merged_weights(task)
    clone.set_weights([values[id(v)] for v in task.weights if id(v) in values])
    return clone


def _compute_dtypes(backbone):
    """Names of the types that a backbone and its parts compute in, a set of str."""
    part_dtypes = (_compute_dtypes(part) for part in backbone.parts.values())
    return {backbone.compute_dtype}.union(*part_dtypes)


def _set_float32(description):
    """Changes the policy in the description of a backbone and of its parts."""
    policy = keras.dtype_policies.serialize(keras.dtype_policies.get("float32"))
    description["config"]["dtype"] = policy
    for part in description["config"].get("parts", {}).values():
        _set_float32(part)
