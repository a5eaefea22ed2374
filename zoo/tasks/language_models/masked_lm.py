"""The masked language model, for pretraining and for filling in masked tokens."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.number_rules import check_number
from zoo.data import Epoch, Packer, mask_tokens, untuned
from zoo.data.batching import as_written, check_epochs, epoch_numbers
from zoo.layers import output_layer
from zoo.tasks.answering import as_numpy
from zoo.tasks.base import Task
from zoo.tasks.files.text_files import TextFiles
from zoo.tasks.inputs.text_batches import read_batch
from zoo.tasks.inputs.texts import TextDataset
from zoo.tasks.losses.label_smoothing import SmoothedCrossentropy
from zoo.tasks.losses.token_metrics import TokenAccuracy, TokenCrossentropy
from zoo.tasks.option_kinds import check_options

EPOCH_SEEDS = 2**32  # distance of the masks' seeds between two epochs


def next_sentence_logits(backbone, encoded):
    """The logits of next-sentence prediction, symbolic float32 (B, 2)."""
    if "pooled_output" not in encoded:
        raise ValueError(
            "Next-sentence prediction needs a pooled output. Received: a backbone "
            "without one. Build it with `pooler=True`."
        )
    return output_layer(2, backbone, "next_sentence")(encoded["pooled_output"])


@keras.saving.register_keras_serializable(package="zoo")
class MaskedLM(Task):
    """Predicts masked tokens, with the pretrained head if the preset has one.

    `next_sentence` adds a second head, `pooled W + b`. It predicts whether the second
    text of a pair follows the first one (0) or not (1). The loss is then the sum of two
    means, one over the predicted tokens and one over the rows. `fit` on texts or pairs
    does not know which texts follow each other, so it trains the first head only.

    Source: Devlin et al. 2019, section 3.1; released code `run_pretraining.py`.

    Args:
        backbone: `zoo.backbone.Backbone` that predicts tokens.
        tokenizer: from `zoo.text`, or None for token ids only.
        mask_rate: float in (0, 1), share of tokens that `fit` masks in texts.
        max_predictions: int, P, the largest number of masked tokens in a row.
        whole_words: bool, whether to mask whole words, see `zoo.data.mask_tokens`.
        next_sentence: bool, whether there is a second head; needs a pooled output.
        head_activation: str, of the head. None for the backbone's.
        head_layer_norm_epsilon: float, of the head. None for the backbone's.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them, without labels. The inputs of the graph are those
        of the backbone and mask_positions int32 (B, P).

    Returns:
        float32 (B, P, V), logits; with `next_sentence` a dict of these as masked_lm,
        and of next_sentence float32 (B, 2). `answer` returns tokens and scores.

    Raises:
        ValueError: if the backbone predicts no tokens, the tokenizer has no token for
            masks, or `next_sentence` is True and there is no pooled output.

    Example:
        >>> import zoo
        >>> model = zoo.from_preset("bert_mini_en_uncased_books", "masked_lm")
        >>> model.fill_mask("He closed the [MASK] and went out.")[0][0][0]
        'door'
    """

    task_name = "masked_lm"
    files = TextFiles("fill-mask")
    output_kind = "logits"
    pads_targets = True
    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)
    answers_tokens = False
    text_methods = ("fill_mask", "answer")
    pretrains = True
    learning_rate = 1e-4

    def __init__(
        self,
        backbone,
        tokenizer=None,
        mask_rate=0.15,
        max_predictions=20,
        whole_words=False,
        next_sentence=False,
        head_activation=None,
        head_layer_norm_epsilon=None,
        **kwargs,
    ):
        if backbone.predicts not in ("masked", "next"):
            raise ValueError(
                "A masked language model needs a backbone that predicts tokens. "
                f"Received: one of family {backbone.family!r}, which does not. Load "
                "another preset."
            )
        if tokenizer and tokenizer.mask_id is None:
            raise ValueError(
                "A masked language model needs a tokenizer with a token for masks. "
                f"Received: {type(tokenizer).__name__}. Use `zoo.CausalLM`."
            )
        check_options(locals())
        inputs = backbone.make_inputs(backbone.config)
        positions = keras.Input((None,), dtype="int32", name="mask_positions")
        encoded = backbone.at_positions(inputs, positions)
        inputs["mask_positions"] = positions
        head = backbone.make_token_head(head_activation, head_layer_norm_epsilon)
        logits = head(encoded["sequence_output"])
        if next_sentence:
            logits = {
                "masked_lm": logits,
                "next_sentence": next_sentence_logits(backbone, encoded),
            }
        options = {
            "mask_rate": mask_rate,
            "max_predictions": max_predictions,
            "whole_words": whole_words,
            "next_sentence": next_sentence,
            "head_activation": head_activation,
            "head_layer_norm_epsilon": head_layer_norm_epsilon,
        }
        super().__init__(inputs, logits, backbone, tokenizer, options, **kwargs)
        if tokenizer:
            config = {**tokenizer.get_config(), "specials_in_text": True}
            self.mask_tokenizer = type(tokenizer).from_config(config)
            self.mask_token = tokenizer.vocabulary[tokenizer.mask_id]

    def default_loss(self):
        """Cross-entropy, averaged over the predicted positions, or over the rows."""

        def loss():
            return SmoothedCrossentropy(0.0)

        if not self.options["next_sentence"]:
            return loss()
        return {"masked_lm": loss(), "next_sentence": loss()}

    def default_metrics(self):
        """Accuracy, and with two heads the loss of each."""
        if not self.options["next_sentence"]:
            return [TokenAccuracy("accuracy")]
        return {
            name: [TokenCrossentropy("loss"), TokenAccuracy("accuracy")]
            for name in ("masked_lm", "next_sentence")
        }

    def layers_used(self):
        """Names of the layers of the sequence and, if needed, the pooled output."""
        used = super().layers_used()
        if self.options["next_sentence"]:
            used |= self.backbone.layers_for("pooled_output")
        return used

    def make_example(self, x, seed):
        """Masks tokens of a batch.

        Args:
            x: dict of int32 (B, L): token_ids with special tokens, and the other
                inputs of the backbone. With the second head also next_sentence (B,).
            seed: int (2,), of the masks.

        Returns:
            x, y int32 (B, P) and sample_weight float32 (B, P), as `fit` takes them.
            With the second head y and sample_weight are dicts of both heads.
        """
        masked = mask_tokens(
            x["token_ids"],
            self.tokenizer,
            seed,
            self.options["mask_rate"],
            self.options["max_predictions"],
            whole_words=self.options["whole_words"],
        )
        return masked_example({**x, **masked}, self.options["next_sentence"])

    def fixed_example(self, batch):
        """An example from a batch that is stored with its masks.

        Args:
            batch: dict of tensors, from `zoo.data.read_records`.

        Returns:
            what `make_example` returns.
        """
        return masked_example(dict(batch), self.options["next_sentence"])

    def make_batches(self, data, plan):
        """See `Task`; the batches are masked, and have their targets and weights."""
        epochs = check_epochs(plan.epochs)
        rows = super().make_batches(data, dataclasses.replace(plan, epochs=epochs))

        @as_written
        def example(step, x):
            seeds = tf.stack([tf.cast(plan.seed, tf.int64), step])
            return self.make_example(x, seeds)

        # The masks depend on the seed and the epoch, as the order of the rows does.
        if isinstance(epochs, Epoch):
            masked = epochs.dataset().flat_map(
                lambda epoch: rows.enumerate(epoch * EPOCH_SEEDS).map(example)
            )
            size = rows.cardinality()
            if int(size) != tf.data.UNKNOWN_CARDINALITY:
                masked = masked.apply(tf.data.experimental.assert_cardinality(size))
        elif isinstance(data, TextDataset):
            masked = rows.enumerate().map(example)
        else:
            numbers = epoch_numbers(epochs)
            count = len(rows) // len(numbers)
            steps = numbers.flat_map(
                lambda epoch: tf.data.Dataset.range(count).map(
                    lambda step: epoch * EPOCH_SEEDS + step
                )
            )
            masked = tf.data.Dataset.zip(steps, rows).map(example)
            size = tf.data.experimental.assert_cardinality(len(rows))
            masked = masked.apply(size)
        return masked.prefetch(2).with_options(untuned())

    def fill_mask(self, texts, k=5):
        """The k most probable tokens for every [MASK] in each text.

        Args:
            texts: str or list of str that contain `[MASK]`.
            k: int, at least 1. The vocabulary may have fewer tokens.

        Returns:
            list with one list for each text. It has a list for each mask, of k pairs
            (token, probability), the most probable first. For one str, its own list.

        Raises:
            TypeError: if `texts` is not text.
            ValueError: if a text has no [MASK] within the sequence length, or `k` is
                less than 1.
        """
        k = check_number("k", k)
        single = isinstance(texts, (str, bytes))
        columns = self.text_columns([texts] if single else texts)
        size = self.predict_batch_size
        filled = [
            row
            for start in range(0, len(columns[0]), size)
            for row in filled_masks(self, [c[start : start + size] for c in columns], k)
        ]
        if [] in filled:
            raise ValueError(
                f"Every text must contain {self.mask_token} within the first "
                f"{self.sequence_length} tokens. Received: "
                f"{as_numpy(columns[0])[filled.index([])]!r:.80}. Use `answer`, which "
                "accepts texts without it."
            )
        return filled[0] if single else filled

    def answer_batch(self, *texts):
        """The five most probable tokens for the first [MASK] of each text.

        Returns:
            dict of tokens string (B, 5) and scores float32 (B, 5). They are "" and 0
            for a text without a mask.
        """
        positions, best = fill_masks(self, texts, 5, most=1)
        found = positions.row_lengths()[:, None] > 0
        # One more column, so that there is a first column if no text has a mask.
        ids = tf.pad(best.indices, [[0, 0], [0, 1], [0, 0]])[:, 0]
        scores = tf.pad(best.values, [[0, 0], [0, 1], [0, 0]])[:, 0]
        tokens = tf.gather(tf.constant(self.tokenizer.vocabulary), ids)
        return {
            "tokens": tf.where(found, tokens, ""),
            "scores": tf.where(found, scores, 0.0),
        }


def masked_example(x, next_sentence):
    """x, targets and weights of the features of masked rows, a dict."""
    y, weight = x.pop("mask_ids"), x.pop("mask_weights")
    label = x.pop("next_sentence", None)
    if next_sentence:
        rows = tf.fill(tf.shape(y)[:1], 0.0 if label is None else 1.0)
        label = tf.cast(rows, tf.int32) if label is None else label
        y = {"masked_lm": y, "next_sentence": label}
        weight = {"masked_lm": weight, "next_sentence": rows}
    return x, y, weight


def filled_masks(task, columns, k):
    """`fill_mask` of a few texts; of a text without a mask, an empty list."""
    k = min(k, task.tokenizer.vocabulary_size)
    positions, best = fill_masks(task, tuple(columns), k)
    tokens = np.array(task.tokenizer.vocabulary, object)[best.indices.numpy()]
    filled = [
        [list(zip(*mask, strict=True)) for mask in zip(ids, scores, strict=True)]
        for ids, scores in zip(tokens, best.values.numpy().tolist(), strict=True)
    ]
    counts = positions.row_lengths().numpy()
    return [row[:count] for row, count in zip(filled, counts, strict=True)]


def fill_masks(task, columns, k, most=None):
    """Positions of masks, ragged (B, None), and the top k there, (B, M, k).

    With `most`, only so many masks of a text are read.
    """
    packer = Packer(task.mask_tokenizer, task.sequence_length)
    x = read_batch(task, columns, packer)
    masks = x["token_ids"] == task.tokenizer.mask_id
    places = tf.broadcast_to(tf.range(tf.shape(masks)[1])[None], tf.shape(masks))
    positions = tf.ragged.boolean_mask(places, masks)[:, :most]
    width = tf.maximum(positions.bounding_shape(axis=1), 1)
    dense = positions.to_tensor(shape=tf.stack([-1, width]))
    x["mask_positions"] = tf.cast(dense, tf.int32)
    logits = task(x, training=False)
    if task.options["next_sentence"]:
        logits = logits["masked_lm"]
    scores = tf.nn.softmax(logits)
    # The embedding may have more rows than the vocabulary has tokens.
    return positions, tf.math.top_k(scores[..., : task.tokenizer.vocabulary_size], k)
