"""The files of GLUE: one TSV for each split, without quoting."""

from zoo.checks.ranges import check_choice
from zoo.files.buckets import local_path
from zoo.files.lines import read_lines
from zoo.files.whole_files import OPENERS

PAIR = ("sentence1", "sentence2")
# Task: directory, columns of text, column of labels, type of the labels.
TASKS = {
    "cola": ("CoLA", ("sentence",), "label", int),
    "sst2": ("SST-2", ("sentence",), "label", int),
    "mrpc": ("MRPC", ("#1 String", "#2 String"), "Quality", int),
    "qqp": ("QQP", ("question1", "question2"), "is_duplicate", int),
    "stsb": ("STS-B", PAIR, "score", float),
    "mnli": ("MNLI", PAIR, "gold_label", str),
    "qnli": ("QNLI", ("question", "sentence"), "label", str),
    "rte": ("RTE", PAIR, "label", str),
    "wnli": ("WNLI", PAIR, "label", int),
    "ax": ("diagnostic", PAIR, "label", str),
}
# The train and dev files of CoLA have no header.
COLA_HEADER = ["source", "label", "mark", "sentence"]


def read_glue(directory, task, split):
    """Reads a split of a GLUE task.

    Args:
        directory: str or path, with the directories CoLA, SST-2 and so on.
        task: str, "cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte", "wnli"
            or "ax".
        split: str, name of the file without `.tsv`, `.tsv.gz` or `.tsv.xz`: "train",
            "dev" or "test"; for "mnli" also "dev_matched" and so on; for "ax"
            "diagnostic".

    Returns:
        The texts, list of str, or a tuple of two lists for pairs; and a list of labels,
        or None if the file has no labels, like the test files of GLUE. Labels are int,
        float from 0 to 5 for "stsb", and str for "mnli", "qnli", "rte" and "ax".

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if there is no such task, a column is missing, or a row has a wrong
            number of columns. In "qqp", rows with too few columns are ignored, since
            the published files contain some.
    """
    folder, texts, label, convert = TASKS[check_choice("task", task, sorted(TASKS))]
    path = _find(local_path(directory) / folder, split)
    rows = [line.split("\t") for line in read_lines(path, "\n") if line.strip()]
    headless = task == "cola" and split != "test"
    header = COLA_HEADER if headless else []
    if rows and not headless:
        header = rows.pop(0)
    missing = [name for name in texts if name not in header]
    if missing:
        raise ValueError(
            f"{path} must have the columns {', '.join(missing)}. Received: {header}."
        )
    if task == "qqp":
        rows = [row for row in rows if len(row) >= len(header)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(
                f"Every row of {path} must have {len(header)} columns. Received: "
                f"{len(row)} in row {number}: {str(row)[:80]}."
            )
    columns = [[row[header.index(name)] for row in rows] for name in texts]
    labels = None
    if label in header:
        place = header.index(label)
        try:
            labels = [convert(row[place]) for row in rows]
        except ValueError as error:
            raise ValueError(
                f"A label of {path} must be of type {convert.__name__}. {error}."
            ) from error
    return columns[0] if len(columns) == 1 else tuple(columns), labels


def _find(folder, split):
    for suffix in ("", *OPENERS):
        path = folder / f"{split}.tsv{suffix}"
        if path.is_file():
            return path
    held = sorted(path.name for path in folder.glob("*"))
    raise FileNotFoundError(
        f"There is no {split}.tsv in {folder}, also not with {' or '.join(OPENERS)}. "
        f"It contains {held}."
    )
