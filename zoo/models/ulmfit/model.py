"""The AWD-LSTM of ULMFiT (Howard and Ruder 2018)."""

import dataclasses
from typing import Literal

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.checks import ranges
from zoo.layers import LSTM, QRNN, EmbeddingDropout, RegularizedLogits
from zoo.layers.recurrent.layer_outputs import stack_outputs


@dataclasses.dataclass(frozen=True)
class ULMFiTConfig(ranges.CheckedFields):
    """The sizes and dropouts of an AWD-LSTM.

    The defaults are those of fastai's language model. The paper's layers have width
    1150; fastai uses 1152.

    Args:
        vocabulary_size: V.
        embedding_dim: width D of token vectors and of the output.
        lstm_dim: width of all recurrent layers but the last.
        num_layers: recurrent layers.
        cell: "lstm", or "qrnn" as in MultiFiT.
        reverse: whether the model reads from the last token to the first.
        output_bias: whether the logits have a bias.
        embedding_dropout: probability that a token of the vocabulary is dropped.
        input_dropout, hidden_dropout, output_dropout: probabilities of zeroing token
            vectors, what is between layers, and what is before the logits; the
            positions of a row share the mask.
        weight_dropout: probability of zeroing recurrent kernels; W in a QRNN.
        activation_regularization: alpha, see `zoo.layers.RegularizedLogits`.
        temporal_regularization: beta.
        pad_id: id of padding, or None for a vocabulary without it.
        max_sequence_length: None. An LSTM reads texts of any length.
        initializer_range: bound of the uniform initial token vectors.

    Raises:
        ValueError: if a value is out of its range.
    """

    vocabulary_size: ranges.Size = 60000
    embedding_dim: ranges.Size = 400
    lstm_dim: ranges.Size = 1152
    num_layers: ranges.Layers = 3
    cell: Literal["lstm", "qrnn"] = "lstm"
    reverse: bool = False
    output_bias: bool = True
    embedding_dropout: ranges.Probability = 0.02
    input_dropout: ranges.Probability = 0.25
    weight_dropout: ranges.Probability = 0.2
    hidden_dropout: ranges.Probability = 0.15
    output_dropout: ranges.Probability = 0.1
    activation_regularization: ranges.NotNegative = 2.0
    temporal_regularization: ranges.NotNegative = 1.0
    pad_id: int | None = 1
    max_sequence_length: ranges.Size | None = None
    initializer_range: ranges.Positive = 0.1

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        if self.pad_id is not None and not 0 <= self.pad_id < self.vocabulary_size:
            raise ValueError(
                "`pad_id` must be an id of the vocabulary, or None. Received: "
                f"{self.pad_id}, and {self.vocabulary_size} tokens."
            )


