"""What several workers of a job do one after the other."""

import concurrent.futures
import contextlib
import re
import socket
import time

import keras
import tensorflow as tf

from zoo.distribution.clusters import addresses_of

SECONDS = 60  # in which all workers must have started
POLL = 0.2  # seconds between two attempts to reach them
REACHED = 2  # seconds in which a worker must take a connection


def is_chief(strategy=None):
    """Whether this process is the worker that writes files; True without workers.

    That is the task "chief", or the first worker. `strategy` is by default that of the
    present scope.
    """
    cluster = cluster_of(strategy or tf.distribute.get_strategy())
    if cluster is None:
        return True
    first = "chief" if "chief" in cluster.cluster_spec().jobs else "worker"
    return (cluster.task_type, cluster.task_id) == (first, 0)


def cluster_of(strategy):
    """The resolver of the cluster of a strategy with several workers, or None."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return None
    return strategy.cluster_resolver


def chief_first(function, *arguments):
    """Calls a function on the chief, and then on all other workers of the scope.

    The chief can so prepare files that the others find. Under a strategy with several
    workers, the function is called without the strategy: what it does is not divided
    between the workers.

    Args:
        function: function of `arguments`.

    Returns:
        What the function returns on this worker.

    Raises:
        RuntimeError: on the others, if the chief has failed.
        ValueError: if there are several processes of JAX.

    Example:
        >>> chief_first(max, 1, 2)
        2
    """
    distribution = keras.distribution.distribution()
    if distribution is not None and distribution.num_processes > 1:
        raise ValueError(
            "With JAX, files are prepared in a job of one process only. Received: "
            f"{distribution.num_processes} processes. Use the backend tensorflow, and "
            "strategy multi_worker."
        )
    strategy = tf.distribute.get_strategy()
    if cluster_of(strategy) is None:
        return function(*arguments)
    if is_chief(strategy):
        failed = 1.0
        try:
            found = _without_scope(function, arguments)
            failed = 0.0
        finally:
            sum_of_workers(strategy, failed)
        return found
    if sum_of_workers(strategy, 0.0):
        raise RuntimeError("The first worker has failed. See its message.")
    return _without_scope(function, arguments)


def _without_scope(function, arguments):
    """Calls a function in a thread of its own: each thread has its own scopes."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


@contextlib.contextmanager
def naming_lost_workers(strategy):
    """Replaces TensorFlow's error in the block, if a worker has ended, by a sentence.

    Raises:
        ConnectionError: which names the workers.
    """
    try:
        yield
    except tf.errors.OpError as error:
        cluster = cluster_of(strategy)
        lost = cluster and lost_workers(str(error), cluster)
        if not lost:
            raise
        raise ConnectionError(
            f"A worker has ended: {', '.join(lost)}. See its messages, and start the "
            "same command again on all workers. A run goes on from its checkpoint."
        ) from error


def lost_workers(message, cluster):
    """The other workers that a message of TensorFlow names, list of str."""
    own = cluster.task_type, cluster.task_id
    found = []
    for key, address in addresses_of(cluster).items():
        # "/job:worker/replica:0/task:1", "/job:worker/task:1"
        pattern = rf"/job:{key[0]}(/replica:0)?/task:{key[1]}\b"
        if key != own and re.search(pattern, message):
            found.append(f"{key[0]} {key[1]} ({address})")
    return found


def sum_of_workers(strategy, value):
    """The sum of a number over the replicas of all workers, float; all wait for it."""

    def total(value):
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(value))

    run = tf.function(lambda v: strategy.run(total, args=(v,)), autograph=False)
    found = run(tf.constant(value))
    return float(strategy.experimental_local_results(found)[0])


def wait_for_workers(cluster, seconds=None):
    """Returns when all workers of a cluster have started.

    TensorFlow would wait for an hour for one that does not, and cannot be interrupted.

    Args:
        cluster: `tf.distribute.cluster_resolver.ClusterResolver`.
        seconds: float, `SECONDS` by default.

    Raises:
        OSError: if the port of this worker is in use.
        ValueError: if a worker does not answer in this time.
    """
    seconds = SECONDS if seconds is None else seconds
    addresses = addresses_of(cluster)
    own = addresses.pop((cluster.task_type, cluster.task_id))
    end = time.monotonic() + seconds
    with listening(own):
        while addresses and time.monotonic() < end:
            addresses = {k: a for k, a in addresses.items() if not answers(a)}
            time.sleep(POLL if addresses else 0)
    if addresses:
        absent = [f"{kind} {index} ({a})" for (kind, index), a in addresses.items()]
        raise ValueError(
            f"All workers must start within {seconds:g} seconds. Received: no answer "
            f"of {', '.join(absent)}. Start the same command on all of them, and look "
            "at their messages."
        )


def listening(address):
    """A socket at HOST:PORT of this machine, which TensorFlow's server replaces."""
    port = int(address.rpartition(":")[2])
    try:
        return socket.create_server(("", port), backlog=128)
    except OSError as error:
        raise OSError(
            error.errno,
            f"Port {port} of this worker cannot be used. Received: {error.strerror}. "
            "End the job that uses it, or give another port.",
        ) from error


def answers(address):
    """Whether something takes connections at HOST:PORT."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACHED):
            return True
    except OSError:
        return False
