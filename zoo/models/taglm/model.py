"""TagLM: a recurrent tagger that also reads the vectors of language models."""

import dataclasses
from typing import Literal

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.checks import ranges
from zoo.layers import (
    LSTM,
    CharacterCNN,
    FirstPieces,
    InferenceModel,
    ScalarMix,
    WordEmbedding,
)

DIRECTIONS = ("forward", "backward")
# The input of a language model that reads word pieces.
PIECES = "token_ids"
# The layer of a language model that is read; None for all layers.
LM_LAYERS = {"top": -1, "mix": None}


@dataclasses.dataclass(frozen=True)
class TagLMConfig(ranges.CheckedFields):
    """Sizes and options of a TagLM.

    Source of the defaults: AllenNLP's recipe for named entities, `ner_elmo.jsonnet`; of
    `lm_positions`: Peters et al. 2017.

    Args:
        vocabulary_size: words with a vector of their own, special ones included; 0 for
            characters only.
        embedding_dim: width of a word's vector.
        num_frozen: words at the end of the vocabulary whose vectors are not trained.
        random_stddev: standard deviation of the vectors of unknown words, see
            `zoo.layers.WordEmbedding`.
        character_vocabulary_size: characters, padding (0) included.
        character_dim: width of a character's vector.
        filters: pairs of width in characters and number; () for words only.
        max_characters: characters of a word, two markers included.
        lstm_dim: width of an LSTM; each layer has two LSTMs.
        num_layers: layers of LSTMs; 0 for none.
        lm_positions: where vectors of language models are appended: 0 is the input of
            the first layer, i is the output of layer i.
        lm_layers: "top"; "mix" for a learned sum of a language model's layers, one for
            each position; the number of a layer, 0 for words without context; or a
            tuple of numbers of layers that are concatenated, such as (-4, -3, -2, -1).
        lm_mix: whether the layers of a tuple are summed with learned weights instead.
        lm_mix_l2: factor of the loss that pulls the mixes towards the mean.
        lm_trainable: whether language models are trained, too.
        lm_dropout: probability on the appended vectors, before `dropout`.
        dropout: probability on the input of every layer.
        max_sequence_length: words in a row, None for no limit.
        initializer_range: standard deviation of the kernels of task heads.

    Raises:
        ValueError: if a value is out of its range, unknown or impossible.
    """

    vocabulary_size: ranges.Count = 0
    embedding_dim: ranges.Size = 50
    num_frozen: ranges.Count = 0
    random_stddev: ranges.NotNegative | None = None
    character_vocabulary_size: ranges.Size = 262
    character_dim: ranges.Size = 16
    filters: ranges.Pairs = ((3, 128),)
    max_characters: ranges.Size = 50
    lstm_dim: ranges.Count = 200
    num_layers: ranges.OptionalLayers = 2
    lm_positions: tuple[int, ...] = (1,)
    lm_layers: Literal[(*LM_LAYERS,)] | ranges.Count | tuple[int, ...] = "top"
    lm_mix: bool = False
    lm_mix_l2: ranges.NotNegative = 0.0
    lm_trainable: bool = False
    lm_dropout: ranges.Probability = 0.0
    dropout: ranges.Probability = 0.5
    max_sequence_length: ranges.Size | None = None
    initializer_range: ranges.Positive = 0.02

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        if not all(0 <= place <= self.num_layers for place in self.lm_positions):
            raise ValueError(
                f"`lm_positions` must be from 0 to {self.num_layers}, the number of "
                f"layers. Received: {self.lm_positions}."
            )
        several = isinstance(self.lm_layers, tuple)
        if self.lm_layers == () or (self.lm_mix and not several):
            raise ValueError(
                "A tuple in `lm_layers` must have a layer number, and `lm_mix` needs a "
                f"tuple. Received: {self.lm_layers!r}, lm_mix={self.lm_mix}."
            )


