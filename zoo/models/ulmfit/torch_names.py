"""The names of the weights of an AWD-LSTM in fastai and awd-lstm-lm, made equal."""

import re

import numpy as np

from zoo.checkpoint import add_biases

# A classifier's head, in all versions; "0." and "1." number encoder and head.
HEAD = "layers."
COUNTER = "num_batches_tracked"


def common_names(arrays, where):
    """Renames the arrays of a state dict to names that all versions share."""
    # `weight_hh_l0_raw` is the weight; `weight_hh_l0` beside it is a copy to which
    # dropout was applied, and is left out.
    found, raw = {}, set()
    for name in arrays:
        short = re.sub(r"(^|\.)module(?=\.)", "", name).lstrip(".")
        short = re.sub(r"^[01]\.", "", short)
        short = short.replace(".layers.0.linear.", ".linear.")
        plain = short.removesuffix("_raw")
        if plain.endswith(COUNTER) or (plain in raw and plain == short):
            continue
        if plain in found and plain == short:
            raise ValueError(
                f"{where} must hold every weight once. Received: {name!r}, and another "
                f"array that is {plain!r}."
            )
        if short.endswith("_reverse"):
            raise ValueError(
                f"{where} must hold a model that reads in one direction. Received: "
                f"{name!r}. `ULMFiT` has no layers of two directions."
            )
        raw |= {plain} - {short}
        found[plain] = arrays[name]
    return _number_layers(add_biases(found), where)


def _number_layers(arrays, where):
    """Names the layers of a classifier norm_0, linear_0, norm_1 and linear_1."""
    modules = {n.rpartition(".")[0] for n in arrays if n.startswith(HEAD)}
    if not modules:
        return arrays
    modules = sorted(modules, key=lambda m: [int(n) for n in re.findall(r"\d+", m)])
    norms = [m for m in modules if f"{m}.running_mean" in arrays]
    linears = [m for m in modules if m not in norms]
    if len(norms) != 2 or len(linears) != 2:
        raise ValueError(
            f"{where} must hold a classifier with one hidden layer and a batch norm "
            f"before each layer. Received: {len(linears)} layers, {len(norms)} norms."
        )
    new = {m: f"norm_{i}" for i, m in enumerate(norms)}
    new |= {m: f"linear_{i}" for i, m in enumerate(linears)}
    named = {}
    for name, array in arrays.items():
        module, _, last = name.rpartition(".")
        named[f"{new[module]}.{last}" if module in new else name] = array
    bias = np.zeros(len(named["linear_1.weight"]), "float32")
    named.setdefault("linear_1.bias", bias)
    bias = named.pop("linear_0.bias", None)
    if bias is not None:
        # Our hidden layer has no bias. It moves into the batch norm before the layer:
        # `W (beta + d) = W beta + b` for the solution d of `W d = b`.
        weight = named["linear_0.weight"].astype("float64")
        shift = np.linalg.lstsq(weight, bias.astype("float64"), rcond=None)[0]
        if not np.allclose(weight @ shift, bias, atol=1e-6):
            raise ValueError(
                f"{where} has a hidden layer whose bias cannot be a part of the batch "
                "norm before it, because its weights are linearly dependent."
            )
        named["norm_0.bias"] = (named["norm_0.bias"] + shift).astype("float32")
    return named
