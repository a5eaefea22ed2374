"""One vector for a text."""

import keras
from keras import ops

from zoo.layers import Pooling
from zoo.tasks.base import Task


@keras.saving.register_keras_serializable(package="zoo")
class TextEmbedder(Task):
    """A vector for a text, pooled from one or more layers.

    Source: Devlin et al. 2019, section 5.3; Reimers and Gurevych 2019 for the mean.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        pooling: "cls" or "mean".
        layers: list of int, layers whose outputs are concatenated; 0 is the
            embeddings, negative numbers count from the last. `[-1]` by default, the
            paper's best is `[-4, -3, -2, -1]`.
        normalize: bool, scale to length 1.
        **kwargs: sequence_length, pair and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,) or a pair of them; as a graph, the backbone's.

    Returns:
        float32 (B, D times the number of layers).

    Raises:
        ValueError: if a layer does not exist or the pooling is unknown.

    """

    task_name = "text_embedder"

    def __init__(
        self,
        backbone,
        tokenizer=None,
        pooling="mean",
        layers=(-1,),
        normalize=False,
        **kwargs,
    ):
        inputs = backbone.make_inputs(backbone.config)
        count = backbone.config.num_layers + 1
        layers = [layers] if isinstance(layers, int) else [int(i) for i in layers]
        if not layers or any(not -count <= layer < count for layer in layers):
            raise ValueError(
                f"`layers` must be numbers in [-{count}, {count}). Received: {layers}."
            )
        if layers == [-1]:
            sequence = backbone(inputs)["sequence_output"]
        else:
            hidden = backbone.with_outputs("layer_outputs")(inputs)["layer_outputs"]
            sequence = ops.concatenate([hidden[:, layer] for layer in layers], axis=-1)
        vector = Pooling(pooling, normalize, dtype="float32", name="pooling")(
            sequence, inputs["padding_mask"]
        )
        options = {"pooling": pooling, "layers": layers, "normalize": normalize}
        super().__init__(inputs, vector, backbone, tokenizer, options, **kwargs)

    def unused_layers(self):
        """The pooler, and the blocks above the highest layer."""
        blocks = self.backbone.config.num_layers
        highest = max(layer % (blocks + 1) for layer in self.options["layers"])
        return {"pooler", *(f"block_{index}" for index in range(highest, blocks))}

    def default_loss(self):
        """Mean squared error, to imitate given vectors."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")

    def answers(self, outputs):
        """The vector, float32 (B, D)."""
        return {"embedding": outputs}
