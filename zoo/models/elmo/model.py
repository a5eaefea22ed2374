"""ELMo: a bidirectional language model over characters of words."""

import dataclasses

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.layers import LSTM, CharacterCNN, ScalarMix

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
MIXES = {None: None, "bilm": 1e-12, "allennlp": 1e-13}


@dataclasses.dataclass(frozen=True)
class ELMoConfig:
    """Sizes and switches of an ELMo; the defaults are the original's.

    Source: Peters et al. 2018, section 3.4; options.json of the released models.

    Args:
        vocabulary_size: characters, the one that stands where no word is included.
        embedding_dim: width of a character's vector.
        filters: pairs of width in characters and number.
        num_highways: layers after the filters.
        activation: of the filters, "relu" or "tanh".
        max_characters: of a word, two markers included.
        lstm_dim: width of an LSTM's cell.
        projection_dim: P, width of a word's vector and of an LSTM's output; the
            output of the model has twice as many.
        num_layers: LSTMs of each direction.
        cell_clip, projection_clip: bounds of cell and output; None for none.
        residual: whether an LSTM's input is added to its output, from the second on.
        dropout: probability on the input of every LSTM and on the last output.
        mix_layer_norm: None, or "bilm" or "allennlp", whose layer norm over the whole
            batch the mix then has; see `zoo.layers.ScalarMix`.
        mix_top_only: whether the output is the last layer alone.
        mix_l2: factor of the loss that pulls the mix to the mean.
        max_sequence_length: words in a row, None for no limit.
        initializer_range: standard deviation of the kernels of task heads.

    Raises:
        ValueError: if a size is not positive, dropout not in [0, 1), or an option
            unknown.
    """

    vocabulary_size: int = 262
    embedding_dim: int = 16
    filters: tuple = FILTERS
    num_highways: int = 2
    activation: str = "relu"
    max_characters: int = 50
    lstm_dim: int = 4096
    projection_dim: int = 512
    num_layers: int = 2
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    residual: bool = True
    dropout: float = 0.1
    mix_layer_norm: str | None = None
    mix_top_only: bool = False
    mix_l2: float = 0.0
    max_sequence_length: int | None = None
    initializer_range: float = 0.02

    def __post_init__(self):
        """Checks what the layers do not; JSON's lists become tuples."""
        filters = tuple(tuple(pair) for pair in self.filters)
        object.__setattr__(self, "filters", filters)
        for name in ("vocabulary_size", "embedding_dim", "num_layers", "lstm_dim"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"`{name}` must be a positive integer. Received: {value!r}."
                )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"`dropout` must be in [0, 1). Received: {self.dropout}.")
        if self.mix_layer_norm not in MIXES:
            raise ValueError(
                f"`mix_layer_norm` must be one of {list(MIXES)}. Received: "
                f"{self.mix_layer_norm!r}."
            )


