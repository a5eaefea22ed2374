"""What a family's converter makes of a published checkpoint."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Converted:
    """A checkpoint in our terms: one that was read, or one to write.

    Args:
        layout: str, the layout it was read from.
        config: the family's config.
        weights: dict of path to float32 array, the backbone's and the heads'.
        heads: tuple of str, out of "masked_lm_head", "next_sentence", "classifier",
            "spans" and "softmax"; each is the first part of its arrays' paths.
        head_options: dict, arguments of `zoo.layers.MaskedLMHead` with which the
            masked language model was trained. They are the encoder's activation and
            epsilon, except in keras-nlp: there "gelu" and 1e-5, whatever the encoder.
        tokenizer: dict of the tokenizer's arguments, such as vocabulary (tuple of
            str) and lowercase (bool), or None if the checkpoint has no vocabulary.
        labels: tuple of str, names of the outputs of a classifier of texts, or None.
        pooling: "mean", "cls" or None: how a sentence-transformers model pools.
        normalize: bool, whether it then divides by the norm.
        sequence_length: int, how many tokens it reads, or None.
        classifies: "texts", "words" or "choices", or None: what the head
            "classifier" is for.
        options: dict, the arguments of the task that a model is written with.
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
