"""Checks whether TensorFlow Serving can serve a SavedModel, and says why if not."""

import dataclasses
import itertools
import os
import pathlib

from zoo.serving.answers import advise, check_answers
from zoo.serving.changes import describe_changes
from zoo.serving.graph import SavedGraph
from zoo.serving.lint import Finding, judge, lint
from zoo.serving.probes import make_trials, read_warmup
from zoo.serving.session import Answer, run_in_c_loader
from zoo.serving.versions import find_version, parse_version
from zoo.serving.warmup import WARMUP_PATH


def diagnose(directory, timeout=300):
    """Examines a SavedModel under the conditions of TensorFlow Serving.

    First the doctor reads what the graph declares. Then it loads the model with
    TensorFlow's C loader, in a process that does not import TensorFlow for Python. This
    process uses the CPU, and XLA is disabled, as in the server. The doctor sends these
    requests: each row alone, the first row again, all rows in one batch, the empty
    string, and the warm-up records. It does not use a real server.

    A SavedModel is a program that can read and write files. The doctor runs it.

    Args:
        directory: path of a version directory, or of a directory of versions. In the
            second case the doctor examines the newest version.
        timeout: int or float, seconds for loading and for all requests together.

    Returns:
        list of Finding. If no request was answered, there are no checks of answers.

    Raises:
        FileNotFoundError: if there is no SavedModel, or TensorFlow is not installed.
        ValueError: if the server ignores the names of all versions, or
            saved_model.pb is damaged.
    """
    version = find_version(directory)
    graph = SavedGraph(version)
    warmup, warmup_problems = read_warmup(version, graph)
    trials = make_trials(graph, warmup)
    requests = [trial.request for trial in trials]
    report = run_in_c_loader(version, graph, requests, timeout)
    findings = [_directory_finding(version)]
    findings += lint(graph, report.operations)
    failure = [] if report.loaded else [f"{advise(report.error)}; no request was sent"]
    findings.append(judge("load", failure, "TensorFlow's C loader loads the model"))
    if report.loaded:
        missing = Answer(error=report.error or "no answer")
        answered = itertools.zip_longest(trials, report.answers, fillvalue=missing)
        trials = [dataclasses.replace(trial, answer=a) for trial, a in answered]
        findings += check_answers(trials)
    findings.append(_warmup_finding(version, trials, warmup_problems))
    findings.append(Finding("clients", True, describe_changes(version)))
    return findings


def format_findings(findings):
    """Formats a list of Finding as text: a line for each, and their counts."""
    lines = [
        f"{'ok  ' if finding.passed else 'FAIL'} {finding.check}: {finding.reason}"
        for finding in findings
    ]
    failed = sum(not finding.passed for finding in findings)
    lines.append(f"{len(findings) - failed} of {len(findings)} checks passed")
    return "\n".join(lines)


def _directory_finding(version):
    # The server sees the name of a link. A path such as "." has another name.
    name = version.resolve().name
    names = [pathlib.Path(os.path.abspath(version)).name, name]
    problem = (
        f"the server ignores {name!r}: a directory with saved_model.pb must be named "
        "with an integer of at most 64 bits. Rename it to 1 and serve its parent "
        "directory"
    )
    known = any(parse_version(name) is not None for name in names)
    return judge("directory", [] if known else [problem], f"{version} is a version")


def _warmup_finding(version, trials, problems):
    records = [trial for trial in trials if trial.kind == "warm-up"]
    errors = {trial.answer.error for trial in records} - {""}
    problems = problems + [f"a record fails: {advise(error)}" for error in errors]
    if problems:
        problems.append("the server does not load a version whose warm-up fails")
    fine = f"{len(records)} records work"
    if not (version / WARMUP_PATH).is_file():
        fine = f"warning: there is no {WARMUP_PATH}; the first requests will be slow"
    return judge("warm-up", problems, fine)
