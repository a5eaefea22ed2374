"""Every number, flag and name that a layer or a part of the training takes is checked.

The arguments that are layers, models or functions are not in the table.
"""

import inspect
import re
import types
from typing import NamedTuple

import keras
import numpy as np
import pytest

from zoo import layers, training

NAN, INFINITE = float("nan"), float("inf")
OTHERS = ["1", True, NAN, INFINITE, -INFINITE, [1], {}, b"1", np.array([1, 2])]
NUMBERS = [*OTHERS, 1e39, 10**400]
INTEGERS = [*OTHERS, 1.5, 2**31, np.float64(1.5)]


class Kind(NamedTuple):
    """What an argument may not be, and what it may be."""

    wrong: list
    right: list


SIZE = Kind([*INTEGERS, 0, -1], [1, np.int64(2)])
COUNT = Kind([*INTEGERS, -1], [0, np.int32(1)])
INTEGER = Kind(INTEGERS, [-1, np.int64(0)])
NUMBER = Kind(NUMBERS, [-1.0, 0, np.float32(0.5)])
POSITIVE = Kind([*NUMBERS, 0, -1, 1e-300], [1, 0.5, np.float32(1e-3)])
NOT_NEGATIVE = Kind([*NUMBERS, -1, -1e-9], [0, 0.5, np.float32(0.25)])
PROBABILITY = Kind([*NUMBERS, -1e-9, 1, 1.0, 2], [0, 0.5, np.float32(0.25)])
SHARE = Kind([*NUMBERS, -1e-9, 1.1], [0.5, 1.0, np.float32(0.25)])
FLAG = Kind(["true", 1, 0.0, None, [], NAN], [True, np.bool_(False)])
OPTIONAL = Kind(NOT_NEGATIVE.wrong, [*NOT_NEGATIVE.right, None])
NAME = Kind(["x", "", 5, True, NAN, [], {}], [])
# Where `name` is that of an argument, and its pattern `class.name` the first to match.
KINDS = {
    r"QRNN\.window": Kind([*INTEGERS, 0, 3], [1, 2]),
    r"CharacterCNN\.filters": Kind(["a", 5, [1], [[1]], [[0, 1]], [[1, 1.5]]], []),
    r"CarriedState\.shapes": Kind(["a", 5, [1], [[0]], [[1.5]], NAN], [[[2], [3]]]),
    r"RateCurve\..*": Kind(["a", 5, ["a"], [NAN], None, [[1.0]]], []),
    r"enable_lora\.layers": Kind([*NAME.wrong, [5], ["x"]], [None]),
    r"finetuning_optimizer\.rows": COUNT,
    r"RangeTest\.updates": Kind([*INTEGERS, 1, 0], [2, np.int64(3)]),
    r"SlantedTriangle\.ratio": Kind([*NUMBERS, 0.5, -1], [1, np.float32(8)]),
    r"(InverseSquareRoot|train_steps)\.\w*steps": SIZE,
    r"(MultiHeadAttention|Transformer\w*Block)\.stddev": OPTIONAL,
    r"RegularizedLogits\.(activation|temporal)": NOT_NEGATIVE,
    r".*\.(units|projection_dim|num_heads|intermediate_dim|embedding_dim)": SIZE,
    r".*\.(num_layers|num_tokens|num_samples|num_characters|num_zero|rank)": SIZE,
    r".*\.(vocabulary_size|pool_size|max_\w+|rows|count|epochs|batch_size)": SIZE,
    r".*\.(epochs_per_group|patience|decay_steps|steps|every|average)": SIZE,
    r".*\.(num_highways|num_frozen|first|pad_id|seed|warmup_steps|updates)": COUNT,
    r"AverageWeights\.last|.*\.ema_overwrite_frequency": SIZE,
    r".*\.gradient_accumulation_steps": Kind(COUNT.wrong, [0, np.int64(2)]),
    r".*\.last": COUNT,
    r".*\.(layer|begin)": INTEGER,
    r".*\.(gate_bias|forget_bias)": NUMBER,
    r".*\.(cell_clip|projection_clip|clipnorm|clipvalue|global_clipnorm)": POSITIVE,
    r".*\.(layer_norm_epsilon|head_multiplier|alpha|lowest|highest)": POSITIVE,
    r".*\.loss_scale_factor": POSITIVE,
    r"WarmupLinearDecay\.peak": NOT_NEGATIVE,
    r".*\.peak": POSITIVE,
    r".*\.(learning_rate|weight_decay|epsilon|l2|stddev|random_stddev)": NOT_NEGATIVE,
    r".*\.(initializer_range|initial_accumulator_value)": NOT_NEGATIVE,
    r".*\.(\w*dropout|rate|beta_1|beta_2|warmup_share|cut_fraction)": PROBABILITY,
    r".*\.layer_decay": Kind([*SHARE.wrong, 0], SHARE.right),
    r".*\.ema_momentum": SHARE,
    r".*\.(reverse|packed|distinct|normalize|boundaries|causal|cross|use_bias)": FLAG,
    r".*\.(norm_first|attention_bias|bias_correction|language_model|use_ema)": FLAG,
    r".*\.latest": FLAG,
    r".*\.(activation|mode|kind|order)": NAME,
    r".*\.heads": Kind(["classifier", 5, [5], NAN], [["classifier"]]),
    r".*\.depths": Kind(["a", 5, {"a": -1}, {"a": "1"}, {5: 1}, NAN], [{"a": 1}]),
    r".*\.joined": Kind(["a", 5, [-1], [1.5], NAN], [[0]]),
}
OBJECTS = {
    *("backbone", "encoder", "model", "block", "carried", "token_embedding", "names"),
    *("score", "directory", "callbacks", "sizes", "make_dataset", "dtype", "name"),
    *("variables", "optimizer", "positions", "width"),
}


