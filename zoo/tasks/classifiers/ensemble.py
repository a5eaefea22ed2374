"""Several text classifiers that answer as one model."""

import json
import math
import pathlib

import keras
import numpy as np
import tensorflow as tf

from zoo.backbone.saving import check_keys, save_whole
from zoo.checks.ranges import check_values
from zoo.files.buckets import local_path
from zoo.files.state_files import damaged, read_state
from zoo.files.whole_files import filling
from zoo.presets import is_address
from zoo.serving import write_version
from zoo.serving.versions import check_version
from zoo.tasks.answering import answer_texts
from zoo.tasks.classifiers.text_classifier import TextClassifier
from zoo.tasks.files.class_files import ClassFiles
from zoo.tasks.files.table_answers import answer_table
from zoo.tasks.inputs.reading import read_data, read_texts
from zoo.tasks.inputs.targets import class_numbers
from zoo.tasks.inputs.texts import TokenIds
from zoo.tasks.signatures import (
    WARMUP_TEXTS,
    example_texts,
    export_facts,
    float32_clone,
    text_signature,
)

RECORD = "ensemble.json"  # of a preset directory, beside the members' directories
MAX_MEMBERS = 100  # members


@keras.saving.register_keras_serializable(package="zoo")
class TextEnsemble(keras.Model):
    """Averages the probabilities of several text classifiers.

    `p(label) = (p_1(label) + ... + p_n(label)) / n`. The members may have different
    backbones, tokenizers and lengths. Each tokenises the texts for itself. The members
    are trained one by one, before they are combined.

    `answer` and `export` are those of `TextClassifier`. `predict` returns log p. Its
    softmax is p, so it can be used like the logits of a classifier.

    Source: Howard and Ruder 2018, section 3.3: a forward and a backward model.

    Args:
        members: list of at least two `TextClassifier`, each with a tokenizer. All have
            the same labels, in any order; those of the first one give the order.
        name: str.

    Raises:
        TypeError: if a member is not a `TextClassifier`.
        ValueError: if there are fewer than two members, if the labels differ, or if a
            member has no tokenizer.

    Example:
        >>> import zoo
        >>> options = {"task": "text_classifier", "load_weights": False}
        >>> preset = "bert_mini_en_uncased_books"
        >>> members = [zoo.from_preset(preset, **options) for _ in range(2)]
        >>> logits = [[0.0, 0.0]], [[0.0, math.log(3)]]
        >>> tf.exp(TextEnsemble(members).average(logits)).numpy().round(3)
        array([[0.375, 0.625]], dtype=float32)
    """

    task_name = TextClassifier.task_name
    answers_tokens = True
    columns = TextClassifier.columns
    optional_columns = TextClassifier.optional_columns
    files = ClassFiles()

    def __init__(self, members, name="text_ensemble"):
        members = list(members)
        check_members(members)
        super().__init__(name=name)
        self.members = members
        self.labels = members[0].labels
        self.orders = [
            [member.labels.index(label) for label in self.labels] for member in members
        ]
        self.built = True

    @property
    def pair(self):
        """Whether the rows of a member have two columns."""
        return any(member.pair for member in self.members)

    @property
    def sequence_length(self):
        """The longest text of a member, in tokens; None if one has no limit."""
        lengths = [member.sequence_length for member in self.members]
        return None if None in lengths else max(lengths)

    def average(self, logits):
        """The logarithm of the mean of probabilities.

        Args:
            logits: list of float (B, C), one for each member, in the member's order.

        Returns:
            float32 tensor (B, C), in the order of `labels`.
        """
        shares = [
            tf.gather(tf.nn.log_softmax(tf.cast(part, tf.float32)), order, axis=-1)
            for part, order in zip(logits, self.orders, strict=True)
        ]
        return tf.reduce_logsumexp(tf.stack(shares), 0) - math.log(len(shares))

    def predict(self, x, batch_size=None, verbose="auto"):
        """The logarithms of the averaged probabilities.

        Args:
            x, batch_size, verbose: see `zoo.tasks.Task.predict`; `x` is text.

        Returns:
            numpy float32 (B, C), in the order of `labels`.

        Raises:
            TypeError: if `x` is not text.
        """
        data = _as_texts(read_texts(self.members[0], x))
        x = data.in_memory().columns  # a dataset may have another order each time
        parts = [member.predict(x, batch_size, verbose) for member in self.members]
        return self.average(parts).numpy()

    def evaluate(
        self, x, y=None, batch_size=None, verbose=0, sample_weight=None,
        return_dict=False,
    ):  # fmt: skip
        """The cross-entropy and the accuracy of the averaged probabilities.

        Args:
            x: texts, pairs, or a dataset of batches `(texts, labels)`, which is held
                in memory.
            y: labels. A dataset holds its own.
            batch_size, verbose: see `zoo.tasks.Task.evaluate`.
            sample_weight: float (B,), or None.
            return_dict: bool, whether the result is a dict.

        Returns:
            loss and accuracy, a list of float; or a dict.

        Raises:
            TypeError: if `x` is not text.
            ValueError: if labels are missing or unknown, or lengths differ.
        """
        data = read_data(self.members[0], (x, y, sample_weight), "evaluate")
        data = _as_texts(data).in_memory()
        truth, *weights = [target.numpy() for target in data.targets]
        weights = weights[0] if weights else np.ones(len(truth))
        shares = self.predict(data.columns, batch_size, verbose)
        numbers = class_numbers(truth)
        rows = truth if truth.ndim > 1 else np.eye(shares.shape[-1])[numbers]
        losses = -(rows * shares).sum(-1, where=rows > 0)
        right = shares.argmax(-1) == numbers
        total = weights.sum() or 1.0
        means = [float((part * weights).sum() / total) for part in (losses, right)]
        return (
            dict(zip(("loss", "accuracy"), means, strict=True))
            if return_dict
            else means
        )

    def fit(self, *args, **kwargs):
        """Raises TypeError: the members are trained before they are combined."""
        raise TypeError(
            "An ensemble cannot be trained. Call `fit` of each of its `members`."
        )

    def answer_file(self, data, output, text_column=None, pair_column=None, **options):
        """Adds answers to a table; see `zoo.tasks.Task.answer_file`."""
        return answer_table(self, data, output, text_column, pair_column, **options)

    def answer(self, x, batch_size=None):
        """Returns what the exported model answers; see `zoo.tasks.Task.answer`."""
        return answer_texts(self, x, batch_size)

    def check_columns(self, count):
        """Raises ValueError if a member does not take so many columns of texts."""
        for member in self.members:
            member.check_columns(count)

    def encode_labels(self, y):
        """Class numbers int64 (B,) from names or numbers, checked."""
        return self.members[0].encode_labels(y)

    def answers(self, outputs):
        """The answers of a classifier; see `TextClassifier`."""
        return self.members[0].answers(outputs)

    def answer_batch(self, *texts):
        """Converts string tensors (B,) to `answers`, in a graph, for an export."""
        logits = [m(m.preprocessor(texts), training=False) for m in self.members]
        return self.answers(self.average(logits))

    def export(self, directory, version=None, pair=None, warmup_texts=WARMUP_TEXTS):
        """Writes the next version of a TF Serving model, string in, answer out.

        The signature `serving_default` is that of a classifier, in float32. There is
        no signature for tokens, which differ from member to member.

        See `zoo.tasks.signatures.export_task` for arguments and errors.
        """
        check_values(bool | None, pair=pair)
        check_version(local_path(directory), version)
        texts = example_texts(warmup_texts)
        model = TextEnsemble([float32_clone(member) for member in self.members])
        pair = self.pair if pair is None else pair
        names = self.columns if pair else self.members[0].required_columns
        self.check_columns(len(names))
        signatures = {
            "serving_default": text_signature(model.answer_batch, names, texts)
        }
        tokenizers = {id(m.tokenizer): m.tokenizer for m in model.members}
        return write_version(
            directory,
            signatures,
            [*tokenizers.values()],
            version,
            extra_files=export_facts(self, names, self.labels),
        )

    def save(self, filepath, overwrite=True, zipped=None, **kwargs):
        """Writes a complete `.keras` file; see `zoo.backbone.saving.save_whole`."""
        save_whole(super().save, filepath, overwrite, zipped, **kwargs)

    def save_to_preset(self, directory, dtype="float32"):
        """Writes a directory that `zoo.from_preset` reads: a preset for each member.

        Args:
            directory: path; must not exist, or be empty. It cannot be a hub.
            dtype: "float32" or "float16", of the stored weights.

        Raises:
            FileExistsError: if the directory is not empty.
            ValueError: if a weight is not finite, or the path is an address.
        """
        if is_address(directory):
            raise ValueError(
                f"An ensemble is written to a directory. Received: {directory!r:.120}. "
                "Publish its members, or upload the directory with `huggingface_hub`."
            )
        with filling(directory) as temporary:
            for path, member in zip(
                member_paths(temporary, len(self.members)), self.members, strict=True
            ):
                member.save_to_preset(path, dtype=dtype)
            record = {"format": 1, "members": len(self.members)}
            (temporary / RECORD).write_text(json.dumps(record) + "\n", "utf-8")

    def get_config(self):
        """Plain values: the configs of the members, without their optimizers."""
        serialize = keras.saving.serialize_keras_object
        members = [serialize(member) for member in self.members]
        for member in members:
            member.pop("compile_config", None)
        return {"members": members, "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Rebuilds the model; see `get_config`."""
        check_keys(config, ("members",), cls.__name__)
        restore = keras.saving.deserialize_keras_object
        members = [restore(member) for member in config["members"]]
        return cls(members, name=config.get("name", "text_ensemble"))


def _as_texts(data):
    """Data of a user; raises TypeError unless every member can tokenise them."""
    if isinstance(data, TokenIds):
        raise TypeError(
            "An ensemble takes texts, since its members have tokens of their own. "
            f"Received: {type(data.x).__name__} without strings."
        )
    return data


def check_members(members):
    """Checks the members of an ensemble; see `TextEnsemble` for the errors."""
    for member in members:
        if not isinstance(member, TextClassifier):
            raise TypeError(
                "Every member of an ensemble must be a TextClassifier. Received: "
                f"{type(member).__name__}."
            )
    if len({id(member) for member in members}) < max(2, len(members)):
        raise ValueError(
            "An ensemble must have at least two members, each of them once. Received: "
            f"{len(members)} members."
        )
    for member in members:
        if member.options.get("multi_label"):
            raise ValueError(
                "Every member of an ensemble must give one label for a text. Received: "
                f"{member.name!r} with `multi_label=True`."
            )
        if {*member.labels} != {*members[0].labels}:
            raise ValueError(
                "All members of an ensemble must have the same labels. Received: "
                f"{list(members[0].labels)} and {list(member.labels)}."
            )
        if member.tokenizer is None:
            raise ValueError(
                "Every member of an ensemble must have a tokenizer. Received: "
                f"{member.name!r} without one. Give `tokenizer=` when you make it."
            )


def member_paths(directory, count):
    """The directories of the members in a preset, list of pathlib.Path."""
    return [pathlib.Path(directory) / f"member_{number}" for number in range(count)]


def find_members(directory):
    """The directories of the members, or None if a directory holds no ensemble.

    Raises:
        ValueError: if the record is damaged.
    """
    path = pathlib.Path(directory) / RECORD
    if not path.exists():
        return None
    what, advice = "the record of an ensemble", "Save or copy the preset again."
    record = read_state(path, what, {"format": int, "members": int}, advice)
    if not 2 <= record["members"] <= MAX_MEMBERS or record["format"] != 1:
        sizes = f"2 to {MAX_MEMBERS} members"
        reason = f"it must have format 1 and {sizes}. Received: {record!r}"
        raise damaged(path, what, reason, advice)
    return member_paths(directory, record["members"])


def ensemble_error(preset):
    """The ValueError about an ensemble where one model is needed."""
    return ValueError(
        f"The preset must be one model. Received: {preset}, which is an ensemble. "
        f"Name one of {preset}/member_*."
    )
