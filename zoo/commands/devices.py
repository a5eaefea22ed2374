"""The options that say on which devices and machines a command runs."""

import contextlib
import functools
import os

import click

from zoo.commands.arguments import number_option
from zoo.files.whole_files import THIS_PROCESS

STRATEGIES = {
    "auto": "the best of the others for what there is",
    "one": "one device",
    "mirrored": "all GPUs of this machine",
    "multi_worker": "the machines of TF_CONFIG or Slurm; start the command on each",
    "tpu": "a TPU",
    "data_parallel": "the devices of JAX, each with a part of every batch",
    "model_parallel": "the devices of JAX, each with a part of the weights",
}
DEVICES = number_option("--devices", "Devices of this machine; by default all.")


def on_devices(*strategies):
    """A decorator that adds `--strategy` and `--devices`; the command runs in a scope.

    `strategies` are names that `zoo.strategy` takes. Of several workers, only the first
    one prints.
    """

    def add_options(command):
        @functools.wraps(command)
        def run(strategy, devices, **options):
            if strategy is None and devices is None:
                return command(**options)
            if options.get("dry_run"):  # of devices that need not be here
                return command(devices=devices, **options)
            from zoo import distribution

            name = strategy or "auto"
            name = distribution.choose() if name == "auto" else name
            if name not in strategies:
                raise ValueError(
                    f"The command runs on one machine. Received: strategy {name}, as "
                    "the environment names a cluster. Use one or mirrored."
                )
            chosen = distribution.strategy(name, devices)
            with contextlib.ExitStack() as stack:
                if not THIS_PROCESS.writes:
                    quiet = stack.enter_context(open(os.devnull, "w"))
                    stack.enter_context(contextlib.redirect_stdout(quiet))
                stack.enter_context(distribution.naming_lost_workers(chosen))
                stack.enter_context(chosen.scope())
                return command(**options)

        kinds = ". ".join(f"{name}: {STRATEGIES[name]}" for name in strategies)
        kind, help = click.Choice(strategies), f"The devices to use. {kinds}."
        return click.option("--strategy", type=kind, help=help)(DEVICES(run))

    return add_options


ON_DEVICES = on_devices(*(name for name in STRATEGIES if name != "multi_worker"))
ON_MACHINES = on_devices(*STRATEGIES)
