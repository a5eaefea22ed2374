"""What a teacher's probabilities for texts without labels add to a small classifier.

    python -m benchmarks.tables soft_labels --data DIR

DIR has `glue/SST-2`. The labelled texts are 1,000 of its training set, and the texts
without labels are 20,000 others. With every seed:

1. "student" is a preset, fine-tuned with its defaults on the labelled texts.
2. "teacher" is a larger preset, fine-tuned in the same way.
3. "distilled" is the student, trained on the labelled texts and on the teacher's
   probabilities for the texts without labels, see `zoo.soft_labels`.

The cells are ARM-SEED, and the baseline `linear`: TF-IDF with logistic regression. The
accuracy is that on the dev set, since GLUE's test set has no labels.
"""

import numpy as np

import zoo
from benchmarks.tables.baselines import logistic_regression
from benchmarks.tables.labelled_sets import LABELLED_SETS, choose, columns
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    MINILM,
    find_source,
    free_memory,
    markdown,
    mean_interval,
)

LABELLED, UNLABELLED = LABELLED_SETS["sst2_1000"], 20_000
PRESETS = {"student": "bert_mini_en_uncased_distilled", "teacher": MINILM}
SEEDS, EPOCHS = 4, 3  # epochs of presets that name none
TITLES = {
    "linear": "TF-IDF with logistic regression",
    "student": "student, {train:,} labels",
    "distilled": "student, {train:,} labels and the teacher's {soft:,} soft labels",
    "teacher": "teacher, {train:,} labels",
}


def read_texts(run):
    """The texts of the training set that have no labels here, a list of str."""
    rows = choose(LABELLED.read(run.data, "train"))
    known = {text for text, _ in rows[: LABELLED.train]}
    texts = dict.fromkeys(text for text, _ in rows if text not in known)
    return [*texts][:UNLABELLED]


def fit(run, role, x, y, seed):
    """The preset of a role, fine-tuned with its defaults on texts and labels."""
    free_memory()
    preset = find_source(run.presets[role])
    model = zoo.from_preset(preset, "text_classifier", labels=["0", "1"], seed=seed)
    epochs = model.backbone.defaults_for(model.task_name).get("epochs", EPOCHS)
    model.fit(x, y, epochs=epochs, seed=seed, verbose=2)
    return model


def teach(run, seed):
    """What the teacher says of the test and of the texts without labels, a dict."""
    train, test = run.parts("sst2_1000", LABELLED).values()
    model = fit(run, "teacher", *columns(train), seed)
    texts = run.load("texts", lambda: read_texts(run))
    found = LABELLED.predict(model, columns(test)[0])
    return {"found": found, "soft": zoo.soft_labels(model, texts)}


def predict(run, arm, seed):
    """The labels that an arm finds for the test, and the number of soft labels."""
    train, test = run.parts("sst2_1000", LABELLED).values()
    (x, y), new = columns(train), columns(test)[0]
    if arm == "linear":
        return logistic_regression(train, new), 0
    if arm == "student":
        return LABELLED.predict(fit(run, arm, x, y, seed), new), 0
    # Trained once for both arms, or again if the command was stopped between them.
    taught = run.load(("teacher", seed), lambda: teach(run, seed))
    if arm == "teacher":
        return taught["found"], 0
    texts, soft = run.load("texts", lambda: read_texts(run)), taught["soft"]
    y = np.concatenate([np.eye(2, dtype="float32")[np.array(y, int)], soft])
    model = fit(run, "student", [*x, *texts], y, seed)
    return LABELLED.predict(model, new), len(texts)


def cells(run):
    """Cells are an arm and a seed, or None for the baseline."""
    arms = ("student", "teacher", "distilled")
    found = {f"{arm}-{seed}": (arm, seed) for seed in run.seeds(SEEDS) for arm in arms}
    return {"linear": ("linear", None), **found}


def settings(run, arm, seed):
    """The presets on which a result depends."""
    roles = {"linear": (), "student": ("student",), "teacher": ("teacher",)}
    return {role: run.presets[role] for role in roles.get(arm, PRESETS)}


def compute(run, arm, seed):
    """The accuracy of a cell, and the numbers of texts."""
    train, test = run.parts("sst2_1000", LABELLED).values()
    found, soft = predict(run, arm, seed)
    return {**LABELLED.assess(train, columns(test)[1], found), "soft": soft}


def tables(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for arm, title in TITLES.items():
        results = run.results(arm) or run.seed_results(arm, SEEDS)
        if results:
            score = mean_interval([found["score"] for found in results])
            rows.append([title.format(**results[0]), score, len(results)])
            every += results
    pairs = zip(
        *(run.seed_results(arm, SEEDS) for arm in ("distilled", "student")),
        strict=False,
    )
    if gains := [more["score"] - less["score"] for more, less in pairs]:
        rows.append(["gain of the soft labels", mean_interval(gains, "+"), len(gains)])
    return markdown(["classifier", "accuracy", "seeds"], rows, every)


TABLE = Table(
    "soft_labels",
    cells,
    compute,
    tables={"results": tables},
    presets=PRESETS,
    settings=settings,
)
