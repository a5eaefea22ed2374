"""SentencePiece inside the TensorFlow graph, for a source and a target."""

import base64
import binascii
import hashlib
import os
import pathlib

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.files.buckets import is_address, local_path
from zoo.keras_internals import (
    ResourceHooks,
    sentencepiece_resource,
    set_resource,
)
from zoo.text.subwords.sentencepiece_model import correct_rules
from zoo.text.subwords.source_target import SourceTargetTokenizer
from zoo.text.tokenizer import Framing, checked_id


class SentencePieceTokenizer(SourceTargetTokenizer):
    """Splits texts into the pieces of a SentencePiece model, and joins them again.

    Rows end with the end token. With a `target_model`, the texts that a model writes
    have pieces and ids of their own; by default both sides share one model.

    Source: Kudo and Richardson 2018; Sennrich et al. 2016 for byte-pair encoding. All
    operations belong to TensorFlow Text, and TF Serving has them.
    `keras_nlp.tokenizers.SentencePieceTokenizer` cannot be exported: its model is not
    tracked.

    Args:
        model: bytes, the content of a `.model` file; or its path; or base64, as in
            `get_config`.
        target_model: as `model`, or None.

    Attributes:
        pad_id, start_id, end_id: ints, the same on both sides.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file at the path.
        ValueError: if the model cannot be read, lacks one of the tokens `<pad>`, `<s>`
            and `</s>`, or both models have them at different ids.

    Example:
        >>> from zoo.text import train_sentencepiece
        >>> model = train_sentencepiece(["a cat", "a dog"], 270)
        >>> tokenizer = SentencePieceTokenizer(model)
        >>> tokenizer.detokenize(tokenizer(["a cat"])).numpy().tolist()
        [b'a cat']
    """

    files = {"model": "sentencepiece.model", "target_model": "target.model"}

    def __init__(self, model, target_model=None):
        super().__init__()
        self._model = read_model(model)
        self._target_model = target_model and read_model(target_model)
        source, target = load_model(self._model), None
        if target_model:
            target = load_model(self._target_model)
        self._set_sides(source, target)
        marks = [_marks(side) for side in (self._source, self._target)]
        if marks[0] != marks[1]:
            raise ValueError(
                "Both models must have the same special tokens. Received: ids "
                f"{marks[0]} and {marks[1]} of <pad>, <s> and </s>."
            )
        self.pad_id, self.start_id, self.end_id = marks[0]
        self.framing = Framing((), (self.end_id,), (self.end_id,))

    def _count(self, side):
        """The number of pieces, int."""
        return int(side.vocab_size())

    def _encode(self, side, texts):
        """The ids of texts on one side."""
        texts = tf.convert_to_tensor(texts, tf.string)
        if texts.shape.rank == 0:
            return side.tokenize(texts)
        return side.tokenize(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8"))

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        return self._target.detokenize(self.written(ids))

    def id_to_token(self, id, target=False):
        """Returns the piece of an id, in which ▁ is a space; see `Tokenizer`."""
        side = self._target if target else self._source
        piece = side.id_to_string(checked_id(id, self._count(side)))
        return piece.numpy().decode("utf-8", "replace")

    def get_config(self):
        """The models in base64."""
        models = {"model": self._model, "target_model": self._target_model}
        return {
            name: model and base64.b64encode(model).decode()
            for name, model in models.items()
        }


def read_model(model):
    """The content of a model, bytes; see `SentencePieceTokenizer`."""
    if isinstance(model, bytes):
        return model
    named = isinstance(model, pathlib.Path) or model.endswith((".model", ".spm"))
    # A path has at most 4,096 characters.
    if named or len(model) <= 4096 and os.path.isfile(model):
        return pathlib.Path(model).read_bytes()
    if is_address(model):
        return local_path(model).read_bytes()
    try:
        return base64.b64decode(model, validate=True)
    except binascii.Error as error:
        raise FileNotFoundError(
            "`model` must be the path of a SentencePiece model, or its content. "
            f"Received: {model!r:.80}, and there is no such file."
        ) from error


class _Model(ResourceHooks, tf.saved_model.experimental.TrackableResource):
    """A model in memory, shared by all tokenizers with the same content."""

    # TensorFlow Text gives the model to the kernel of one operation. Eager execution
    # throws the kernel away, and the model with it, when a seed is set. A name avoids
    # it.
    def __init__(self, model):
        super().__init__()
        self.model = model
        _ = self.resource_handle  # creates it

    def create(self):
        """The handle of the model in memory."""
        name = f"sentencepiece_{hashlib.sha256(self.model).hexdigest()}"
        return sentencepiece_resource(self.model, name)


def load_model(model, kind=tf.int32):
    """A tokenizer of TensorFlow Text for ids (tf.int32) or pieces (tf.string)."""
    size, model = len(model), correct_rules(model)
    with tf.init_scope(), tf.device("CPU:0"):
        try:
            resource = _Model(model)
            pieces = tf_text.SentencepieceTokenizer(model, out_type=kind)
            set_resource(pieces, resource)
            return pieces
        except (tf.errors.OpError, ValueError) as error:
            raise ValueError(
                f"`model` must be a SentencePiece model. Received: {size} bytes "
                f"that cannot be read: {error}"
            ) from error


def _marks(pieces):
    """The ids of padding, start and end."""
    names = ("<pad>", "<s>", "</s>")
    ids = [int(i) for i in pieces.string_to_id(list(names))]
    known = [name.decode() for name in pieces.id_to_string(ids).numpy()]
    if known != list(names):
        raise ValueError(
            "A SentencePiece model must have the pieces <pad>, <s> and </s>. Received: "
            f"one without {', '.join({*names} - {*known})}."
        )
    return tuple(ids)
