"""A task with one vector for a text."""

import keras
import tensorflow as tf
from keras import ops

from zoo.checks.number_rules import check_layers
from zoo.layers import Pooling
from zoo.tasks.base import Task
from zoo.tasks.files.text_files import TextFiles
from zoo.tasks.heads.pooling import check_pooled_token
from zoo.tasks.option_kinds import check_options
from zoo.tasks.task_layers import check_encodes


def concatenated_layers(backbone, inputs, layers):
    """Concatenated outputs of layers, see `TextEmbedder`: symbolic (B, L, N D)."""
    count = backbone.num_layer_outputs
    if not layers or any(not -count <= layer < count for layer in layers):
        raise ValueError(
            f"`layers` must be numbers in [-{count}, {count}). Received: {layers}. Use "
            "-1 for the last layer."
        )
    hidden = backbone.with_outputs("layer_outputs")(inputs)["layer_outputs"]
    return ops.concatenate([hidden[:, layer] for layer in layers], axis=-1)


@keras.saving.register_keras_serializable(package="zoo")
class TextEmbedder(Task):
    """Predicts a vector for a text, pooled from one or more layers.

    A pair is one row of tokens with two segments. For a vector of each text, give the
    texts in one list.

    Source: Devlin et al. 2019, section 5.3; Reimers and Gurevych 2019 for the mean.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        pooling: "cls", "last", "mean" or "max", see `zoo.layers.Pooling`. A backbone
            that reads forward, such as GPT, has no "cls", and one that reads backwards
            no "last".
        layers: list of int, layers whose outputs are concatenated. 0 is the
            embeddings (in TagLM, the first LSTMs). Negative numbers count from the
            last layer; BERT's paper has `[-4, -3, -2, -1]`. None for the backbone's
            output.
        normalize: bool, whether to scale the vector to length 1.
        **kwargs: sequence_length, pair and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them. The inputs of the graph are those of the
        backbone.

    Returns:
        float32 (B, D times the number of layers). `answer` returns embedding.

    Raises:
        ValueError: if a layer does not exist, or the pooling is unknown or gives all
            texts the same vector.

    Example:
        >>> from zoo.models.bert import BERT, BERTConfig
        >>> backbone = BERT(BERTConfig(11, 4, 2, 2, 8))
        >>> TextEmbedder(backbone, layers=[-2, -1]).output_shape
        (None, 8)
    """

    task_name = "text_embedder"
    files = TextFiles("feature-extraction")
    output_kind = "numbers"
    encodes = True
    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)

    def __init__(
        self,
        backbone,
        tokenizer=None,
        pooling="mean",
        layers=None,
        normalize=False,
        **kwargs,
    ):
        check_encodes(type(self), backbone)
        check_options({**locals(), "pooling": None})  # has more of them
        check_pooled_token(backbone, pooling)
        inputs = backbone.make_inputs(backbone.config)
        if layers is None:
            sequence = backbone(inputs)["sequence_output"]
        else:
            layers = check_layers(layers)
            sequence = concatenated_layers(backbone, inputs, layers)
        vector = Pooling(pooling, normalize, dtype="float32", name="pooling")(
            sequence, inputs["padding_mask"]
        )
        options = {"pooling": pooling, "layers": layers, "normalize": normalize}
        super().__init__(inputs, vector, backbone, tokenizer, options, **kwargs)

    def layers_used(self):
        """Names of the layers up to the highest one of `layers`."""
        if self.options["layers"] is None:
            return super().layers_used()
        count = self.backbone.num_layer_outputs
        highest = max(number % count for number in self.options["layers"])
        return self.backbone.layers_for(number=highest)

    @classmethod
    def recognise(cls, found):
        """The options of a checkpoint of sentence-transformers."""
        if not found.pooling:
            return None
        names = ("pooling", "normalize", "sequence_length")
        return {name: getattr(found, name) for name in names}

    def default_loss(self):
        """Mean squared error between the vectors and the given ones."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")

    @property
    def target_spec(self):
        """That of a vector for each text."""
        return tf.TensorSpec(self.output_shape, tf.float32)

    def encode_labels(self, y, columns=None):
        """Vectors as float32 (B, D), checked.

        Raises:
            ValueError: if a value is not finite, or the width is not that of the model.
        """
        vectors, width = super().encode_labels(y), self.output_shape[-1]
        if vectors.shape[1:] != (width,):
            raise ValueError(
                f"`y` must hold a vector of {width} numbers for each text. Received: "
                f"an array of shape {vectors.shape}. Use `np.stack(vectors)`."
            )
        return vectors

    def answers(self, outputs):
        """The vector, float32 (B, D)."""
        return {"embedding": outputs}
