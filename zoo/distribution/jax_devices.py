"""Distributions of Keras over the devices of JAX."""

import functools
import os
import re

import keras
import tensorflow as tf

from zoo.distribution.device_counts import check_present, refuse_devices
from zoo.files.whole_files import THIS_PROCESS

JOB = "KERAS_DISTRIBUTION_JOB_ADDRESSES"
# Square matrices (D, H x K) that are split along the heads.
HEADS = re.compile(r".*/(query|key|value)/kernel")


class SplitWeights(keras.distribution.ModelParallel):
    """`ModelParallel` that splits every array along the longest axis it can divide.

    That is the inner width of a feed-forward layer, the gates of a recurrent one, and
    the vocabulary or the width of an embedding. Attention is split along its heads.
    Vectors, such as biases, and arrays without such an axis are on all devices.

    Args:
        devices: list of str, the names of devices.
    """

    def __init__(self, devices):
        shape = 1, len(devices)
        mesh = keras.distribution.DeviceMesh(shape, ["batch", "model"], devices)
        super().__init__(
            layout_map=keras.distribution.LayoutMap(mesh), auto_shard_dataset=False
        )

    def get_variable_layout(self, variable):
        """The layout of a variable, see the class."""
        axes = [None] * len(variable.shape)
        axis = split_axis(variable.path, variable.shape, self.device_mesh.shape[1])
        if axis is not None:
            axes[axis] = "model"
        return keras.distribution.TensorLayout(axes, self.device_mesh)


def split_axis(path, shape, devices):
    """The axis along which an array is split, int, or None."""
    divided = [i for i, size in enumerate(shape) if size and size % devices == 0]
    if len(shape) < 2 or not divided:
        return None
    order = reversed(divided) if HEADS.fullmatch(path) else divided
    return max(order, key=lambda axis: shape[axis])


def make_one(devices):
    """One device, which is TensorFlow's default strategy and has no distribution."""
    refuse_devices(devices, "data_parallel")
    return tf.distribute.get_strategy(), "one device"


def make_data_parallel(devices):
    """`DataParallel`: each device has all weights and a part of every batch."""
    names, what = device_names(devices)
    found = keras.distribution.DataParallel(devices=names, auto_shard_dataset=False)
    return found, what


def make_model_parallel(devices):
    """`SplitWeights`: each device has a part of the weights and all rows."""
    if join_processes() > 1:  # none has all weights, to save them
        raise ValueError(
            "Strategy model_parallel has the devices of one process. Received: several "
            f"processes in {JOB}. Use data_parallel."
        )
    names, what = device_names(devices)
    return SplitWeights(names), what


def device_names(devices):
    """The names of devices, a list, and what they are, a str."""
    processes = join_processes()
    names = keras.distribution.list_devices()
    kind = names[0].split(":")[0].upper()
    if processes > 1 and devices is not None:
        raise ValueError(
            "Several processes use all of their devices. Received: "
            f"devices={devices}. Leave `devices` out."
        )
    check_present(devices, len(names), f"{kind} devices of JAX")
    names = names[: devices or len(names)]
    return names, f"{len(names)} {kind} devices of {processes} processes"


@functools.cache  # a process joins the others once
def join_processes():
    """Starts JAX with the processes that the environment names; their number."""
    if not os.environ.get(JOB):
        return 1
    try:
        keras.distribution.initialize()
    except (ValueError, RuntimeError) as error:
        raise ValueError(
            f"Several processes of JAX need {JOB} and the variables of their number "
            "and of this one, KERAS_DISTRIBUTION_NUM_PROCESSES and "
            f"KERAS_DISTRIBUTION_PROCESS_ID. Received: {error}. Set them first."
        ) from error
    found = keras.distribution.DataParallel(auto_shard_dataset=False)
    THIS_PROCESS.writes = found.data_shard_id == 0
    return found.num_processes


def choose():
    """The name of the strategy for the devices that there are."""
    join_processes()
    return "data_parallel" if len(keras.distribution.list_devices()) > 1 else "one"


MAKERS = {
    "one": make_one,
    "data_parallel": make_data_parallel,
    "model_parallel": make_model_parallel,
}
