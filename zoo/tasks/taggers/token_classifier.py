"""A task with a label for every word of a text."""

import functools

import keras
import numpy as np
import tensorflow as tf

from zoo import ragged_rows
from zoo.checks.ranges import check_choice
from zoo.data import WordWindowPacker
from zoo.evaluation import allowed_transitions, span_scores
from zoo.layers import output_layer
from zoo.tasks.answering import answer_parts, compiled_function
from zoo.tasks.base import Task
from zoo.tasks.files.tagged_files import TaggedFiles
from zoo.tasks.heads.tag_decoders import TAG_DECODERS
from zoo.tasks.inputs.label_values import label_names
from zoo.tasks.inputs.reading import read_data
from zoo.tasks.inputs.targets import check_in_arrays, class_weights, label_rows
from zoo.tasks.inputs.word_weights import weighted_words, word_classes
from zoo.tasks.losses.chain import TagAccuracy
from zoo.tasks.option_kinds import check_options
from zoo.tasks.taggers.tag_targets import (
    check_words,
    dense_tags,
    encode_tags,
    numbers_of_words,
)
from zoo.tasks.taggers.tagged_words import (
    WORD_KEYS,
    label_names_of,
    spans_of_text,
    tagged_texts,
)
from zoo.tasks.taggers.word_answers import describe_words
from zoo.tasks.task_layers import check_encodes
from zoo.text.white_space import split_words


