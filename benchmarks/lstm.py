"""One recurrent layer: an LSTM of width 1152 on 32 rows of 70 vectors, on the CPU.

Width and length are those of the middle layer of AWD-LSTM. There is no mask and no
dropout. All peers compute in float32 with the same weights. With `training`, a call is
a forward pass and a backward pass: the gradients of the mean of the squared outputs by
the input and all weights.
"""

from benchmarks.peers import facts_of

UNIT = "rows"
NEEDS = ()
ROWS, LENGTH, WIDTH = 32, 70, 1152


def make_arrays():
    """Input (B, L, D), kernels (D, 4 D) twice, and bias (4 D,); gates i, f, g, o."""
    import numpy as np

    random = np.random.default_rng(7)
    bound = WIDTH**-0.5
    shapes = [(WIDTH, 4 * WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH,)]
    weights = [random.uniform(-bound, bound, shape) for shape in shapes]
    x = random.normal(0, 1, (ROWS, LENGTH, WIDTH))
    return [array.astype("float32") for array in (x, *weights)]


def open_forget(bias):
    """Adds 1 to the bias of the forget gate, as our layer does at every call."""
    bias = bias.copy()
    bias[WIDTH : 2 * WIDTH] += 1
    return bias


def make_peer(run, parameters, library):
    """A call that returns the sequence or the gradient of the input, and its facts."""
    facts = facts_of([LENGTH] * ROWS, parameters, (ROWS, LENGTH, WIDTH), library)
    return lambda: run()[0], facts


def in_graph(forward, weights, training):
    """A function that returns the sequence of a layer, or gradients in training."""
    import tensorflow as tf

    x = tf.constant(make_arrays()[0])

    @tf.function
    def run(x):
        if not training:
            return [forward(x)]
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_mean(forward(x) ** 2)
        return tape.gradient(loss, [x, *weights])

    return lambda: run(x)


def run_zoo(training):
    """Our layer as a function, see `in_graph`, and its number of parameters."""
    import zoo

    layer = zoo.layers.LSTM(WIDTH)
    x, *weights = make_arrays()
    layer.build(x.shape)
    layer.set_weights(weights)
    variables = [layer.kernel, layer.recurrent_kernel, layer.bias]
    run = in_graph(
        lambda x: layer(x, training=training)[0],
        [variable.value for variable in variables],
        training,
    )
    return run, layer.count_params()


def run_keras(training):
    """`keras.layers.LSTM`."""
    import keras

    layer = keras.layers.LSTM(WIDTH, return_sequences=True)
    x, *kernels, bias = make_arrays()
    layer.build(x.shape)
    layer.set_weights([*kernels, open_forget(bias)])
    run = in_graph(
        lambda x: layer(x, training=training),
        [variable.value for variable in layer.trainable_variables],
        training,
    )
    return run, layer.count_params()


def run_torch(training):
    """`torch.nn.LSTM`; its second bias is 0 and is not counted."""
    import torch

    layer = torch.nn.LSTM(WIDTH, WIDTH, batch_first=True).train(training)
    x, *kernels, bias = make_arrays()
    arrays = [*(kernel.T for kernel in kernels), open_forget(bias), 0 * bias]
    with torch.no_grad():
        for weight, array in zip(layer.parameters(), arrays, strict=True):
            weight.copy_(torch.from_numpy(array))
    x = torch.from_numpy(x).requires_grad_(training)
    sources = [x, *layer.parameters()]

    def run():
        with torch.set_grad_enabled(training):
            sequence, _ = layer(x)
            if not training:
                return [sequence]
            return list(torch.autograd.grad((sequence**2).mean(), sources))

    return run, sum(weight.numel() for weight in sources[1:]) - len(bias)


def make_zoo(training):
    """Our layer, under `tf.function`."""
    return make_peer(*run_zoo(training), "zoo")


def make_keras(training):
    """`keras.layers.LSTM`, under `tf.function`."""
    return make_peer(*run_keras(training), "zoo")


def make_torch(training):
    """`torch.nn.LSTM`."""
    return make_peer(*run_torch(training), "torch")


PEERS = {"zoo": make_zoo, "torch": make_torch, "keras": make_keras}
