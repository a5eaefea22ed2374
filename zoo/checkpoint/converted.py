"""The result of converting a published checkpoint."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Converted:
    """A checkpoint in the terms of this package: read, or to be written.

    Args:
        layout: str, the layout of the published checkpoint.
        config: config of the family.
        weights: dict of path to float32 array, for the backbone and the heads.
        heads: tuple of str, some of "masked_lm_head", "next_sentence", "classifier",
            "spans" and "softmax". The paths of a head's arrays begin with its name.
        head_options: dict, the arguments of `zoo.layers.MaskedLMHead` with which the
            masked language model was trained. They are the activation and the epsilon
            of the encoder, except in keras-nlp, which always uses "gelu" and 1e-5.
        tokenizer: dict of the tokenizer's arguments, and of class_name where a family
            has several tokenizers; None if the checkpoint has no vocabulary.
        labels: tuple of str, names of the outputs of a classifier, or None.
        pooling: "mean", "cls" or None, the pooling of a sentence-transformers model.
        normalize: bool, whether the pooled vector is divided by its norm.
        sequence_length: int, the largest number of tokens of a text, or None.
        classifies: "texts", "words" or "choices", what a classifier labels; "numbers"
            if it gives a number for a text; or None.
        options: dict, the arguments of the task that was read or is to be written.
    """

    layout: str
    config: object
    weights: dict
    heads: tuple = ()
    head_options: dict = dataclasses.field(default_factory=dict)
    tokenizer: dict | None = None
    labels: tuple | None = None
    pooling: str | None = None
    normalize: bool = False
    sequence_length: int | None = None
    classifies: str | None = None
    options: dict = dataclasses.field(default_factory=dict)


def default_labels(count):
    """The names "LABEL_0", "LABEL_1" and so on, as in Hugging Face's files."""
    return tuple(f"LABEL_{number}" for number in range(count))