@keras.saving.register_keras_serializable(package="zoo")
class TagLM(Backbone):
    """Bidirectional LSTMs over words and characters, with vectors of language models.

    `h_0 = [word; cnn(characters)]`, `h_i = [forward_i(h_{i-1}); backward_i(h_{i-1})]`.
    At the positions `lm_positions`, the vectors of language models are appended to h_i.
    Language models that are not trained run in inference mode during training, too.

    Source: Peters et al. 2017, section 2, where the top layer of the language model is
    appended after the first LSTMs. Peters et al. 2018, section 3.2, append a mix of
    layers at the input, at the output, or at both.

    Args:
        config: `TagLMConfig`.
        dtype, name: see `zoo.backbone.Backbone`.
        parts: dict of name, such as "lm_0", to a `zoo.backbone.Backbone`: the language
            models. If one reads word pieces, as BERT does, the vector of a word is that
            of its first piece, or 0 if this is truncated.

    Inputs:
        dict of word_ids int (B, L) and character_ids int (B, L, C), as the config says;
        optional padding_mask (B, L), 1 = word; the inputs of every language model
        except the mask, with its name as a prefix, such as lm_0_character_ids; and, if
        it reads word pieces, lm_0_token_ids (B, P) and lm_0_word_positions (B, L), see
        `zoo.text.TaggerTokenizer`.

    Returns:
        dict of sequence_output (B, L, D). D is twice `lstm_dim`, plus the width of the
        vectors that are appended after the last layer. `with_outputs` adds
        layer_outputs (B, N, L, 2 `lstm_dim`).

    Raises:
        ValueError: if the tagger reads no words, no characters and no language model at
            its input.

    Example:
        >>> tagger = TagLM(TagLMConfig(11, 4, lstm_dim=3, lm_positions=()))
        >>> words = {"word_ids": [[4, 5]], "character_ids": [[[1] * 50] * 2]}
        >>> words = {name: ops.array(ids, "int32") for name, ids in words.items()}
        >>> tuple(tagger(words)["sequence_output"].shape)
        (1, 2, 6)
    """

    family = "taglm"
    config_class = TagLMConfig
    on_request = ("layer_outputs",)
    derived_inputs = {
        "padding_mask": lambda ids, config: ops.cast(
            (ids if len(ids.shape) == 2 else ids[:, :, 0]) > 0, "int32"
        )
    }

    def __init__(self, config, dtype=None, name=None, parts=None, **kwargs):
        super().__init__(config, dtype, name, parts, **kwargs)
        for part in self.parts.values():
            part.trainable = config.lm_trainable
            read = {layer.name for layer in part.with_outputs("layer_outputs").layers}
            for layer_name in part.named_layers.keys() - read:
                part.named_layers[layer_name].trainable = False

    @property
    def tokens(self):
        """The name of the input from which the mask is derived."""
        names = ("word_ids", *(name for name in self.input if name != "padding_mask"))
        return next(name for name in names if name in self.input)

    def input_shapes(self, config):
        """The shapes of a row of each input, dict."""
        shapes = {"word_ids": (None,), "character_ids": (None, None)}
        if not config.filters:
            shapes.pop("character_ids")
        if not config.vocabulary_size:
            shapes.pop("word_ids")
        shapes["padding_mask"] = (None,)
        for name, part in self.parts.items():
            if part.tokens == PIECES:
                shapes[f"{name}_word_positions"] = shapes[f"{name}_{PIECES}"] = (None,)
                continue
            for key, symbol in part.make_inputs(part.config).items():
                if key != "padding_mask":
                    shapes[f"{name}_{key}"] = tuple(symbol.shape[1:])
        return shapes

    def make_layers(self, config, dtype):
        """Makes the layers by name; they are not built yet."""
        layers, named = [], {"dtype": dtype}
        if config.vocabulary_size:
            words = WordEmbedding(
                config.vocabulary_size,
                config.embedding_dim,
                config.num_frozen,
                random_stddev=config.random_stddev,
                **named,
                name="word_embedding",
            )
            layers.append(words)
        if config.filters:
            characters = CharacterCNN(
                config.filters,
                config.character_dim,
                num_highways=0,
                projection_dim=sum(number for _, number in config.filters),
                num_characters=config.character_vocabulary_size - 1,
                max_characters=config.max_characters,
                **named,
                name="character_encoder",
            )
            layers.append(characters)
        for i in range(1, config.num_layers + 1):
            for side in DIRECTIONS:
                options = {"reverse": side == "backward", "packed": True, **named}
                name = f"tagger_{side}_{i}"
                layers.append(LSTM(config.lstm_dim, **options, name=name))
        for name in ("dropout", "lm_dropout"):
            rate = getattr(config, name)
            layers.append(keras.layers.Dropout(rate, **named, name=name))
        chosen, numbers = isinstance(config.lm_layers, tuple), config.lm_layers
        layer = None if chosen else LM_LAYERS.get(numbers, numbers)
        for part in () if chosen and not config.lm_mix else self.parts:
            for place in config.lm_positions:
                options = {"l2": config.lm_mix_l2, "name": f"{part}_mix_{place}"}
                layers.append(ScalarMix(layer, **options, **named))
        return {layer.name: layer for layer in layers}

    def connect(self, config, layers, inputs, scores=False):
        """Connects the layers."""
        mask, outputs = inputs["padding_mask"], []
        found = self.read_language_models(config, inputs)
        if isinstance(config.lm_layers, tuple):
            found = {k: _chosen(v, config.lm_layers) for k, v in found.items()}
        readers = {"word_embedding": "word_ids", "character_encoder": "character_ids"}
        x = [layers[k](inputs[key]) for k, key in readers.items() if k in layers]
        if not x and not (found and 0 in config.lm_positions):
            raise ValueError(
                "A tagger must read words, characters or, at its input, a language "
                f"model. Received: vocabulary_size=0, no `filters`, {len(found)} "
                f"language models at {config.lm_positions}."
            )
        for place in range(config.num_layers + 1):
            if place:
                x = layers["dropout"](x)
                pair = [layers[f"tagger_{d}_{place}"](x, mask)[0] for d in DIRECTIONS]
                outputs.append(ops.concatenate(pair, axis=-1))
                x = outputs[-1:]
            if place in config.lm_positions:
                for name, hidden in found.items():
                    if mix := layers.get(f"{name}_mix_{place}"):
                        read = mix(hidden, mask)
                    else:
                        read = ops.concatenate(ops.unstack(hidden, axis=1), axis=-1)
                    x.append(layers["lm_dropout"](read))
            x = ops.concatenate(x, axis=-1) if len(x) > 1 else x[0]
        wired = {"sequence_output": x * ops.cast(mask, x.dtype)[:, :, None]}
        if outputs:
            wired["layer_outputs"] = ops.stack(outputs, axis=1)
        return wired

    def read_language_models(self, config, inputs):
        """Returns the layer outputs (B, N, L, D) of every language model, a dict."""
        found = {}
        for name, part in self.parts.items():
            model = part.with_outputs("layer_outputs")
            if not config.lm_trainable:
                model = InferenceModel(model, dtype=part.dtype_policy.name)
            if part.tokens == PIECES:
                ids = inputs[f"{name}_{PIECES}"][:, : part.config.max_sequence_length]
                hidden = model(part.complete({PIECES: ids}))["layer_outputs"]
                places = inputs[f"{name}_word_positions"]
                found[name] = FirstPieces(dtype=part.dtype_policy.name)(hidden, places)
                continue
            part_inputs = {
                key: inputs[key if key == "padding_mask" else f"{name}_{key}"]
                for key in part.make_inputs(part.config)
            }
            found[name] = model(part_inputs)["layer_outputs"]
        return found

    @property
    def num_layer_outputs(self):
        """The number of layers; their input has another width and is not included."""
        return self.config.num_layers

    def groups(self):
        """See `Backbone.groups`. A mix is in the group of the layer that reads it."""
        words = ("word_embedding", "character_encoder", "dropout", "lm_dropout")
        groups = [(*self.parts, *(name for name in words if name in self.named_layers))]
        for i in range(1, self.config.num_layers + 1):
            lstms = (f"tagger_{d}_{i}" for d in DIRECTIONS)
            groups.append((*self._mixes(i - 1), *lstms))
        return tuple(groups)

    @property
    def own_layers(self):
        """The mixes at the last output, on which no layer output depends."""
        return {"sequence_output": self._mixes(self.config.num_layers)}

    def _mixes(self, place):
        """Returns the names of the mixes of language models at one position."""
        found = [f"{part}_mix_{place}" for part in self.parts]
        return tuple(name for name in found if name in self.named_layers)


def _chosen(hidden, numbers):
    """Some of the layers (B, N, L, D): (B, their number, L, D)."""
    count = hidden.shape[1]
    if not all(-count <= number < count for number in numbers):
        raise ValueError(
            f"`lm_layers` must be from {-count} to {count - 1}. Received: {numbers}."
        )
    return ops.stack([hidden[:, number] for number in numbers], axis=1)
