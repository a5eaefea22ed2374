"""One name for the devices and machines that train."""

import contextlib
import functools
import os
import sys

import keras
import tensorflow as tf

from zoo.checks.number_rules import check_number
from zoo.checks.ranges import check_choice
from zoo.distribution import jax_devices
from zoo.distribution.clusters import (
    EXAMPLE,
    TF_CONFIG,
    addresses_of,
    find_cluster,
)
from zoo.distribution.device_counts import check_present, refuse_devices
from zoo.distribution.workers import is_chief, wait_for_workers
from zoo.files.whole_files import THIS_PROCESS


def strategy(name="auto", devices=None):
    """The strategy with which models are trained on the devices that there are.

    Make the model in its scope, and train it there. It prints to standard error which
    devices it uses.

    Args:
        name: str:

            - "one": one device
            - "mirrored": the GPUs of this machine; without any, its CPU, divided into
              `devices` logical ones, to try a program out
            - "multi_worker": the machines that the variable `TF_CONFIG` names, or the
              tasks of a step of Slurm. The same program must run on all of them. Only
              the first one writes files.
            - "tpu": the TPU of this machine, or that of the variable `TPU_NAME`
            - "auto": the first of "multi_worker", "tpu" and "mirrored" for which there
              are several devices, and else "one"

            With the JAX backend of Keras:

            - "one": one device
            - "data_parallel": the devices of JAX, each with all weights and a part of
              every batch; also those of the processes that `KERAS_DISTRIBUTION_...`
              variables name
            - "model_parallel": the devices of JAX, each with a part of every matrix
            - "auto": "data_parallel" if there are several devices, and else "one"

        devices: int, how many of this machine's devices are used; all by default.

    Returns:
        `tf.distribute.Strategy` or `keras.distribution.Distribution`. Both have
        `scope()`.

    Raises:
        OSError: if the port of this worker is in use.
        ValueError: if the name is unknown, or one of another backend, there are fewer
            devices, the variables name no cluster, or not all of its workers
            start within a minute.

    Example:
        >>> with strategy("one").scope():
        ...     model = keras.Sequential([keras.layers.Dense(1)])
    """
    check_choice("strategy", name, ["auto", *OTHER_BACKEND])
    if devices is not None:
        check_number("devices", devices)
    backend = keras.backend.backend()
    makers = MAKERS.get(backend, {})
    if name == "auto" and makers:
        name = choose()
    if name not in makers:
        raise ValueError(
            f"The {backend} backend of Keras has the strategies "
            f"{', '.join(makers) or 'of its own package only'}. Received: {name}. Use "
            f"{OTHER_BACKEND[name] if makers else 'TensorFlow or JAX'}."
        )
    found, what = makers[name](devices)
    print(f"strategy {name}: {what}", file=sys.stderr)
    return found


def choose():
    """The name of the strategy for the devices that the environment has."""
    if keras.backend.backend() == "jax":
        return jax_devices.choose()
    cluster = find_cluster()
    if cluster is not None and len(addresses_of(cluster)) > 1:
        return "multi_worker"
    if os.environ.get("TPU_NAME") or tf.config.list_physical_devices("TPU"):
        return "tpu"
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "one"


def make_one(devices):
    """TensorFlow's default, one device."""
    refuse_devices(devices, "mirrored")
    return tf.distribute.get_strategy(), "one device"


def make_mirrored(devices):
    """`MirroredStrategy` on the GPUs, or on logical CPUs."""
    names, what = local_devices(devices)
    return tf.distribute.MirroredStrategy(names), what


def local_devices(devices):
    """The names of devices of this machine, a list, and what they are, a str."""
    present = tf.config.list_physical_devices("GPU")
    if present:
        check_present(devices, len(present), "GPUs")
        count = devices or len(present)
        return [f"GPU:{i}" for i in range(count)], f"{count} GPUs"
    (cpu,), count = tf.config.list_physical_devices("CPU"), devices or 1
    if tf.config.get_logical_device_configuration(cpu) is None:
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        with contextlib.suppress(RuntimeError):  # TensorFlow has begun
            tf.config.set_logical_device_configuration(cpu, parts)
    check_present(devices, len(tf.config.list_logical_devices("CPU")), "logical CPUs")
    what = f"no GPU; the CPU as {count} logical device{'s' * (count > 1)}"
    return [f"CPU:{i}" for i in range(count)], what


def make_multi_worker(devices):
    """`MultiWorkerMirroredStrategy` on the cluster that the environment names."""
    if devices is not None:
        raise ValueError(
            "Strategy multi_worker has all GPUs of each machine. Received: "
            f"devices={devices}. Set CUDA_VISIBLE_DEVICES instead."
        )
    found = join_cluster()
    cluster, replicas = found.cluster_resolver, found.num_replicas_in_sync
    what = f"{len(addresses_of(cluster))} workers, {replicas} devices"
    return found, f"{what}; this is {cluster.task_type} {cluster.task_id}"


@functools.cache  # a process belongs to one cluster, which it joins once
def join_cluster():
    """The strategy of the cluster that the environment names."""
    cluster = find_cluster()
    if cluster is None:
        raise ValueError(
            f"Strategy multi_worker needs the variable {TF_CONFIG}, or several tasks "
            f"of Slurm. Received: neither. An example is {EXAMPLE}."
        )
    wait_for_workers(cluster)
    found = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=cluster)
    THIS_PROCESS.writes = is_chief(found)
    return found


def make_tpu(devices):
    """`TPUStrategy` on all cores."""
    try:
        name = os.environ.get("TPU_NAME", "local")
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise ValueError(
            f"Strategy tpu needs a TPU. Received: {error}. Set TPU_NAME, or use "
            "another strategy."
        ) from error
    found = tf.distribute.TPUStrategy(resolver)
    cores = found.num_replicas_in_sync
    if devices not in (None, cores):
        raise ValueError(
            f"Strategy tpu has all {cores} cores. Received: devices={devices}. Leave "
            "`devices` out."
        )
    return found, f"{cores} cores of a TPU"


MAKERS = {
    "tensorflow": {
        "one": make_one,
        "mirrored": make_mirrored,
        "multi_worker": make_multi_worker,
        "tpu": make_tpu,
    },
    "jax": jax_devices.MAKERS,
}
# The strategy that is nearest to one of another backend.
OTHER_BACKEND = {
    "one": "one",
    "mirrored": "data_parallel",
    "multi_worker": "data_parallel",
    "tpu": "data_parallel",
    "data_parallel": "mirrored",
    "model_parallel": "mirrored",
}
