"""Reads targets and weights of texts, from arrays and in pipelines of tf.data."""

import tensorflow as tf

from zoo.tasks.inputs.targets import row_weights
from zoo.tasks.inputs.text_input import check_lengths
from zoo.tasks.inputs.word_weights import are_word_weights, word_weights
from zoo.tasks.losses.logit_losses import LABEL_LOGITS


def read_targets(task, columns, y=None, sample_weight=None):
    """Targets and weights of texts, checked: a list of tensors (N, ...)."""
    if y is not None or sample_weight is not None:
        check_takes_targets(task)
    found = [] if y is None else [task.encode_labels(y, columns)]
    if sample_weight is not None:
        found.append(_weights(task, sample_weight, found))
    found = [part if tf.is_tensor(part) else tf.constant(part) for part in found]
    for part in found:
        check_lengths(len(columns[0]), part.shape[0])
    return found


def _weights(task, weights, found):
    """The weights of texts, float32 (N,), or of their words, strings (N,)."""
    if task.target_spec.dtype == tf.string and found and are_word_weights(weights):
        return word_weights(weights, found[0])
    return row_weights(weights)


def check_takes_targets(task):
    """Raises ValueError if a task makes its own targets."""
    if task.pretrains:
        pair = "For a pair use `((text, text_pair),)`." if task.optional_columns else ""
        message = (
            f"{type(task).__name__} makes its own targets. Received: `y` or "
            f"`sample_weight`. Give texts only. {pair}"
        )
        raise ValueError(message.strip())


def targets_in_graph(task, columns, targets):
    """`read_targets` in a tf.data pipeline, as `Task.target_spec` says.

    What is wrong raises `tf.errors.InvalidArgumentError` during the run, with the same
    message.
    """
    if not targets:
        return []
    check_takes_targets(task)
    y, *weights = targets
    if isinstance(y, tf.RaggedTensor):
        y = y.to_tensor("" if y.dtype == tf.string else 0)
    targets = [y, *weights]
    spec = target_spec(task, y)
    check_target_type(y, spec, task.output_kind == LABEL_LOGITS)
    kinds = [tf.string if w.dtype == tf.string else tf.float32 for w in weights]
    specs = [spec, *(tf.TensorSpec([None], kind) for kind in kinds)]

    def read(*arrays):
        texts = [tf.constant(array, tf.string) for array in arrays[len(targets) :]]
        found = read_targets(task, tuple(texts), *arrays[: len(targets)])
        return [part.numpy() for part in found]

    types = [spec.dtype for spec in specs]
    found = tf.numpy_function(read, [*targets, *columns], types)
    return [tf.ensure_shape(t, s.shape) for t, s in zip(found, specs, strict=True)]


def target_spec(task, y):
    """The spec of the encoded targets of a task for given ones in a dataset."""
    spec, shape = task.target_spec, y.shape
    soft = y.dtype.is_floating and shape.rank == 2 and shape[1] != 1
    if soft and spec.dtype == tf.int64:  # probabilities in place of class numbers
        return tf.TensorSpec([None, shape[1]], tf.float32)
    return spec


def check_target_type(y, spec, lists=False):
    """Raises ValueError if `y` of a dataset has another type or shape than `spec`.

    Class numbers, int64, and numbers, float32, may be given as names, and with `lists`
    as strings of several labels (B,) or as rows of labels (B, W), padded with "".
    """
    if lists and y.dtype == tf.string and y.shape.rank in (1, 2):
        return
    right, kind, way = True, "numbers", "Use one vector or number for each text."
    if spec.dtype == tf.string:
        right, kind = y.dtype == tf.string, "strings"
        way = 'Join the labels of the words of a text: `" ".join(labels)`.'
    elif spec.dtype == tf.int64:
        kind, way = "labels", "For one-hot rows use `tf.argmax(y, -1)`."
    elif spec.dtype.is_integer:
        right, kind, way = y.dtype.is_integer, "integers", "Use `tf.cast`."
    shapes = [spec.shape]
    if spec.shape.rank is not None and spec.shape[1:].as_list() in ([], [1]):
        shapes = [tf.TensorShape([None]), tf.TensorShape([None, 1])]
    if not right or not any(map(y.shape.is_compatible_with, shapes)):
        raise ValueError(
            f"`y` of a dataset must hold {kind} of shape {tuple(spec.shape)}. "
            f"Received: {y.dtype.name} of shape {y.shape}. {way}"
        )
