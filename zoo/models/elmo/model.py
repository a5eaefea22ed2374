"""ELMo: a bidirectional language model that reads the characters of words."""

import dataclasses
from typing import Literal

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.checks import ranges
from zoo.layers import LSTM, CharacterCNN, ScalarMix, get_activation

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
DIRECTIONS = ("forward", "backward")
MIXES = {None: None, "bilm": 1e-12, "allennlp": 1e-13}


@dataclasses.dataclass(frozen=True)
class ELMoConfig(ranges.CheckedFields):
    """Sizes and options of an ELMo. The defaults are those of the original model.

    Source: Peters et al. 2018, section 3.4; options.json of the released models.

    Args:
        vocabulary_size: characters, padding (0) included.
        embedding_dim: width of a character's vector.
        filters: pairs of width in characters and number.
        num_highways: highway layers after the filters.
        activation: activation of the filters, "relu" or "tanh".
        max_characters: characters of a word, two markers included.
        lstm_dim: width of an LSTM's cell.
        projection_dim: P, width of a word's vector and of an LSTM's output.
        num_layers: LSTMs of each direction.
        cell_clip, projection_clip: bounds of cell and output; None for no clipping.
        residual: whether every LSTM but the first adds its input to its output.
        dropout: probability on the input of every LSTM and on the last output.
        mix_layer_norm: None, "bilm" or "allennlp": the program whose layer norm over
            the whole batch the mix has, see `zoo.layers.ScalarMix`.
        mix_top_only: whether the output is the last layer alone.
        mix_l2: factor of the loss that pulls the mix towards the mean.
        max_sequence_length: words in a row, None for no limit.
        initializer_range: standard deviation of the kernels of task heads.
        pad_character: id that pads a word; None for the last id.
        word_vocabulary_size: words in an additional table of vectors, as in
            ELMoForManyLangs; 0 for no table and no input word_ids.
        word_dim: width of a vector in this table.

    Raises:
        ValueError: if a size is not positive, or another value is not allowed.
    """

    vocabulary_size: ranges.Size = 262
    embedding_dim: ranges.Size = 16
    filters: ranges.Pairs = FILTERS
    num_highways: ranges.OptionalLayers = 2
    activation: str = "relu"
    max_characters: ranges.Size = 50
    lstm_dim: ranges.Size = 4096
    projection_dim: ranges.Size = 512
    num_layers: ranges.Layers = 2
    cell_clip: ranges.Positive | None = 3.0
    projection_clip: ranges.Positive | None = 3.0
    residual: bool = True
    dropout: ranges.Probability = 0.1
    mix_layer_norm: Literal["bilm", "allennlp"] | None = None
    mix_top_only: bool = False
    mix_l2: ranges.NotNegative = 0.0
    max_sequence_length: ranges.Size | None = None
    initializer_range: ranges.Positive = 0.02
    pad_character: int | None = None
    word_vocabulary_size: ranges.Count = 0
    word_dim: ranges.Size = 100

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        get_activation(self.activation)
        pad = self.pad_character
        if pad is not None and not 0 < pad < self.vocabulary_size:
            raise ValueError(
                "`pad_character` must be positive and below `vocabulary_size`, or None "
                f"for the last id. Received: {pad}, and {self.vocabulary_size}."
            )


