"""Runs of `zoo finetune` with a report."""

import json

from command_line import run


def finetune(preset, data, directory, *options, code=0):
    """Runs the command; returns its output and the report, a dict."""
    arguments = ["finetune", preset, "--data", data, "--output", directory / "m.keras"]
    arguments += ["--epochs", 2, "--learning-rate", 0.01, "--batch-size", 8, *options]
    output, found = run(*arguments, code=code), directory / "m_report" / "report.json"
    return output, json.loads(found.read_text("utf-8")) if not code else None


def write_table(path, *columns, header="text\tlabel"):
    rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return path
