"""What a family's converter makes of a published checkpoint."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Converted:
    """A published checkpoint in our terms.

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
        labels: tuple of str, names of the classifier's outputs, or None.
        pooling: "mean", "cls" or None: how a sentence-transformers model pools.
        normalize: bool, whether it then divides by the norm.
        sequence_length: int, how many tokens it reads, or None.
        architecture: str, Hugging Face's class, or None. It tells what a classifier
            classifies: texts, tokens ("BertForTokenClassification") or choices.
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
    architecture: str | None = None
