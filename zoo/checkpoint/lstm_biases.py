"""The two biases of each LSTM of torch."""


def add_biases(arrays):
    """Adds `bias_ih_l0` and `bias_hh_l0` of each LSTM of torch to `bias_l0`."""
    for name in [name for name in arrays if "bias_ih_" in name]:
        other = name.replace("bias_ih_", "bias_hh_")
        if other in arrays and arrays[other].shape == arrays[name].shape:
            total = arrays.pop(name).astype("float32") + arrays.pop(other)
            arrays[name.replace("bias_ih_", "bias_")] = total
    return arrays
