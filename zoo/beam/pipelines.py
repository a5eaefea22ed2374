"""Pipelines of Apache Beam: runners, and their options."""

import contextlib
import difflib
import io
import logging

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import create_runner

IN_PROCESS = "FnApiRunner"  # Beam's own runner, without other programs
WHERE = " [while running "  # what Beam adds to the message of an error


def make_runner(name, given):
    """A runner and its `PipelineOptions`.

    Args:
        name: str, by default that of Beam's in-process runner.
        given: dict of names of options to values.

    Raises:
        ValueError: if the runner is unknown or needs a package that is not installed,
            Beam has no such option, or the value is wrong.
    """
    name = name or IN_PROCESS
    known = [n for n in StandardOptions.KNOWN_RUNNER_NAMES if not n.startswith("Test")]
    if "." not in name and name not in known:
        raise ValueError(
            f"A runner must be one of {', '.join(sorted(known))}, or the dotted name "
            f"of a class. Received: {name!r}.{_nearest(name, known)}"
        )
    try:
        runner = create_runner(name)  # whose module may define options
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"The runner must be installed. Received: {name}, where {error}. Install "
            "its package, such as `pip install apache-beam[gcp]` for DataflowRunner."
        ) from error
    options = make_options(given)
    if name == IN_PROCESS:  # which does not give the options to its workers by itself
        encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
        about = beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded)
        runner = fn_runner.FnApiRunner(
            provision_info=fn_runner.ExtendedProvisionInfo(about)
        )
    return runner, options


def make_options(given):
    """The `PipelineOptions` of a dict of names to values.

    ValueError if Beam has no such option, or the value is wrong.
    """
    known = PipelineOptions([]).get_all_options()
    for name in given:
        if name not in known and name.removeprefix("no_") not in known:
            raise ValueError(
                "An option of a runner must be one of Apache Beam. Received: "
                f"{name!r}.{_nearest(name, known)}"
            )
    flags = {"true": True, "false": False}
    given = {name: flags.get(value, value) for name, value in given.items()}
    # Workers would print their settings.
    quiet = {"default_sdk_harness_log_level": "CRITICAL"}
    options, message = (
        PipelineOptions.from_dictionary({**quiet, **given}),
        io.StringIO(),
    )
    try:
        with contextlib.redirect_stderr(message):
            options.get_all_options()
    except SystemExit as error:  # of argparse
        raise ValueError(
            "The values of the runner's options must be those of Apache Beam. "
            f"Received: {given}. {message.getvalue().splitlines()[-1]}."
        ) from error
    return options


def _nearest(name, known):
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


@contextlib.contextmanager
def running(runner, options):
    """Yields a pipeline, which runs at the end of the block.

    ValueError of one line if options of the runner are missing, or a worker fails.
    """
    logger, level = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.CRITICAL)
    try:
        pipeline = beam.Pipeline(runner=runner, options=options)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"A runner must have its options. Received: {reason} Give them as "
            "`--runner-option NAME=VALUE`."
        ) from error
    try:
        with pipeline:
            yield pipeline
    except (RuntimeError, ValueError) as error:  # with all that a worker has printed
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = lines[-1].partition(WHERE)[0]
        raise ValueError(f"The pipeline has failed. Received: {reason}") from error
    finally:
        logger.setLevel(level)
