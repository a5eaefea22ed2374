"""One vector for a text."""

import keras
from keras import ops

from zoo.layers import Pooling
from zoo.tasks.base import Task


def concatenated_layers(backbone, inputs, layers):
    """Outputs of some layers side by side, symbolic (B, L, D times their number).

    Args:
        backbone: `zoo.backbone.Backbone`.
        inputs: symbolic inputs of the backbone.
        layers: list of int, see `TextEmbedder`.

    Raises:
        ValueError: if a layer does not exist.
    """
    count = backbone.num_layer_outputs
    if not layers or any(not -count <= layer < count for layer in layers):
        raise ValueError(
            f"`layers` must be numbers in [-{count}, {count}). Received: {layers}."
        )
    hidden = backbone.with_outputs("layer_outputs")(inputs)["layer_outputs"]
    return ops.concatenate([hidden[:, layer] for layer in layers], axis=-1)


@keras.saving.register_keras_serializable(package="zoo")
class TextEmbedder(Task):
    """A vector for a text, pooled from one or more layers.

    Source: Devlin et al. 2019, section 5.3; Reimers and Gurevych 2019 for the mean.

    Args:
        backbone: `zoo.backbone.Backbone`.
        tokenizer: from `zoo.text`, or None for token ids only.
        pooling: "cls" or "mean".
        layers: list of int, layers whose outputs are concatenated; 0 is the
            embeddings (of TagLM, the first LSTMs), negative numbers count from the
            last. BERT's paper has `[-4, -3, -2, -1]`. By default the backbone's output.
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
    columns = ("text", "text_pair")
    optional_columns = ("text_pair",)
    read = None

    def __init__(
        self,
        backbone,
        tokenizer=None,
        pooling="mean",
        layers=None,
        normalize=False,
        **kwargs,
    ):
        inputs = backbone.make_inputs(backbone.config)
        if layers is None:
            sequence = backbone(inputs)["sequence_output"]
        else:
            layers = [layers] if isinstance(layers, int) else [int(i) for i in layers]
            sequence = concatenated_layers(backbone, inputs, layers)
        vector = Pooling(pooling, normalize, dtype="float32", name="pooling")(
            sequence, inputs["padding_mask"]
        )
        options = {"pooling": pooling, "layers": layers, "normalize": normalize}
        super().__init__(inputs, vector, backbone, tokenizer, options, **kwargs)

    def layers_used(self):
        """Those up to the highest layer of `layers`."""
        if self.options["layers"] is None:
            return super().layers_used()
        count = self.backbone.num_layer_outputs
        highest = max(number % count for number in self.options["layers"])
        return self.backbone.layers_for(number=highest)

    @classmethod
    def recognise(cls, found):
        """A model of sentence-transformers."""
        if not found.pooling:
            return None
        names = ("pooling", "normalize", "sequence_length")
        return {name: getattr(found, name) for name in names}

    def default_loss(self):
        """Mean squared error, to imitate given vectors."""
        return keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")

    def answers(self, outputs):
        """The vector, float32 (B, D)."""
        return {"embedding": outputs}
