"""Training with Hugging Face's transformers, on the batches of zoo."""

import shutil
import tempfile

import numpy as np
import torch
import transformers

import zoo

# The name of a task to the class of transformers, and to the prefix of its new head.
CLASSES = {
    "text_classifier": ("AutoModelForSequenceClassification", "classifier"),
    "text_regressor": ("AutoModelForSequenceClassification", "classifier"),
    "token_classifier": ("AutoModelForTokenClassification", "classifier"),
    "multiple_choice": ("AutoModelForMultipleChoice", "classifier"),
    "question_answerer": ("AutoModelForQuestionAnswering", "qa_outputs"),
}
INPUTS = {
    "token_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "padding_mask": "attention_mask",
}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IGNORED = -100  # the label of a token that does not count


def fit_with_transformers(
    model, texts, labels, *, directory, epochs, batch_size, seed, verbose=0
):
    """Trains the model of transformers that has the task of ours.

    Its batches are those of `model.fit`, in the same order. Its optimizer is PyTorch's
    AdamW with the rates, decay and clipping of ours. At the end, ours gets its weights.
    It is trained on a GPU if PyTorch sees one.
    """
    torch.manual_seed(seed)
    theirs = load(model, directory).to(DEVICE)
    order = {"shuffle": True, "seed": seed, "epochs": range(epochs)}
    batches = model.batches(texts, labels, batch_size=batch_size, **order)
    train(theirs, batches, model)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        shutil.copy(directory / "vocab.txt", folder)
        options = model.preset_record()["options"]
        trained = zoo.from_preset(folder, model.task_name, **options)
    # Some classes have no pooler; then our task does not read it either.
    own = {weight.path: weight for weight in model.weights}
    for weight in trained.weights:
        own[weight.path].assign(weight)


def load(model, directory):
    """The model of transformers for a task of ours, with a new head."""
    options = {}
    if model.task_name in ("text_classifier", "token_classifier"):
        options = {"id2label": dict(enumerate(model.labels))}
    if model.task_name == "text_regressor":
        options = {"num_labels": 1, "problem_type": "regression"}
    kind = getattr(transformers, CLASSES[model.task_name][0])
    return kind.from_pretrained(directory, **options).train()


def train(theirs, batches, model):
    """Trains a model of transformers as the optimizer of ours says."""
    settings = model.optimizer.get_config()
    schedule = settings["learning_rate"]["config"]
    groups = parameter_groups(theirs, CLASSES[model.task_name][1], settings)
    optimizer = torch.optim.AdamW(
        groups,
        lr=schedule["peak"],
        betas=(settings["beta_1"], settings["beta_2"]),
        eps=settings["epsilon"],
    )
    updates, peaks = len(batches), [group["lr"] for group in groups]
    for step, (x, y, *_) in enumerate(batches):
        share = rate_share(step, updates, schedule["warmup_share"])
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = share * peak
        optimizer.zero_grad()
        given = {**inputs_of(x), **targets_of(model.task_name, x, y.numpy())}
        given = {name: part.to(DEVICE) for name, part in given.items()}
        theirs(**given).loss.backward()
        norm = settings["global_clipnorm"]
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), norm)
        optimizer.step()


def rate_share(step, updates, warmup_share):
    """The rate of an update as a share of the peak, see `zoo.training.PlannedDecay`."""
    warmup = int(updates * warmup_share)
    return step / warmup if step < warmup else 1 - step / updates


def parameter_groups(theirs, head, settings):
    """Parameters with their peak and decay; biases and norms are not decayed."""
    groups = {}
    for name, parameter in theirs.named_parameters():
        new = name.startswith(f"{head}.")
        plain = name.endswith(".bias") or "LayerNorm" in name
        groups.setdefault((new, plain), []).append(parameter)
    peak = settings["learning_rate"]["config"]["peak"]
    return [
        {
            "params": parameters,
            "lr": peak * (settings["head_multiplier"] if new else 1.0),
            "weight_decay": 0.0 if plain else settings["weight_decay"],
        }
        for (new, plain), parameters in groups.items()
    ]


def inputs_of(x):
    """The inputs of transformers for those of ours."""
    return {
        theirs: torch.from_numpy(x[ours].numpy()).long()
        for ours, theirs in INPUTS.items()
        if ours in x
    }


def targets_of(task, x, y):
    """The labels that transformers takes, for targets of ours (B, ...)."""
    if task == "question_answerer":
        begins, ends = torch.from_numpy(y).long().T
        return {"start_positions": begins, "end_positions": ends}
    if task == "token_classifier":
        places = x["word_positions"].numpy()
        labels = np.full(x["token_ids"].shape, IGNORED)
        rows, words = np.nonzero((places >= 0) & (y >= 0))
        labels[rows, places[rows, words]] = y[rows, words]
        y = labels
    found = torch.from_numpy(y)
    return {"labels": found if task == "text_regressor" else found.long()}