def make_model():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])


# The arguments of a valid call, or functions that make them, for what needs some.
VALID = {
    "AttentionalDecoder": {"vocabulary_size": 9, "embedding_dim": 4, "units": 4},
    "CarriedState": {"rows": 2, "shapes": [[3]]},
    "CharacterCNN": {"filters": [[1, 2]]},
    "EmbeddingDropout": {"vocabulary_size": 9, "rate": 0.5},
    "LSTM": {"units": 4, "projection_dim": 2},
    "MaskedLMHead": {"token_embedding": lambda: keras.layers.Embedding(9, 4)},
    "Maxout": {"units": 2},
    "MultiHeadAttention": {"num_heads": 2},
    "PositionEmbedding": {"max_sequence_length": 9},
    "SinusoidalPositions": {"max_sequence_length": 9},
    "QRNN": {"units": 2},
    "RegularizedLogits": {"num_tokens": 9},
    "SampledSoftmax": {"vocabulary_size": 9},
    "SplitRows": {"count": 2},
    "TokenLogits": {"num_tokens": 9},
    "TransformerBlock": {"num_heads": 2, "intermediate_dim": 4},
    "TransformerEncoderBlock": {"num_heads": 2, "intermediate_dim": 4},
    "WordEmbedding": {"vocabulary_size": 9, "embedding_dim": 4},
    "enable_lora": {"model": make_model, "rank": 2},
    "get_activation": {"name": "gelu"},
    "sinusoids": {"positions": [0], "width": 2, "kind": "paper"},
    "AdamW": {"heads": ["classifier"], "global_clipnorm": None},
    "KeepBest": {"score": max},
    "InverseSquareRoot": {"peak": 0.1},
    "PlannedDecay": {"peak": 0.1},
    "SlantedTriangle": {"peak": 0.1},
    "WarmupLinearDecay": {"peak": 0.1},
    "RangeTest": {"lowest": 1e-9, "highest": 1e9},
    "RateCurve": {"rates": (1.0,), "losses": (1.0,), "smoothed": (1.0,)},
    "finetuning_optimizer": {"backbone": None, "rows": 9},
    "layer_depths": {"backbone": None},
    "train_steps": {"model": None, "make_dataset": None, "steps": 4, "every": 2}
    | {"directory": "."},
}
KERAS = {"Adagrad": keras.optimizers.Adagrad, "AdamW": keras.optimizers.AdamW}
# What takes no such argument: a step inside of a graph, a record, a model.
WITHOUT = {
    *("AttentivePooling", "Biattention", "CausalMask", "ComparedSegments"),
    "ComparedTexts",
    *("EncoderDecoder", "FirstPieces", "InferenceModel", "KeepState", "MergeRows"),
    *("StatefulModel", "WithScores", "LayerNorm", "PlanUpdates", "empty_cache"),
    *("apply_quantization", "quantization_configs", "quantization_record"),
    *("quantization_words", "quantize_again", "quantize_layers", "quantize_model"),
    *("quantized_layers", "entry_index", "visible_entries", "is_lora"),
    *("lora_layers", "restart_lora", "RecomputedLayer", "recompute_layers"),
    *("merged_weights", "output_layer", "follow_trainable"),
}
UNBOUND = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def find_arguments():
    """Yields a callable, an argument of it and its `Kind`."""
    for module in (layers, training):
        for name in sorted({*module.__all__} - WITHOUT):
            found = getattr(module, name)
            parameters = {**inspect.signature(found).parameters}
            if name in KERAS:
                parameters |= inspect.signature(KERAS[name]).parameters
            if name == "RegularizedLogits":
                parameters |= inspect.signature(layers.TokenLogits).parameters
            for argument, parameter in parameters.items():
                objects = OBJECTS - {*VALID.get(name, ())} | {"amsgrad"}
                if parameter.kind in UNBOUND or argument in objects:
                    continue
                known = f"{name}.{argument}"
                kinds = [k for p, k in KINDS.items() if re.fullmatch(p, known)]
                if kinds or argument not in OBJECTS:
                    assert kinds, f"Add {known} to the table."
                    optional = parameter.default is None
                    yield pytest.param(found, argument, kinds[0], optional, id=known)


ARGUMENTS = [*find_arguments()]


def call(function, argument, value):
    """Calls a function or a class with one argument changed."""
    given = VALID.get(function.__name__, {}).items()
    given = {k: v() if isinstance(v, types.FunctionType) else v for k, v in given}
    return function(**{**given, argument: value})


@pytest.mark.parametrize("function, argument, kind, optional", ARGUMENTS)
def test_other_types_and_values_out_of_range_are_errors(
    function, argument, kind, optional
):
    optional |= None in kind.right
    for value in kind.wrong if optional else [*kind.wrong, None]:
        with pytest.raises(ValueError, match=f"`{argument}` must.*Received") as error:
            call(function, argument, value)
            pytest.fail(f"{argument}={value!r} was taken.")
        assert len(str(error.value)) < 300
    if not {"backbone", "make_dataset"} & VALID.get(function.__name__, {}).keys():
        for value in kind.right:
            call(function, argument, value)