@keras.saving.register_keras_serializable(package="zoo")
class ELMo(Backbone):
    """ELMo's two language models and the mix of their layers.

    A word's vector comes from its characters; a stack of LSTMs reads them forward,
    another one backward, neither sees the other. Layer 0 is the word's vector twice,
    layer j the outputs of both LSTMs j; the output is a weighted sum of the layers.

    Source: Peters et al. 2018; released code `bilm/model.py`. Both that and
    AllenNLP's keep the LSTMs' states from one batch to the next: there a vector depends
    on what was asked before. Here every call begins at zero, unless it is given states;
    `stateful` carries them as they do.

    Args:
        config: `ELMoConfig`.
        dtype: dtype or policy name of every layer.
        name: str.

    Inputs:
        dict of character_ids int (B, L, C), the sentence's markers included; optional
        padding_mask (B, L), 1 = word, by default where the first character is not 0.

    Returns:
        dict of sequence_output (B, L, 2 P). On request, by `with_outputs`:
        layer_outputs (B, N + 1, L, 2 P), and hidden_state (B, 2 N, P) and cell_state
        (B, 2 N, D), forward layers first; the model then takes these two, too.
    """

    family = "elmo"
    config_class = ELMoConfig
    on_request = ("layer_outputs", "hidden_state", "cell_state")
    states = ("hidden_state", "cell_state")
    tokens = "character_ids"
    derived_inputs = {
        "padding_mask": lambda ids, config: ops.cast(ids[:, :, 0] > 0, "int32")
    }

    @staticmethod
    def make_inputs(config):
        """Symbolic inputs."""
        return {
            "character_ids": keras.Input(
                (None, None), dtype="int32", name="character_ids"
            ),
            "padding_mask": keras.Input((None,), dtype="int32", name="padding_mask"),
        }

    @staticmethod
    def make_states(config):
        """Symbolic inputs of the states."""
        return {
            name: keras.Input((2 * config.num_layers, width), name=name)
            for name, width in (
                ("hidden_state", config.projection_dim),
                ("cell_state", config.lstm_dim),
            )
        }

    @staticmethod
    def make_layers(config, dtype):
        """The named layers, not yet built."""
        layers = [
            CharacterCNN(
                config.filters,
                config.embedding_dim,
                config.num_highways,
                config.projection_dim,
                config.activation,
                config.vocabulary_size - 1,
                config.max_characters,
                dtype=dtype,
                name="token_encoder",
            )
        ]
        narrow = config.lstm_dim != config.projection_dim
        for direction in ("forward", "backward"):
            for i in range(config.num_layers):
                lstm = LSTM(
                    config.lstm_dim,
                    config.projection_dim if narrow else None,
                    config.cell_clip,
                    config.projection_clip if narrow else None,
                    reverse=direction == "backward",
                    packed=True,
                    dtype=dtype,
                    name=f"{direction}_{i}",
                )
                layers.append(lstm)
        layers.append(keras.layers.Dropout(config.dropout, dtype=dtype, name="dropout"))
        mix = ScalarMix(
            config.mix_top_only,
            MIXES[config.mix_layer_norm],
            config.mix_l2,
            dtype=dtype,
            name="scalar_mix",
        )
        return {layer.name: layer for layer in [*layers, mix]}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Wires the layers."""
        mask = inputs["padding_mask"]
        words = layers["token_encoder"](inputs["character_ids"])
        dropout = layers["dropout"]
        directions, states = [], []
        for direction in ("forward", "backward"):
            x, outputs = words, []
            stack = [v for k, v in layers.items() if k.startswith(f"{direction}_")]
            for i, lstm in enumerate(stack):
                x = dropout(x)
                y, *after = lstm(x, mask, _state(inputs, len(states)))
                x = x + y if i and config.residual else y
                outputs.append(x)
                states.append(after)
            outputs[-1] = dropout(outputs[-1])
            directions.append(outputs)
        words = words * ops.cast(mask, words.dtype)[:, :, None]
        pairs = [(words, words), *zip(*directions, strict=True)]
        hidden = ops.stack([ops.concatenate(p, axis=-1) for p in pairs], axis=1)
        if config.mix_layer_norm == "bilm":
            mask = inner_words(mask)
        return {
            "sequence_output": layers["scalar_mix"](hidden, mask),
            "layer_outputs": hidden,
            "hidden_state": ops.stack([m for m, _ in states], axis=1),
            "cell_state": ops.stack([c for _, c in states], axis=1),
        }

    def stateful(self, *names):
        """The model with a memory from call to call; see `StatefulELMo`."""
        return StatefulELMo(self, names or ("sequence_output",))

    @classmethod
    def layers_above(cls, number, config):
        """The LSTMs above layer `number`, and the mix."""
        above = [i for i in range(config.num_layers) if i >= number]
        stacks = ("forward", "backward")
        return {"scalar_mix", *(f"{stack}_{i}" for stack in stacks for i in above)}


def _state(inputs, number):
    """What one LSTM begins with, or None."""
    if "hidden_state" not in inputs:
        return None
    return inputs["hidden_state"][:, number], inputs["cell_state"][:, number]


def inner_words(mask):
    """The mask without the first and the last word of each row, (B, L)."""
    following = ops.pad(mask[:, 2:], ((0, 0), (1, 1)))
    return mask * following


class StatefulELMo:
    """An ELMo whose LSTMs begin where those of the call before ended, row by row.

    The published vectors were made so: row r of a batch goes on from row r of the
    batch before, whatever its sentence was. The authors advise a few sentences to warm
    up before the vectors count.

    Args:
        elmo: `ELMo`.
        names: outputs, see `ELMo`.

    Inputs:
        as the model's. Rows beyond a smaller batch keep their states.

    Returns:
        dict of the outputs.
    """

    def __init__(self, elmo, names):
        self.elmo = elmo
        self.model = elmo.with_outputs(*names, *elmo.states)
        self.reset()

    def reset(self):
        """Forgets everything: the next call begins at zero."""
        symbols = self.elmo.make_states(self.elmo.config)
        self.states = {k: ops.zeros((0, *v.shape[1:])) for k, v in symbols.items()}

    def __call__(self, inputs):
        """Runs the model and remembers its states."""
        inputs = self.elmo.complete(inputs)
        rows = inputs["padding_mask"].shape[0]
        states = {
            name: ops.pad(state, ((0, max(rows - state.shape[0], 0)), (0, 0), (0, 0)))
            for name, state in self.states.items()
        }
        outputs = self.model({**inputs, **{k: v[:rows] for k, v in states.items()}})
        self.states = {
            name: ops.concatenate([outputs.pop(name), state[rows:]])
            for name, state in states.items()
        }
        return outputs