@keras.saving.register_keras_serializable(package="zoo")
class TokenClassifier(Task):
    """Predicts one of several labels for every word: parts of speech, names, chunks.

    `logits = dropout(x_first) W + b`, where x_first is the vector of the first piece of
    a word. With `decoder="crf"` the answer is the best path of a chain over the logits.

    Words are separated by white space, so split punctuation off first. A sentence is a
    str or a list of words. Its labels are a list, or a str of labels that are separated
    by white space; or with "softmax" a list or an array (W, T) of the probabilities of
    all labels, which distillation gives, see `zoo.soft_labels`. Among such rows, a
    label is one with the probability 1.

    A long text is read in windows, see `zoo.data.WordWindowPacker`. In training, each
    is a row of its own, and `batch_size` counts rows; a batch of a dataset has all
    windows of its texts. A text may be a document, so that a word is read with other
    sentences, see `documents` of `zoo.data.read_conll`.

    Source: Devlin et al. 2019, section 5.3; for the chain, Lample et al. 2016.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        labels: as of `TextClassifier`.
        decoder: "softmax" or "crf".
        scheme: "IOB1", "IOB2", "BIOES" or "BILOU" for spans, which `score` counts. With
            "crf" the answers follow the scheme. None for labels of single words.
        head_dropout: float in [0, 1), on the vector of a word.
        label_smoothing: float in [0, 1), of "softmax"; see
            `zoo.tasks.losses.class_loss.ClassLoss`.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,). The inputs of the graph are those of the backbone and word_positions
        int32 (B, W), the position of the first token of each word, -1 for padding.

    Returns:
        float32 (B, W, T) logits, or with "crf" (B, W, T, T) potentials; see
        `zoo.layers.CRF`. `answer` returns tags, scores, words, begins and ends.

    Raises:
        ValueError: if there are fewer than two labels, the decoder is unknown, or a
            label occurs twice, has white space or is not a tag of the scheme.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> backbone = BERT(BERTConfig(11, 4, 1, 2, 8))
        >>> TokenClassifier(backbone, labels=["O", "B-PER", "I-PER"]).output_shape
        (None, None, 3)
    """

    task_name = "token_classifier"
    pads_targets = True
    padding_label = -1
    classifies = "words"
    target_spec = tf.TensorSpec([None], tf.string)
    joins_words = True
    files = TaggedFiles()
    encodes = True
    answers_tokens = False
    text_methods = ("answer", "tag", "entities")
    packer = WordWindowPacker

    def __init__(
        self,
        backbone,
        tokenizer=None,
        labels=2,
        decoder="softmax",
        scheme=None,
        head_dropout=0.1,
        label_smoothing=0.0,
        **kwargs,
    ):
        check_encodes(type(self), backbone)
        check_options(locals())
        labels = label_names(labels)
        if any(label.split() != [label] for label in labels):
            raise ValueError(
                f"`labels` must have no white space. Received: {labels}. Use "
                '`label.replace(" ", "_")`.'
            )
        self.decoder = TAG_DECODERS[check_choice("decoder", decoder, TAG_DECODERS)]
        self.allowed = scheme and allowed_transitions(labels, scheme)
        inputs = backbone.make_inputs(backbone.config)
        positions = keras.Input((None,), dtype="int32", name="word_positions")
        places = keras.ops.maximum(positions, 0)
        x = backbone.at_positions(inputs, places)["sequence_output"]
        x = keras.layers.Dropout(
            head_dropout, dtype=backbone.dtype_policy, name="head_dropout"
        )(x)
        logits = output_layer(len(labels), backbone, "classifier")(x)
        outputs = self.decoder.outputs(logits, positions >= 0)
        inputs["word_positions"] = positions
        options = {
            "labels": labels,
            "decoder": decoder,
            "scheme": scheme,
            "head_dropout": head_dropout,
        }
        if label_smoothing:
            self.decoder.check_word_losses()
            options["label_smoothing"] = label_smoothing
        super().__init__(inputs, outputs, backbone, tokenizer, options, **kwargs)
        self.labels = tuple(labels)

    @property
    def output_kind(self):
        """What the outputs are; see `Task`."""
        return self.decoder.output_kind

    @classmethod
    def recognise(cls, found):
        """The labels of a checkpoint that tags words."""
        if found.labels and found.classifies == cls.classifies:
            return {"labels": list(found.labels)}
        return None

    @classmethod
    def merge_options(cls, saved, given):
        """See `Task`. The saved scheme is left out if there are other labels."""
        labels = given.get("labels")
        if labels is not None and label_names(labels) != saved.get("labels"):
            saved = {name: value for name, value in saved.items() if name != "scheme"}
        return {**saved, **given}

    def has_saved_head(self, saved):
        """Whether a saved head fits: its labels and its decoder."""
        fits = self.decoder.fits(saved.get("decoder", "softmax"))
        return fits and super().has_saved_head(saved)

    # Training ------------------------------------------------------------------

    def default_loss(self):
        """Cross-entropy averaged over words, or with "crf" over rows."""
        return self.decoder.loss(self.options.get("label_smoothing", 0.0))

    def default_metrics(self):
        """The share of words with the correct tag."""
        return [TagAccuracy()]

    def encode_labels(self, y, columns=None):
        """The labels of each sentence, checked; see `tag_targets.encode_tags`.

        Args:
            y: for each sentence, a list of labels, or a str of them; or a list or an
                array (W, T) with the probabilities of all labels for every word.
            columns: see `Task`; there must be a label for every word.

        Raises:
            ValueError: if a label is unknown, or a word has none.
        """
        rows = label_rows(y)
        if columns is not None:
            check_words(self.tokenizer, columns, rows)
        encoded = encode_tags(rows, self.labels)
        if isinstance(encoded, tf.RaggedTensor):
            self.decoder.check_word_losses()
        return encoded

    def per_row(self, columns, rows, targets):
        """Labels of texts as those of their windows; see `TextTraining.per_row`."""
        windows, words = rows.pop("windows"), rows["word_positions"]
        if not targets:
            return rows, targets
        found = []
        for target in targets:
            if target.dtype == tf.string:  # one for each word
                parts = words.with_values(split_words(target)[0].values)
                found.append(ragged_rows.join(parts, " "))
            elif isinstance(target, tf.RaggedTensor):
                found.append(words.with_values(target.values))
            else:
                found.append(ragged_rows.repeat(target, windows))
        return rows, found

    def finish(self, x, y=None, weight=None):
        """An example: x, labels and weights; see `tag_targets.dense_tags`."""
        if y is None:
            return x
        dense, real = dense_tags(y, x["word_positions"])
        if weight is None:
            weight = tf.ones_like(real[:, 0])
        elif weight.dtype == tf.string:
            weight = numbers_of_words(weight).to_tensor(0.0, shape=tf.shape(real))
        else:
            weight = tf.reshape(weight, (-1,))
        return x, dense, self.decoder.weights(weight, real)

    def encode_class_weight(self, class_weight, labels=None, weights=None):
        """Weights of words, those of their tags; see `TextTraining`.

        A chain has no losses of words.
        """
        self.decoder.check_word_losses()
        check_in_arrays(labels)
        numbers = np.array([n for row in word_classes(labels) for n in row], int)
        factors = class_weights(class_weight, self.labels, numbers)
        return weighted_words(labels, weights, factors)

    # Answers -------------------------------------------------------------------

    def answer_batch(self, texts):
        """Tags of texts, in a graph.

        A text that is longer than a row is split into windows, see
        `zoo.data.WordWindowPacker`. The chain of "crf" covers the whole text.

        Args:
            texts: string (B,).

        Returns:
            dict of (B, W): tags string, scores float32, the probabilities of the tags,
            words string, begins and ends int32, the positions of words in characters.
            Padding is "", 0 and -1.
        """
        return describe_words(self, texts, *self.preprocessor.windows((texts,)))

    def answer_eagerly(self, texts):
        """`answer_batch`, mostly as a `tf.function`."""
        describe = functools.partial(describe_words, self)
        describe = compiled_function(self, "answer", describe, reduce_retracing=True)
        return describe(texts, *self.preprocessor.windows((texts,)))

    def tag(self, texts, batch_size=None):
        """The words of texts with their tags and positions.

        Args:
            texts: list of str, or of lists of words.
            batch_size: int, 32 by default.

        Returns:
            list with one list for each text. It has a dict for each word: word, tag,
            score, and begin and end in characters. `tag` joins a list of words with
            spaces before it counts characters.

        Raises:
            TypeError: if `texts` is one string, or not text.
        """
        found, names = {}, WORD_KEYS.values()
        for numbers, answers in answer_parts(self, texts, batch_size):
            columns = [answers[key].tolist() for key in WORD_KEYS]
            for number, *row in zip(numbers.tolist(), *columns, strict=True):
                words = (
                    dict(zip(names, word, strict=True))
                    for word in zip(*row, strict=True)
                )
                found[number] = [word for word in words if word["begin"] >= 0]
        return [found[number] for number in range(len(found))]

    def entities(self, texts, batch_size=None):
        """The spans of texts, such as names.

        Args:
            texts: one str; or list of str, or of lists of words.
            batch_size: int, 32 by default.

        Returns:
            list with a dict for each span: text, label, score, the mean probability of
            its tags, and begin and end in characters. For several texts, a list with
            one such list for each text.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: if the labels are not tags of spans, such as B-PER.
        """
        if isinstance(texts, str):
            return self.entities([texts])[0]
        rows = tagged_texts(self, texts, batch_size)
        return [spans_of_text(text, words) for text, words in rows]

    def score(self, x, y, batch_size=None):
        """Precision, recall and F1 of spans; see `zoo.evaluation.span_scores`.

        Args:
            x: texts, or lists of words.
            y: labels of every word.
            batch_size: int, 32 by default.

        Raises:
            ValueError: if labels are unknown, or a word has no label.
        """
        data = read_data(self, (x, y, None), "score")
        tagged = self.tag(data.columns, batch_size)
        found = [[word["tag"] for word in row] for row in tagged]
        return span_scores(label_names_of(self, y), found)
