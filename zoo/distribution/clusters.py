"""Which workers a job has, and which of them this process is."""

import json
import os

import tensorflow as tf

from zoo.checks.counts import whole_number

TF_CONFIG = "TF_CONFIG"
SLURM_VARIABLES = (
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE",
)
KINDS = ("chief", "worker")  # of tasks that train
EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)
# Of one node; other jobs on it need other ones.
SLURM_PORT = 8888


def find_cluster():
    """The cluster that the environment names, or None.

    It is read from `TF_CONFIG`, or else from the variables of a step of Slurm with
    several tasks.

    Returns:
        `tf.distribute.cluster_resolver.ClusterResolver`, or None.

    Raises:
        ValueError: if the environment names a cluster that cannot be.
    """
    if os.environ.get(TF_CONFIG, "").strip():
        check_tf_config(os.environ[TF_CONFIG])
        return tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if int_variable("SLURM_STEP_NUM_TASKS") > 1:
        return slurm_cluster()
    return None


def addresses_of(cluster):
    """The addresses of the workers that train, dict of (type, index) to HOST:PORT."""
    found = {}
    for kind, addresses in cluster.cluster_spec().as_dict().items():
        if kind in KINDS:
            found |= {(kind, i): address for i, address in enumerate(addresses)}
    return found


def int_variable(name):
    """An environment variable as int, 0 without it; ValueError if it is no number."""
    text = os.environ.get(name, "0")
    if not text.isdecimal():
        raise ValueError(f"{name} must be a whole number. Received: {text!r:.60}.")
    return int(text)


def slurm_cluster():
    """The cluster of a step of Slurm: a worker for each task, ports from 8888 on.

    Every task uses the GPUs that Slurm lets it see.
    """
    missing = [name for name in SLURM_VARIABLES if name not in os.environ]
    if missing:
        raise ValueError(
            f"A step of Slurm must set {', '.join(missing)}. Received: none. Start the "
            f"command with `srun`, or set {TF_CONFIG}."
        )
    tasks = int_variable("SLURM_STEP_NUM_TASKS")
    # The resolver counts GPUs to divide them, and fails where there are none.
    return tf.distribute.cluster_resolver.SlurmClusterResolver(
        port_base=SLURM_PORT, gpus_per_node=tasks, gpus_per_task=1, auto_set_gpu=False
    )


def check_tf_config(text):
    """Raises ValueError unless TF_CONFIG names workers, and the one this process is."""

    def error(rule, received):
        return ValueError(
            f"{TF_CONFIG} must {rule}. Received: {received!r:.200}. An example is "
            f"{EXAMPLE}."
        )

    try:
        found = json.loads(text)
    except ValueError as cause:
        raise error("be JSON", text) from cause
    if not isinstance(found, dict) or not isinstance(found.get("cluster"), dict):
        raise error('have "cluster", a dict of lists of addresses', found)
    cluster, task = found["cluster"], found.get("task")
    for kind, addresses in cluster.items():
        strings = isinstance(addresses, list) and addresses
        if not strings or not all(isinstance(a, str) and ":" in a for a in addresses):
            raise error(f'have "HOST:PORT" for every "{kind}"', addresses)
    if not any(kind in cluster for kind in KINDS):
        raise error(f"have a {' or '.join(KINDS)}", list(cluster))
    every = [address for addresses in cluster.values() for address in addresses]
    if len({*every}) < len(every):
        raise error("name every address once", every)
    if not isinstance(task, dict) or not {"type", "index"} <= task.keys():
        raise error('have "task", a dict of "type" and "index"', task)
    if task["type"] not in KINDS or task["type"] not in cluster:
        raise error('name a type of "cluster" that trains as "type"', task["type"])
    most = len(cluster[task["type"]]) - 1
    try:
        whole_number(task["index"], "index", 0, most=most)
    except (TypeError, ValueError) as cause:
        rule = f'have an "index" from 0 to {most}, as there are {most + 1} addresses'
        raise error(rule, task["index"]) from cause