@keras.saving.register_keras_serializable(package="zoo")
class ULMFiT(Backbone):
    """An AWD-LSTM: token vectors, and LSTM layers that read in one direction.

    All dropouts act in training only. Outside training, an LSTM skips the computation
    at masked steps, which XLA cannot do. The last layer is as wide as the token
    vectors, whose table the language model shares with its logits.

    Source: Merity et al. 2018 for the model, Howard and Ruder 2018 for its transfer;
    fastai `text/models/awdlstm.py`.

    Args:
        config: `ULMFiTConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of token_ids int (B, L); optional padding_mask (B, L), 1 = token; by
        default, it is 1 where the id is not `pad_id`, and everywhere for None.

    Returns:
        dict of sequence_output (B, L, D). `with_outputs` adds layer_outputs (B, N + 1,
        L, max(D, width)), padded with zeros, and the states hidden_state_i (in a QRNN,
        the last input) and cell_state_i (B, width) of layer i. A model with states also
        takes them as inputs.

    Example:
        >>> ulmfit = ULMFiT(ULMFiTConfig(11, embedding_dim=4, lstm_dim=5))
        >>> tuple(ulmfit(keras.ops.ones((1, 3), "int32"))["sequence_output"].shape)
        (1, 3, 4)
    """

    family = "ulmfit"
    config_class = ULMFiTConfig
    on_request = ("layer_outputs",)
    derived_inputs = {
        "padding_mask": lambda ids, config: (
            ops.ones_like(ids, "int32")
            if config.pad_id is None
            else ops.cast(ops.not_equal(ids, config.pad_id), "int32")
        )
    }

    @property
    def predicts(self):
        """The next token."""
        return "next"

    @property
    def reverse(self):
        """Whether the next token is the one on the left."""
        return self.config.reverse

    @staticmethod
    def state_shapes(config):
        """The shapes of the two states of each layer."""
        shapes = {}
        for i, (width, units) in enumerate(widths(config)):
            shapes[f"hidden_state_{i}"] = (units if config.cell == "lstm" else width,)
            shapes[f"cell_state_{i}"] = (units,)
        return shapes

    def groups(self):
        """The token vectors, and each recurrent layer with the dropout before it."""
        layers = range(self.config.num_layers)
        words = ("token_embedding", "embedding_dropout", "dropout_0")
        hidden = [(f"dropout_{i}", f"rnn_{i}") for i in layers if i]
        return words, ("rnn_0",), *hidden

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        bound = config.initializer_range
        layers = [
            keras.layers.Embedding(
                config.vocabulary_size,
                config.embedding_dim,
                embeddings_initializer=keras.initializers.RandomUniform(-bound, bound),
                dtype=dtype,
                name="token_embedding",
            ),
            EmbeddingDropout(
                config.vocabulary_size,
                config.embedding_dropout,
                dtype=dtype,
                name="embedding_dropout",
            ),
        ]
        for i, (_, units) in enumerate(widths(config)):
            named = {"dtype": dtype, "name": f"rnn_{i}"}
            options = {"reverse": config.reverse, **named}
            options["weight_dropout"] = config.weight_dropout
            rate = config.hidden_dropout if i else config.input_dropout
            layers.append(
                keras.layers.SpatialDropout1D(rate, dtype=dtype, name=f"dropout_{i}")
            )
            if config.cell == "lstm":
                layers.append(LSTM(units, forget_bias=0.0, packed=True, **options))
            else:
                layers.append(QRNN(units, window=1 if i else 2, **options))
        return {layer.name: layer for layer in layers}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers."""
        # A stream has no padding, and no mask.
        ids, mask = inputs["token_ids"], inputs.get("padding_mask")
        x = layers["embedding_dropout"](layers["token_embedding"](ids), ids)
        words = x if mask is None else x * ops.cast(mask, x.dtype)[:, :, None]
        outputs, states = [words], {}
        for i in range(config.num_layers):
            names = f"hidden_state_{i}", f"cell_state_{i}"
            state = tuple(inputs[n] for n in names) if names[0] in inputs else None
            x = layers[f"dropout_{i}"](x)
            x, *after = layers[f"rnn_{i}"](x, mask=mask, initial_state=state)
            outputs.append(x)
            states.update(zip(names, after, strict=True))
        stacked = stack_outputs(outputs)
        # The copy has no Keras mask, which heads would warn about.
        x = ops.copy(x)
        return {"sequence_output": x, "layer_outputs": stacked, **states}

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """A new head that predicts tokens, see `zoo.layers.RegularizedLogits`."""
        config = self.config
        return RegularizedLogits(
            config.vocabulary_size,
            self.named_layers["token_embedding"],
            config.output_bias,
            dropout=config.output_dropout,
            activation=config.activation_regularization,
            temporal=config.temporal_regularization,
            dtype=self.dtype_policy,
            name="lm_head",
        )


def widths(config):
    """The input and the output width of each recurrent layer, list of (int, int)."""
    inner = [config.lstm_dim] * (config.num_layers - 1)
    edges = [config.embedding_dim, *inner, config.embedding_dim]
    return list(zip(edges[:-1], edges[1:], strict=True))
