"""The two biases of each LSTM of torch."""


def add_biases(arrays):
    """Replaces the two biases of each LSTM of torch by their sum.

    Args:
        arrays: dict of str to array, which is changed: `bias_ih_l0` and `bias_hh_l0` of
            equal shapes become `bias_l0`.

    Returns:
        dict of str to array.
    """
    for name in [name for name in arrays if "bias_ih_" in name]:
        other = name.replace("bias_ih_", "bias_hh_")
        if other in arrays and arrays[other].shape == arrays[name].shape:
            total = arrays.pop(name).astype("float32") + arrays.pop(other)
            arrays[name.replace("bias_ih_", "bias_")] = total
    return arrays
