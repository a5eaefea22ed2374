"""Checks of what a model answered to the doctor's requests.

Checks compare answers with one another, since the doctor does not know the right ones:
the same row must get the same answer again, and alone as in a batch.
"""

import re

import numpy as np

from zoo.serving.lint import judge

# Relative and absolute. Kernels add in another order when the batch is larger.
_REPEAT_TOLERANCE = 1e-6
_BATCH_TOLERANCE = 1e-4
_MESSAGE_LENGTH = 300

# What TensorFlow says -> what its user can do.
_ADVICE = (
    (
        "Could not find variable",
        "a variable is not in the checkpoint, as happens to Keras 3 models with "
        "tf.saved_model.save; export with keras.export.ExportArchive",
    ),
    (
        "Op type not registered",
        "use operations of TensorFlow and tensorflow-text only",
    ),
    ("XLA compilation disabled", "export without jit_compile=True"),
    ("No OpKernel was registered.*Cudnn", "build the layer with use_cudnn=False"),
    ("[Tt]able not initialized", "track the lookup table when exporting"),
    ("callback pyfunc_", "replace the Python function by TensorFlow operations"),
)


def advise(message):
    """Shorten TensorFlow's message and add what to do about it, where that is known."""
    short = " ".join(message.split())[:_MESSAGE_LENGTH]
    for pattern, advice in _ADVICE:
        if re.search(pattern, message, re.DOTALL):
            return f"{advice} ({short})"
    return short


def check_answers(trials):
    """Check answers for errors, repeatability, independence of the batch, and JSON.

    Args:
        trials: list of Trial with answers.

    Returns:
        list of Finding; only the first when nothing was answered.
    """
    findings = [_answers_finding(trials)]
    answered = [trial for trial in trials if not trial.answer.error]
    if not answered:
        return findings
    return findings + [
        judge(
            "repeat",
            _repeat_problems(answered),
            "the same request gets the same answer again",
        ),
        _batching_finding(trials),
        judge("finite", _finite_problems(answered), "no number is NaN or infinite"),
        judge("strings", _string_problems(answered), "JSON can carry every string"),
    ]


def _answers_finding(trials):
    # One fault makes many requests fail; it is reported once.
    problems = {}
    for trial in trials:
        if trial.answer.error:
            reason = f"signature {trial.signature!r}: {advise(trial.answer.error)}"
            problems.setdefault(reason, []).append(trial.kind)
    reasons = [
        f"{reason} (to: {', '.join(kinds)})" for reason, kinds in problems.items()
    ]
    if reasons and not any(trial.kind == "warm-up" for trial in trials):
        reasons.append(
            "if the made-up requests make no sense to this model, give it warm-up "
            "records and they are used instead"
        )
    return judge("answers", reasons, f"{len(trials)} requests were answered")


def _outputs(trials, kind):
    """Answers to one kind of trial: dict from signature name to list of dicts."""
    found = {}
    for trial in trials:
        if trial.kind == kind:
            found.setdefault(trial.signature, []).append(trial.answer.outputs)
    return found


def _repeat_problems(trials):
    first = _outputs(trials, "row")
    return [
        f"output {key!r} of {name!r} differs when the request is repeated: state is "
        "kept between requests, or chance plays"
        for name, (again,) in _outputs(trials, "repeat").items()
        for key, value in again.items()
        if name in first and not _same(value, first[name][0][key], _REPEAT_TOLERANCE)
    ]


def _batching_finding(trials):
    """Compare rows asked alone with the same rows in one batch.

    Outputs may be as wide as the longest row of their batch; then only what both have
    is compared, and the width is a warning.
    """
    broken = {trial.signature for trial in trials if trial.answer.error}
    whole = [trial for trial in trials if trial.signature not in broken]
    rows = _outputs(whole, "row")
    problems, warnings = [], []
    for name, (batch,) in _outputs(whole, "batch").items():
        for key, value in batch.items():
            where = f"output {key!r} of {name!r}"
            singles = [answer[key] for answer in rows[name]]
            if not _has_rows(value, len(singles)) or not _has_rows(singles[0], 1):
                problems.append(
                    f"{where} has the shapes {singles[0].shape} and {value.shape} for "
                    f"batches of 1 and {len(singles)}; dimension 0 must be the batch"
                )
                continue
            pairs = [(value[i : i + 1], row) for i, row in enumerate(singles)]
            if not all(_same(*_overlap(*pair), _BATCH_TOLERANCE) for pair in pairs):
                problems.append(f"{where} differs when a row is alone and in a batch")
            elif any(one.shape != other.shape for one, other in pairs):
                warnings.append(f"the width of {where} depends on the other rows")
    fine = "rows get the same answers alone and in one batch"
    if broken:
        fine = f"warning: not compared for {sorted(broken)}, which did not answer"
    if warnings:
        fine = f"warning: {'; '.join(warnings)}; return lengths too, or strings"
    return judge("batching", problems, fine)


def _has_rows(value, count):
    return value.ndim > 0 and len(value) == count


def _overlap(first, second):
    sizes = zip(first.shape, second.shape, strict=False)
    window = tuple(slice(min(pair)) for pair in sizes)
    return first[window], second[window]


def _same(first, second, tolerance):
    if first.shape != second.shape:
        return False
    if first.dtype.kind == "f":
        return np.allclose(first, second, tolerance, tolerance, equal_nan=True)
    return bool(np.all(first == second))


def _finite_problems(trials):
    problems = {}
    for trial in trials:
        for key, value in trial.answer.outputs.items():
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                where = f"output {key!r} of {trial.signature!r}"
                problems.setdefault(where, _describe(trial))
    return [
        f"{where} has NaN or infinity in its answer to {request}, which is not JSON"
        for where, request in problems.items()
    ]


def _describe(trial):
    """Name the request for a reader, who will try the empty string first."""
    values = list(trial.request.inputs.values())
    if all(value.dtype.kind == "O" and not any(value.flat) for value in values):
        return "the empty string"
    return f"a request of the kind {trial.kind!r}"


def _string_problems(trials):
    """The server writes strings into JSON as they are, unless the name says bytes."""
    found = {}
    for trial in trials:
        for key, value in trial.answer.outputs.items():
            if value.dtype.kind == "O":
                found.setdefault((trial.signature, key), []).extend(value.flat)
    problems = []
    for (name, key), values in found.items():
        text = all(map(_is_utf8, values))
        if key.endswith("_bytes") and text and any(values):
            problems.append(
                f"output {key!r} of {name!r} is text, but REST sends names that end "
                "in _bytes as base64; rename it"
            )
        elif not key.endswith("_bytes") and not text:
            problems.append(
                f"output {key!r} of {name!r} is not UTF-8; end its name in _bytes and "
                "REST sends it as base64"
            )
    return problems


def _is_utf8(data):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
