"""From a text to a text: translation and summaries."""

import keras
import numpy as np
import tensorflow as tf

from zoo.backbone.token_inputs import to_tensors
from zoo.data import Packer, bucket_length
from zoo.data.batching import XLA_SHAPES
from zoo.tasks.answering import answer_compiled
from zoo.tasks.base import Task
from zoo.tasks.files.translated_files import TranslatedFiles
from zoo.tasks.inputs.targets import as_array
from zoo.tasks.inputs.text_batches import report_truncation
from zoo.tasks.inputs.text_input import encode_text
from zoo.tasks.losses.label_smoothing import SmoothedCrossentropy
from zoo.tasks.losses.token_metrics import TokenAccuracy, TokenCrossentropy
from zoo.tasks.option_kinds import check_options
from zoo.tasks.writers.sentence_rows import SentenceRows
from zoo.tasks.writers.text_writer import TextWriter


class SourcePacker(Packer):
    """Packs the source of a model that reads a source and writes a target."""

    def inputs(self, features):
        """Returns the tokenizer's inputs with a prefix, such as encoder_token_ids."""
        inputs = self.tokenizer.inputs(features)
        return {f"encoder_{name}": value for name, value in inputs.items()}


@keras.saving.register_keras_serializable(package="zoo")
class Translator(Task):
    """Writes a text for every text.

    In training the decoder reads the target, moved by one position, and predicts its
    tokens and the end. The loss is the mean over all of them.

    Source: Vaswani et al. 2017.

    Args:
        backbone: `zoo.backbone.Backbone` with an encoder and a decoder.
        tokenizer: from `zoo.text`, with `targets` and `detokenize`.
        label_smoothing: float in [0, 1).
        smoothing_kind: str, see `losses.label_smoothing.SmoothedCrossentropy`.
        generation: dict, the defaults of `translate`, see
            `zoo.generation.GenerationOptions`. Without `extra_tokens`, a text has at
            most 50 tokens more than its source, as in the paper.
        longest_source: int, tokens of the longest sentence of the training, its end
            included, or None. Of longer ones, `translate` and `answer` warn.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), and as `y` the texts that belong to them. Those of the graph are the
        backbone's.

    Returns:
        float32 (B, T, V), logits of the token after each position of the target.

    Raises:
        ValueError: if the backbone has no decoder.

    Example:
        >>> from zoo.models.transformer import Transformer, TransformerConfig
        >>> backbone = Transformer(TransformerConfig(11, 13, 4, 1, 1, 2))
        >>> Translator(backbone).output_shape
        (None, None, 13)
    """

    task_name = "translator"
    output_kind = "logits"
    pads_targets = True
    target_spec = tf.TensorSpec([None], tf.string)
    writer_class = TextWriter
    columns = ("source",)
    packer = SourcePacker
    answers_tokens = False
    text_methods = ("translate", "answer")
    files = TranslatedFiles(pipeline_tag="translation")

    def __init__(
        self,
        backbone,
        tokenizer=None,
        label_smoothing=0.1,
        smoothing_kind="paper",
        generation=None,
        longest_source=None,
        **kwargs,
    ):
        if backbone.predicts != "target":
            raise ValueError(
                f"{type(self).__name__} needs a backbone with an encoder and a decoder."
                f" Received: one of family {backbone.family!r}."
            )
        check_options(locals())
        decoder, head = backbone.make_decoder(), backbone.make_token_head()
        inputs = decoder.make_inputs(backbone.config)
        logits = head(decoder(inputs)["decoder_sequence_output"])
        options = {
            "label_smoothing": label_smoothing,
            "smoothing_kind": smoothing_kind,
            "longest_source": longest_source,
        }
        super().__init__(inputs, logits, backbone, tokenizer, options, **kwargs)
        self.head, self.decoder = head, decoder
        self.writer = self.writer_class(self, decoder, generation)

    @classmethod
    def recognise(cls, found):
        """The options of a checkpoint that writes texts."""
        if "token_logits" not in found.heads or not found.tokenizer:
            return None
        generation = found.options.get("generation") or {}
        return {**found.options, "generation": {"extra_tokens": None, **generation}}

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others."""
        return {**to_tensors(inputs, self.input), **self.decoder.complete(inputs)}

    def translate(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Writes a translation of every text.

        Arguments, results and errors are those of
        `zoo.tasks.writers.text_writer.TextWriter.write_texts`.
        """
        return self.writer.write_texts(
            texts, batch_size, return_scores, stream, **options
        )

    def answer(self, x, batch_size=None):
        """See `Task`. Warns of texts that are too long, as `translate` does."""
        columns = self.text_columns(x)
        options = self.writer.generation_options()
        rows = SentenceRows.of_texts(columns[0], options.split_sentences)
        self.writer.read_lengths(rows.sentences, options)
        return super().answer(columns, batch_size)

    def answer_batch(self, texts):
        """The best text for each text, in a graph; see `TextWriter.write_batch`."""
        return self.writer.write_batch(texts)

    def answer_eagerly(self, texts):
        """`answer_batch`, compiled: the steps of a loop are slow if it is not."""
        return answer_compiled(self, texts)

    def default_loss(self):
        """Cross-entropy with smoothed labels, averaged over the tokens."""
        names = "label_smoothing", "smoothing_kind"
        return SmoothedCrossentropy(*(self.options[name] for name in names))

    def default_metrics(self):
        """Cross-entropy without smoothing, and accuracy."""
        return [TokenCrossentropy("crossentropy"), TokenAccuracy("accuracy")]

    def layers_used(self):
        """Names of all layers of the backbone."""
        return {*self.backbone.named_layers}

    def encode_labels(self, y, columns=None):
        """Targets as an array of strings, checked."""
        if isinstance(y, (list, tuple)):  # numpy would make texts of other values
            y = np.fromiter(y, object, len(y))
        y = as_array(y)
        wrong = [value for value in y.ravel() if not isinstance(value, (str, bytes))]
        if y.ndim != 1 or wrong:
            received = f"{wrong[0]!r:.60}" if wrong else f"an array of shape {y.shape}"
            raise ValueError(
                "`y` must be a list with one text for each text of `x`. Received: "
                f"{received}."
            )
        return np.array([*map(encode_text, y)], dtype=object)

    def row_lengths(self, rows, targets=()):
        """Tokens of the longer one of source and target, with its end.

        Warns once that some of the targets are truncated.
        """
        lengths = super().row_lengths(rows, targets)
        if targets:
            written = self.tokenizer.targets(targets[0]).row_lengths() + 1
            if self.sequence_length:
                cut = int(tf.math.count_nonzero(written > self.sequence_length))
                report_truncation(self, cut, len(written))
                written = tf.minimum(written, self.sequence_length)
            lengths = tf.maximum(lengths, tf.cast(written, lengths.dtype))
        return lengths

    def finish(self, x, y=None, weight=None):
        """An example: what the decoder reads is the target, moved by one position."""
        if y is None:
            return x
        tokens = self.tokenizer.targets(y)
        if self.sequence_length:
            tokens = tokens[:, : self.sequence_length - 1]
        rows = tf.fill([tokens.nrows(), 1], 1)
        start, end = self.tokenizer.start_id, self.tokenizer.end_id
        following = tf.concat([tokens, tf.cast(rows * end, tokens.dtype)], axis=1)
        read = tf.concat([tf.cast(rows * start, tokens.dtype), tokens], axis=1)
        lengths = following.row_lengths()
        pad = self.tokenizer.target_pad_id
        longest = tf.cast(tf.reduce_max(lengths), tf.int32)
        if self.jit_compile:  # XLA compiles anew for every length
            longest = bucket_length(longest, self.preprocessor.limit, XLA_SHAPES)
        shape = tf.stack([tf.shape(lengths)[0], longest])
        inside = tf.sequence_mask(lengths, longest, dtype=tf.float32)
        if weight is not None:
            inside *= tf.reshape(weight, (-1, 1))
        x = {**x, "decoder_token_ids": read.to_tensor(pad, shape=shape)}
        return x, following.to_tensor(pad, shape=shape), inside
