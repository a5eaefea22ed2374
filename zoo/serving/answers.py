"""Checks of the answers to the doctor's requests.

The doctor does not know the correct answers, so it compares answers with each other. A
row must get the same answer each time, alone and in a batch.
"""

import re

import numpy as np

from zoo.serving.lint import judge

# Both are relative and absolute tolerances. In a larger batch, kernels add numbers in
# another order.
_REPEAT_TOLERANCE = 1e-6
_BATCH_TOLERANCE = 1e-4
_MESSAGE_LENGTH = 300

# Pattern of an error message of TensorFlow, and advice for the user.
_ADVICE = (
    (
        "Could not find variable",
        "the checkpoint lacks a variable, because tf.saved_model.save does not store "
        "those of Keras 3; export with keras.export.ExportArchive",
    ),
    (
        "Op type not registered",
        "use operations of TensorFlow and tensorflow-text only",
    ),
    ("XLA compilation disabled", "export without jit_compile=True"),
    ("No OpKernel was registered.*Cudnn", "build the layer with use_cudnn=False"),
    ("[Tt]able not initialized", "track the lookup table when exporting"),
    ("callback pyfunc_", "replace the Python function with TensorFlow operations"),
)


def advise(message):
    """Shortens an error message of TensorFlow and adds advice, if there is any."""
    short = " ".join(message.split())[:_MESSAGE_LENGTH]
    for pattern, advice in _ADVICE:
        if re.search(pattern, message, re.DOTALL):
            return f"{advice} ({short})"
    return short


def check_answers(trials):
    """Checks answers for errors, repeatability, dependence on the batch, and JSON."""
    findings = [_answers_finding(trials)]
    answered = [trial for trial in trials if not trial.answer.error]
    if not answered:
        return findings
    changing = _repeat_problems(answered)
    return findings + [
        judge("repeat", changing, "a repeated request gets the same answer"),
        _batching_finding(trials),
        judge("finite", _finite_problems(answered), "no number is NaN or infinite"),
        judge("strings", _string_problems(answered), "JSON can represent every string"),
    ]


def _answers_finding(trials):
    # One defect makes many requests fail. It is reported once.
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
            "the doctor generated these requests; if they are not valid for this "
            "model, give it warm-up records, and the doctor will use them"
        )
    return judge("answers", reasons, f"{len(trials)} requests were answered")


def _outputs(trials, kind):
    """Returns the answers to one kind of trial, a list of dicts by signature name."""
    found = {}
    for trial in trials:
        if trial.kind == kind:
            found.setdefault(trial.signature, []).append(trial.answer.outputs)
    return found


def _repeat_problems(trials):
    first = _outputs(trials, "row")
    return [
        f"output {key!r} of {name!r} differs when the request is repeated: the model "
        "keeps state between requests, or uses random numbers"
        for name, (again,) in _outputs(trials, "repeat").items()
        for key, value in again.items()
        if name in first and not same(value, first[name][0][key], _REPEAT_TOLERANCE)
    ]


def _batching_finding(trials):
    """Compares the answers to single rows with the answers to one batch of them."""
    # The width of an output may depend on the longest row of the batch. In that case
    # the common part is compared, and the finding is a warning.
    failed = {trial.signature for trial in trials if trial.answer.error}
    complete = [trial for trial in trials if trial.signature not in failed]
    rows = _outputs(complete, "row")
    problems, warnings = [], []
    for name, (batch,) in _outputs(complete, "batch").items():
        for key, value in batch.items():
            where = f"output {key!r} of {name!r}"
            singles = [answer[key] for answer in rows[name]]
            heads = value.shape[:1], singles[0].shape[:1]
            if heads != ((len(singles),), (1,)):
                problems.append(
                    f"{where} has the shapes {singles[0].shape} and {value.shape} for "
                    f"batches of 1 and {len(singles)}; dimension 0 must be the batch"
                )
                continue
            pairs = [(value[i : i + 1], row) for i, row in enumerate(singles)]
            if not all(same(*_overlap(*pair), _BATCH_TOLERANCE) for pair in pairs):
                problems.append(f"{where} differs between a single row and a batch")
            elif any(common.shape != single.shape for common, single in pairs):
                warnings.append(f"the width of {where} depends on the other rows")
    fine = "single rows and a batch get the same answers"
    if failed:
        fine = f"warning: not compared for {sorted(failed)}, which did not answer"
    if warnings:
        fine = f"warning: {'; '.join(warnings)}; also return lengths, or use strings"
    return judge("batching", problems, fine)


def _overlap(first, second):
    sizes = zip(first.shape, second.shape, strict=False)
    window = tuple(slice(min(pair)) for pair in sizes)
    return first[window], second[window]


def same(first, second, tolerance, equal_nan=True):
    """Whether two arrays are equal, up to a tolerance of floating point numbers."""
    if first.shape != second.shape:
        return False
    if second.dtype.kind == "f":
        return np.allclose(first, second, tolerance, tolerance, equal_nan)
    return bool(np.all(first == second))


def _finite_problems(trials):
    problems = {}
    for trial in trials:
        inputs = trial.request.inputs.values()
        request = f"a request of the kind {trial.kind!r}"
        if all(value.dtype.kind == "O" and not any(value.flat) for value in inputs):
            request = "the empty string"
        for key, value in trial.answer.outputs.items():
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                where = f"output {key!r} of {trial.signature!r}"
                problems.setdefault(where, request)
    return [
        f"{where} is NaN or infinite in the answer to {request}; JSON has no such "
        "numbers"
        for where, request in problems.items()
    ]


def _string_problems(trials):
    # The server encodes strings as base64 only if the name of the output ends in
    # _bytes. All other strings are written to JSON without a change.
    found = {}
    for trial in trials:
        for key, value in trial.answer.outputs.items():
            if value.dtype.kind == "O":
                found.setdefault((trial.signature, key), []).extend(value.flat)
    problems = []
    for (name, key), values in found.items():
        text = all(v.decode("utf-8", "ignore").encode("utf-8") == v for v in values)
        if key.endswith("_bytes") and text and any(values):
            problems.append(
                f"output {key!r} of {name!r} is text, but its name ends in _bytes, so "
                "REST sends it as base64; rename it"
            )
        elif not key.endswith("_bytes") and not text:
            problems.append(
                f"output {key!r} of {name!r} is not UTF-8; give it a name that ends "
                "in _bytes, and REST sends it as base64"
            )
    return problems
