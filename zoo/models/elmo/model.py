"""ELMo: a bidirectional language model over characters of words."""

import dataclasses

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.layers import LSTM, CharacterCNN, ScalarMix

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
DIRECTIONS = ("forward", "backward")
SIZES = ("vocabulary_size", "embedding_dim", "num_layers", "lstm_dim", "word_dim")
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
        pad_character: id of what fills a word up; None for the last one.
        word_vocabulary_size: words that have a vector of their own besides, as in
            ELMoForManyLangs; 0 for none, and then no input of words.
        word_dim: width of such a vector.

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
    pad_character: int | None = None
    word_vocabulary_size: int = 0
    word_dim: int = 100

    def __post_init__(self):
        """Checks what the layers do not; JSON's lists become tuples."""
        filters = tuple(tuple(pair) for pair in self.filters)
        object.__setattr__(self, "filters", filters)
        for name in SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"`{name}` must be a positive integer. Received: {value!r}."
                )
        words, pad = self.word_vocabulary_size, self.pad_character
        if not isinstance(words, int) or words < 0:
            raise ValueError(
                "`word_vocabulary_size` must be an integer from 0, 0 for no words. "
                f"Received: {words!r}."
            )
        if pad is not None and not 0 < pad < self.vocabulary_size:
            raise ValueError(
                "`pad_character` must be an id from 1 and below `vocabulary_size`, or "
                f"None for the last one. Received: {pad}, and {self.vocabulary_size}."
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

    A word's vector comes from its characters and, where the config has words, from a
    table: `projection([table[word], cnn(characters)])`. A stack of LSTMs reads the
    vectors forward, another one backward, neither sees the other. Layer 0 is the word's
    vector twice, layer j the outputs of both LSTMs j; the output is a weighted sum of
    the layers.

    Source: Peters et al. 2018; released code `bilm/model.py`; Che et al. 2018 for the
    table of words (ELMoForManyLangs). Both that code and
    AllenNLP's keep the LSTMs' states from one batch to the next: there a vector depends
    on what was asked before. Here every call begins at zero, unless it is given states;
    `stateful` carries them as they do. The other rows of a batch change a row by
    rounding only, less than 1e-6.

    Args:
        config: `ELMoConfig`.
        dtype: dtype or policy name of every layer.
        name: str.

    Inputs:
        dict of character_ids int (B, L, C), the sentence's markers included; where the
        config has words, word_ids int (B, L); optional padding_mask (B, L), 1 = word,
        by default where the first character is not 0.

    Returns:
        dict of sequence_output (B, L, 2 P). On request, by `with_outputs`:
        layer_outputs (B, N + 1, L, 2 P), and hidden_state (B, 2 N, P) and cell_state
        (B, 2 N, D), forward layers first; the model then takes these two, too.
    """

    family = "elmo"
    config_class = ELMoConfig
    on_request = ("layer_outputs", "hidden_state", "cell_state")
    own_layers = {"sequence_output": ("scalar_mix",)}
    tokens = "character_ids"
    derived_inputs = {
        "padding_mask": lambda ids, config: ops.cast(ids[:, :, 0] > 0, "int32")
    }

    @staticmethod
    def make_inputs(config):
        """Symbolic inputs."""
        shapes = {"character_ids": (None, None), "padding_mask": (None,)}
        if config.word_vocabulary_size:
            shapes["word_ids"] = (None,)
        return {
            name: keras.Input(shape, dtype="int32", name=name)
            for name, shape in shapes.items()
        }

    @property
    def predicts(self):
        """The next word and the word before; of an ELMo with a table of words, none."""
        return None if self.config.word_vocabulary_size else "both"

    @staticmethod
    def state_shapes(config):
        """Of all LSTMs, those of the forward direction first."""
        widths = {"hidden_state": config.projection_dim, "cell_state": config.lstm_dim}
        return {name: (2 * config.num_layers, width) for name, width in widths.items()}

    def groups(self):
        """What makes the vectors of words, then the two LSTMs of each layer."""
        words = ("token_encoder", "word_embedding", "projection", "dropout")
        layers = range(self.config.num_layers)
        lstms = (tuple(f"{side}_{i}" for side in DIRECTIONS) for i in layers)
        return tuple(name for name in words if name in self.named_layers), *lstms

    @staticmethod
    def make_layers(config, dtype):
        """The named layers, not yet built."""
        layers = make_word_layers(config, dtype)
        narrow = config.lstm_dim != config.projection_dim
        for direction in DIRECTIONS:
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
            -1 if config.mix_top_only else None,
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
        words = inputs.get("token_vectors")
        if words is None:
            words = cls.encode_words(config, layers, inputs)
        directions = cls.run(config, layers, [words, words], mask, inputs)
        words = words * ops.cast(mask, words.dtype)[:, :, None]
        stacks = [outputs for outputs, _ in directions]
        pairs = [(words, words), *zip(*stacks, strict=True)]
        hidden = ops.stack([ops.concatenate(p, axis=-1) for p in pairs], axis=1)
        if config.mix_layer_norm == "bilm":
            mask = inner_words(mask)
        return {
            "sequence_output": layers["scalar_mix"](hidden, mask),
            "layer_outputs": hidden,
            **_last_states(directions),
        }

    @staticmethod
    def encode_words(config, layers, inputs):
        """Vectors of words without their context, (B, L, P)."""
        words = layers["token_encoder"](inputs["character_ids"])
        if not config.word_vocabulary_size:
            return words
        table = layers["word_embedding"](inputs["word_ids"])
        return layers["projection"](ops.concatenate([table, words], axis=-1))

    def with_token_vectors(self, *names):
        """The model over words' vectors, see `zoo.models.elmo.TokenVectors`.

        Args:
            *names: str, outputs.

        Returns:
            keras.Model of dict of token_vectors (B, L, P) and padding_mask.
        """
        vectors = keras.Input((None, self.config.projection_dim), name="token_vectors")
        mask = self.make_inputs(self.config)["padding_mask"]
        inputs = {"token_vectors": vectors, "padding_mask": mask}
        outputs = self.connect(self.config, self.named_layers, inputs)
        return keras.Model(inputs, {name: outputs[name] for name in names})

    @classmethod
    def connect_language_model(cls, config, layers, inputs):
        """Wires the two language models, which may read different words.

        Args:
            config: `ELMoConfig`.
            layers: dict, from `make_layers`.
            inputs: dict of symbolic tensors: forward_ids and backward_ids int
                (B, L, C); optional padding_mask (B, L), and states as `make_states`.

        Returns:
            dict: predictions (B, 2, L, P), from which the forward model predicts the
            word after each of its words, and the backward one the word before; and
            the states.
        """
        if config.word_vocabulary_size:
            raise ValueError(
                "A language model is made of ELMo's characters only. Received: an "
                f"ELMo with a table of {config.word_vocabulary_size} words."
            )
        both = [inputs["forward_ids"], inputs["backward_ids"]]  # each word once
        words = layers["token_encoder"](ops.concatenate(both, axis=0))
        words = ops.split(words, 2, axis=0)
        mask = inputs.get("padding_mask")
        directions = cls.run(config, layers, words, mask, inputs)
        tops = [outputs[-1] for outputs, _ in directions]
        return {"predictions": ops.stack(tops, axis=1), **_last_states(directions)}

    @staticmethod
    def run(config, layers, words, mask, inputs):
        """Runs the LSTMs.

        Args:
            config, layers: as `connect`'s.
            words: vectors (B, L, P) that the forward and the backward stack read.
            mask: (B, L), or None.
            inputs: dict that may hold states.

        Returns:
            For each direction the outputs of its layers, and their last states (m, c).
        """
        dropout, found = layers["dropout"], []
        for direction, x in zip(DIRECTIONS, words, strict=True):
            outputs, states = [], []
            stack = [v for k, v in layers.items() if k.startswith(f"{direction}_")]
            for i, lstm in enumerate(stack):
                x = dropout(x)
                number = len(found) * config.num_layers + i
                y, *after = lstm(x, mask=mask, initial_state=_state(inputs, number))
                x = x + y if i and config.residual else y
                outputs.append(x)
                states.append(after)
            outputs[-1] = dropout(outputs[-1])
            found.append((outputs, states))
        return found


def make_word_layers(config, dtype):
    """The layers that make a word's vector, a list."""
    width, layers = config.projection_dim, []
    if config.word_vocabulary_size:
        # One projection of both parts, so that the filters have none.
        width = sum(number for _, number in config.filters)
        shape = config.word_vocabulary_size, config.word_dim
        layers = [
            keras.layers.Embedding(*shape, dtype=dtype, name="word_embedding"),
            keras.layers.Dense(config.projection_dim, dtype=dtype, name="projection"),
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
        dtype=dtype,
        name="token_encoder",
    )
    return [cnn, *layers]


def _state(inputs, number):
    """What one LSTM begins with, or None."""
    if "hidden_state" not in inputs:
        return None
    return inputs["hidden_state"][:, number], inputs["cell_state"][:, number]


def _last_states(directions):
    """The states after the last word, forward layers first; see `ELMo`."""
    states = [state for _, after in directions for state in after]
    return {
        "hidden_state": ops.stack([m for m, _ in states], axis=1),
        "cell_state": ops.stack([c for _, c in states], axis=1),
    }


def inner_words(mask):
    """The mask without the first and the last word of each row, (B, L)."""
    following = ops.pad(mask[:, 2:], ((0, 0), (1, 1)))
    return mask * following