@keras.saving.register_keras_serializable(package="zoo")
class ELMo(Backbone):
    """ELMo's two language models and the mix of their layers.

    The vector of a word is computed from its characters and, if the config has words,
    from a table: `projection([table[word], cnn(characters)])`. One stack of LSTMs reads
    the vectors forward and another one backward, independently. Layer 0 is the word's
    vector twice, layer j the outputs of both LSTMs j, the output a weighted sum.

    Source: Peters et al. 2018; released code `bilm/model.py`; Che et al. 2018 for the
    table of words (ELMoForManyLangs). The programs of both, and AllenNLP, keep the
    LSTMs' states from one batch to the next, as `stateful` does. Here every call begins
    with zero states, unless it is given states. The other rows of a batch change a row
    by rounding only, less than 1e-6.

    Args:
        config: `ELMoConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of character_ids int (B, L, C), markers of sentences included; and word_ids
        int (B, L), if the config has words. Optional padding_mask (B, L), 1 = word; by
        default, it is 1 where the first character is not 0.

    Returns:
        dict of sequence_output (B, L, 2 P). `with_outputs` adds layer_outputs
        (B, N + 1, L, 2 P), hidden_state (B, 2 N, P) and cell_state (B, 2 N, D), forward
        layers first. A model with states also takes them as inputs.

    Example:
        >>> config = ELMoConfig(filters=[[1, 6]], lstm_dim=5, projection_dim=3)
        >>> words = keras.ops.ones((1, 2, 50), "int32")
        >>> tuple(ELMo(config)(words)["sequence_output"].shape)
        (1, 2, 6)
    """

    family = "elmo"
    config_class = ELMoConfig
    on_request = ("layer_outputs", "hidden_state", "cell_state")
    own_layers = {"sequence_output": ("scalar_mix",)}
    tokens = "character_ids"
    derived_inputs = {
        "padding_mask": lambda ids, config: ops.cast(ids[:, :, 0] > 0, "int32")
    }

    def input_shapes(self, config):
        """The shapes of a row of each input, dict."""
        shapes = {"character_ids": (None, None), "padding_mask": (None,)}
        if config.word_vocabulary_size:
            shapes["word_ids"] = (None,)
        return shapes

    @property
    def predicts(self):
        """The words to predict: "both" neighbours, or None with a table of words."""
        return None if self.config.word_vocabulary_size else "both"

    @staticmethod
    def state_shapes(config):
        """Returns the shapes of the states of all LSTMs, the forward ones first."""
        widths = {"hidden_state": config.projection_dim, "cell_state": config.lstm_dim}
        return {name: (2 * config.num_layers, width) for name, width in widths.items()}

    def groups(self):
        """Returns the layers of word vectors as one group, and each layer's LSTMs."""
        words = ("token_encoder", "word_embedding", "projection", "dropout")
        layers = range(self.config.num_layers)
        lstms = (tuple(f"{side}_{i}" for side in DIRECTIONS) for i in layers)
        return tuple(name for name in words if name in self.named_layers), *lstms

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        width, layers, named = config.projection_dim, [], {"dtype": dtype}
        if config.word_vocabulary_size:
            # One projection serves both parts, so the filters have none.
            width = sum(number for _, number in config.filters)
            shape = config.word_vocabulary_size, config.word_dim
            layers = [
                keras.layers.Embedding(*shape, **named, name="word_embedding"),
                keras.layers.Dense(config.projection_dim, **named, name="projection"),
            ]
        cnn = CharacterCNN(
            config.filters,
            config.embedding_dim,
            config.num_highways,
            width,
            config.activation,
            config.vocabulary_size - 1,
            config.max_characters,
            config.pad_character,
            **named,
            name="token_encoder",
        )
        layers = [cnn, *layers]
        projection = {}
        if config.lstm_dim != config.projection_dim:
            projection["projection_dim"] = config.projection_dim
            projection["projection_clip"] = config.projection_clip
        for side in DIRECTIONS:
            for i in range(config.num_layers):
                options = {"reverse": side == "backward", **projection, **named}
                options |= {"cell_clip": config.cell_clip, "packed": True}
                layers.append(LSTM(config.lstm_dim, **options, name=f"{side}_{i}"))
        layers.append(keras.layers.Dropout(config.dropout, **named, name="dropout"))
        layer, epsilon = (
            -1 if config.mix_top_only else None,
            MIXES[config.mix_layer_norm],
        )
        mix = ScalarMix(layer, epsilon, config.mix_l2, **named, name="scalar_mix")
        return {layer.name: layer for layer in [*layers, mix]}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers."""
        mask = inputs["padding_mask"]
        words = inputs.get("token_vectors")
        if words is None:
            words = cls.encode_words(config, layers, inputs)
        directions = cls.run(config, layers, [words, words], mask, inputs)
        words = words * ops.cast(mask, words.dtype)[:, :, None]
        stacks = [outputs for outputs, _ in directions]
        pairs = [(words, words), *zip(*stacks, strict=True)]
        hidden = ops.stack([ops.concatenate(p, axis=-1) for p in pairs], axis=1)
        if config.mix_layer_norm == "bilm":
            # Without the first and the last word of each row.
            mask = mask * ops.pad(mask[:, 2:], ((0, 0), (1, 1)))
        return {
            "sequence_output": layers["scalar_mix"](hidden, mask),
            "layer_outputs": hidden,
            **_last_states(directions),
        }

    @staticmethod
    def encode_words(config, layers, inputs):
        """Returns the vectors of words without context, (B, L, P)."""
        words = layers["token_encoder"](inputs["character_ids"])
        if not config.word_vocabulary_size:
            return words
        table = layers["word_embedding"](inputs["word_ids"])
        return layers["projection"](ops.concatenate([table, words], axis=-1))

    def with_token_vectors(self, *names):
        """A model of some outputs that reads token_vectors, see `TokenVectors`."""
        vectors = keras.Input((None, self.config.projection_dim), name="token_vectors")
        mask = self.make_inputs(self.config)["padding_mask"]
        inputs = {"token_vectors": vectors, "padding_mask": mask}
        outputs = self.connect(self.config, self.named_layers, inputs)
        return keras.Model(inputs, {name: outputs[name] for name in names})

    @classmethod
    def connect_language_model(cls, config, layers, inputs):
        """Predictions (B, 2, L, P), of the next and previous word, and states."""
        if config.word_vocabulary_size:
            raise ValueError(
                "Only an ELMo that reads characters alone has a language model. "
                f"Received: a table of {config.word_vocabulary_size} words."
            )
        both = [inputs["forward_ids"], inputs["backward_ids"]]
        words = layers["token_encoder"](ops.concatenate(both, axis=0))
        words = ops.split(words, 2, axis=0)
        mask = inputs.get("padding_mask")
        directions = cls.run(config, layers, words, mask, inputs)
        tops = [outputs[-1] for outputs, _ in directions]
        return {"predictions": ops.stack(tops, axis=1), **_last_states(directions)}

    @staticmethod
    def run(config, layers, words, mask, inputs):
        """The outputs and the last states (m, c) of the LSTMs of each direction."""
        dropout, found = layers["dropout"], []
        for direction, x in zip(DIRECTIONS, words, strict=True):
            outputs, states = [], []
            stack = [v for k, v in layers.items() if k.startswith(f"{direction}_")]
            for i, lstm in enumerate(stack):
                x, state = dropout(x), None
                if "hidden_state" in inputs:
                    number = len(found) * config.num_layers + i
                    names = "hidden_state", "cell_state"
                    state = tuple(inputs[name][:, number] for name in names)
                y, *after = lstm(x, mask=mask, initial_state=state)
                x = x + y if i and config.residual else y
                outputs.append(x)
                states.append(after)
            outputs[-1] = dropout(outputs[-1])
            found.append((outputs, states))
        return found


def _last_states(directions):
    """Returns the states after the last word, forward layers first; see `ELMo`."""
    states = [state for _, after in directions for state in after]
    return {
        "hidden_state": ops.stack([m for m, _ in states], axis=1),
        "cell_state": ops.stack([c for _, c in states], axis=1),
    }
