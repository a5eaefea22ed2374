"""Says whether TensorFlow Serving can serve a SavedModel, and if not, why."""

import dataclasses

from zoo.serving.answers import advise, check_answers
from zoo.serving.graph import SavedGraph
from zoo.serving.lint import Finding, judge, lint
from zoo.serving.probes import make_trials, read_warmup
from zoo.serving.records import WARMUP_PATH
from zoo.serving.session import Answer, run_in_c_loader
from zoo.serving.versions import find_version, is_version_name


def diagnose(directory, timeout=300):
    """Examine a SavedModel as TensorFlow Serving would use it.

    What the graph declares is read; then the model is loaded through TensorFlow's C
    loader in a process without Python's TensorFlow, on the CPU, with XLA refused as
    the server refuses it, and asked: each row alone, the first one again, all in one
    batch, the empty string, and the warm-up records. No real server takes part. A
    SavedModel is a program, which can read and write files: this runs it.

    Args:
        directory: a version directory, or a directory of integer versions, of which
            the newest is taken.
        timeout: seconds for loading and all requests.

    Returns:
        list of Finding. Checks of answers are left out where nothing was answered.

    Raises:
        FileNotFoundError: there is no SavedModel, or TensorFlow is not installed.
        ValueError: the versions have names that the server ignores, or
            saved_model.pb is broken.
    """
    version = find_version(directory)
    graph = SavedGraph(version)
    warmup, warmup_problems = read_warmup(version, graph)
    trials = make_trials(graph, warmup)
    requests = [trial.request for trial in trials]
    report = run_in_c_loader(version, graph, requests, timeout)
    findings = [_directory_finding(version)]
    findings += lint(graph, report.operations)
    findings.append(_load_finding(report))
    if report.loaded:
        trials = _with_answers(trials, report)
        findings += check_answers(trials)
    findings.append(_warmup_finding(version, trials, warmup_problems))
    return findings


def format_findings(findings):
    """Write findings as lines for people.

    Args:
        findings: list of Finding.

    Returns:
        str: one line for each finding and a last one with the count.
    """
    lines = [
        f"{'ok  ' if finding.passed else 'FAIL'} {finding.check}: {finding.reason}"
        for finding in findings
    ]
    failed = sum(not finding.passed for finding in findings)
    lines.append(f"{len(findings) - failed} of {len(findings)} checks passed")
    return "\n".join(lines)


def _directory_finding(version):
    # "." and links too.
    name = version.resolve().name
    if is_version_name(name):
        return Finding("directory", True, f"{version} is a version")
    return Finding(
        "directory",
        False,
        f"the server ignores {name!r}: a directory with saved_model.pb must be named "
        "with an integer. Rename it to 1 and serve its parent",
    )


def _load_finding(report):
    problems = [] if report.loaded else [f"{advise(report.error)}; nothing was asked"]
    return judge("load", problems, "TensorFlow's C loader loads the model")


def _with_answers(trials, report):
    missing = Answer(error=report.error or "no answer")
    answers = report.answers + [missing] * (len(trials) - len(report.answers))
    return [
        dataclasses.replace(trial, answer=answer)
        for trial, answer in zip(trials, answers, strict=True)
    ]


def _warmup_finding(version, trials, problems):
    records = [trial for trial in trials if trial.kind == "warm-up"]
    errors = {trial.answer.error for trial in records} - {""}
    problems = problems + [f"a record fails: {advise(error)}" for error in errors]
    if problems:
        problems.append("the server refuses a version whose warm-up fails")
    fine = f"{len(records)} records work"
    if not (version / WARMUP_PATH).is_file():
        fine = f"warning: there is no {WARMUP_PATH}; first requests will be slow"
    return judge("warm-up", problems, fine)
