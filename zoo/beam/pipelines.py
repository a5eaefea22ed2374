"""Pipelines of Apache Beam: runners, and their options."""

import contextlib
import difflib
import json
import logging

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.runners.runner import create_runner

IN_PROCESS = "FnApiRunner"  # Beam's own runner, without other programs


def make_runner(name=None):
    """A runner by its name, by default Beam's in-process runner.

    ValueError if it is unknown or needs a package that is not installed.
    """
    name = name or IN_PROCESS
    known = [n for n in StandardOptions.KNOWN_RUNNER_NAMES if not n.startswith("Test")]
    if "." not in name and name not in known:
        raise ValueError(
            f"A runner must be one of {', '.join(sorted(known))}, or the dotted name "
            f"of a class. Received: {name!r}.{_nearest(name, known)}"
        )
    try:
        return create_runner(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"The runner must be installed. Received: {name}, where {error}. Install "
            "its package, such as `pip install apache-beam[gcp]` for DataflowRunner."
        ) from error


def make_options(given):
    """The `PipelineOptions` of a dict of names to values.

    ValueError if Beam has no such option, or the value is wrong. The runner must exist
    before, since it may define options.
    """
    known = PipelineOptions([]).get_all_options()
    for name in given:
        if name not in known and name.removeprefix("no_") not in known:
            raise ValueError(
                "An option of a runner must be one of Apache Beam. Received: "
                f"{name!r}.{_nearest(name, known)}"
            )
    flags = {"true": True, "false": False}
    given = {name: flags.get(str(value), value) for name, value in given.items()}
    printed = json.dumps(given)
    options = PipelineOptions.from_dictionary(given)
    try:
        with contextlib.redirect_stderr(None):
            options.get_all_options()
    except SystemExit as error:  # of argparse
        raise ValueError(
            "The values of the runner's options must be those of Apache Beam. "
            f"Received: {printed}. Correct them."
        ) from error
    return options


def _nearest(name, known):
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


@contextlib.contextmanager
def running(runner, options):
    """Yields a pipeline, which runs at the end of the block.

    RuntimeError of Beam, with the whole output of a worker, becomes a ValueError with
    its last line.
    """
    logger, level = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.ERROR)  # workers would print their settings
    try:
        with beam.Pipeline(runner=runner, options=options) as pipeline:
            yield pipeline
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise ValueError(
            f"The pipeline must end. Received: {lines[-1] if lines else error}"
        ) from error
    finally:
        logger.setLevel(level)
