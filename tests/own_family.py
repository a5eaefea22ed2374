"""A family and a task as a user writes them: a bag of embeddings, and a pair ranker.

Nothing of `zoo` is changed for them; each is registered by one call.
"""

import csv
import dataclasses

import keras
import tensorflow as tf
from keras import ops

import zoo
from zoo.backbone import Backbone
from zoo.data import Packer
from zoo.layers import Pooling
from zoo.tasks import Head, Task, register_head
from zoo.tasks.files.labelled_files import LabelledFiles
from zoo.tasks.inputs.targets import label_ids
from zoo.text import Framing, WordTokenizer


@dataclasses.dataclass(frozen=True)
class BagConfig:
    """Sizes of a bag of embeddings.

    Args:
        vocabulary_size: words, special ones included.
        hidden_dim: width of a word's vector.
        num_layers: layers that add the mean of the row.
        max_sequence_length: words in a row, None for no limit.
        initializer_range: standard deviation of the kernels of task heads.
    """

    vocabulary_size: int
    hidden_dim: int = 16
    num_layers: int = 2
    max_sequence_length: int | None = None
    initializer_range: float = 0.2


class Bag(Backbone):
    """Vectors of words, to which each layer adds `tanh(mean(x) W + b)`."""

    family = "bag"
    config_class = BagConfig
    on_request = ("layer_outputs",)
    tokens = "word_ids"

    @staticmethod
    def make_inputs(config):
        names = ("word_ids", "padding_mask")
        return {name: keras.Input((None,), dtype="int32", name=name) for name in names}

    @staticmethod
    def make_layers(config, dtype):
        size, width = config.vocabulary_size, config.hidden_dim
        layers = [
            keras.layers.Embedding(size, width, dtype=dtype, name="word_embedding"),
            Pooling("mean", dtype=dtype, name="mean"),
            *(
                keras.layers.Dense(width, "tanh", dtype=dtype, name=f"bag_{i}")
                for i in range(config.num_layers)
            ),
        ]
        return {layer.name: layer for layer in layers}

    def connect(self, config, layers, inputs, scores=False):
        mask = inputs["padding_mask"]
        x = layers["word_embedding"](inputs["word_ids"])
        x = x * ops.cast(mask, x.dtype)[:, :, None]
        hidden = [x]
        for i in range(config.num_layers):
            mean = layers["mean"](x, mask)
            added = (
                layers[f"bag_{i}"](mean)[:, None] * ops.cast(mask, x.dtype)[..., None]
            )
            x = x + added
            hidden.append(x)
        return {"sequence_output": x, "layer_outputs": ops.stack(hidden, axis=1)}

    def groups(self):
        layers = range(self.config.num_layers)
        return ("word_embedding", "mean"), *((f"bag_{i}",) for i in layers)


class BagTokenizer(WordTokenizer):
    """Words in lower case, without markers around a text."""

    framing = Framing()

    def __init__(self, vocabulary, lowercase=True, **options):
        super().__init__(vocabulary, lowercase, **options)


class RankPacker(Packer):
    """Rows of a query with one text, and of the query with another text."""

    @property
    def own_width(self):
        return {"other_tokens": self.tokenizer.pad_id, "other_segment_ids": 0}

    def packed(self, texts):
        query, *candidates = texts
        pairs = [super(RankPacker, self).packed((query, text)) for text in candidates]
        (first, cut), (second, other_cut) = pairs
        others = {f"other_{name}": rows for name, rows in second.items()}
        return {**first, **others}, cut | other_cut

    def inputs(self, features):
        tokens = features.pop("other_tokens")
        other = {
            "tokens": tokens,
            "segment_ids": features.pop("other_segment_ids"),
            "padding_mask": tf.cast(tokens != self.tokenizer.pad_id, tf.int32),
        }
        named = {"first": features, "second": other}
        return {
            f"{side}_{name}": value
            for side, own in named.items()
            for name, value in self.tokenizer.inputs(own).items()
        }


@register_head
@dataclasses.dataclass(frozen=True, kw_only=True)
class MaxHead(Head):
    """A dense layer on the scaled maximum over all tokens."""

    name = "max"

    scale: float = 1.0

    def vector(self, backbone, inputs):
        pooling = Pooling("max", dtype=backbone.dtype_policy, name="pooling")
        sequence = backbone(inputs)["sequence_output"]
        return self.scale * pooling(sequence, inputs["padding_mask"])


class RankedFiles(LabelledFiles):
    """Tables of queries with two texts and the name of the better one."""

    def read(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        columns = tuple([row[name] for row in rows] for name in PairRanker.columns)
        return columns, [row["better"] for row in rows]


class PairRanker(Task):
    """Which of two texts answers a query better.

    `margin = score(query, first) - score(query, second)`, the score a dense layer on
    the mean of the row. The target is 1 if the first text is better, else 0.
    """

    task_name = "pair_ranker"
    columns = ("query", "first", "second")
    files = RankedFiles()
    encodes = True  # also the encoder of a translator
    packer = RankPacker
    labels = ("second", "first")
    target_spec = tf.TensorSpec([None, 1], tf.float32)

    def __init__(self, backbone, tokenizer=None, **kwargs):
        pooling = Pooling("mean", dtype=backbone.dtype_policy, name="pooling")
        dense = keras.layers.Dense(1, dtype="float32", name="ranking")
        inputs, scores = {}, []
        for side in ("first", "second"):
            own = {
                name: keras.Input(x.shape[1:], dtype=x.dtype, name=f"{side}_{name}")
                for name, x in backbone.make_inputs(backbone.config).items()
            }
            inputs |= {f"{side}_{name}": x for name, x in own.items()}
            vectors = backbone(own)["sequence_output"]
            scores.append(dense(pooling(vectors, own["padding_mask"])))
        margin = scores[0] - scores[1]
        super().__init__(inputs, margin, backbone, tokenizer, {}, **kwargs)

    def complete(self, inputs):
        return inputs

    def default_loss(self):
        return keras.losses.BinaryCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def default_metrics(self):
        return [keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)]

    def encode_labels(self, y, columns=None):
        return label_ids(y, self.labels).astype("float32").reshape(-1, 1)

    def answers(self, outputs):
        margin = tf.squeeze(outputs, -1)
        better = tf.gather(tf.constant(self.labels), tf.cast(margin > 0, tf.int32))
        return {"better": better, "margin": margin}


zoo.register_family(
    zoo.Family(backbone=Bag, tokenizers=(BagTokenizer,), learning_rate=1e-2)
)
zoo.register_task(PairRanker)
