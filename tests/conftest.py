"""Fixtures for all tests."""

import gc
import os
import pathlib
import sys

import pytest
import tiny

# Tests of one room use the golden files of another.
for room in ("models", "tasks"):
    folders = sorted((pathlib.Path(__file__).parent / room).iterdir())
    sys.path[1:1] = [str(path) for path in folders if path.is_dir()]

# The processes of pytest-xdist share the processor; TensorFlow reads this at its start.
for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")


# A full collection, which takes a second, is for so many new objects that are frozen.
MOST_NEW_OBJECTS = 500_000


def pytest_collection_finish(session):
    """Splits the CPU into two devices, so that a strategy can have two replicas.

    TensorFlow takes it before its first operation only, hence not in a fixture. The
    default tests do not optimize graphs, which takes longer than their few steps.
    """
    # A full collection of garbage then need not look at the modules again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)
    if "tensorflow" in sys.modules:
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        device = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [device, device])
        if not any(item.get_closest_marker("slow") for item in session.items):
            options = {"disable_meta_optimizer": True}
            tf.config.optimizer.set_experimental_options(options)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks rows that are not shown as slow, before pytest leaves slow tests out.

    It also skips 16 bits if oneDNN may not use all instructions of the processor.
    TensorFlow 2.20 asks the processor and not oneDNN what it can do. Its first product
    in 16 bits then ends the process.
    """
    for item in items:
        shown = item.get_closest_marker("shown")
        if shown and not f"{item.callspec.id}-".startswith(
            tuple(f"{row}-" for row in shown.args)
        ):
            item.add_marker(pytest.mark.slow)
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA")
    if limit:
        reason = f"TensorFlow crashes in 16 bits with ONEDNN_MAX_CPU_ISA={limit}"
        for item in items:
            if "float16" in item.name or item.get_closest_marker("half_precision"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def frozen_objects():
    """The number of frozen objects at which they are looked at again, in a dict."""
    return {"limit": gc.get_freeze_count() + MOST_NEW_OBJECTS}


@pytest.fixture(autouse=True, scope="module")
def release_graphs(frozen_objects):
    """Lets go of the training steps of a module; TensorFlow would keep them.

    It keeps every graph with a custom gradient, also that of Keras' optimizers, which
    add up over replicas. Ours do not, see `tasks/test_memory.py`.
    """
    yield
    if "tensorflow" in sys.modules:
        from tensorflow.python.framework import ops

        gradients = ops.gradient_registry._registry
        for name in [name for name in gradients if name.startswith("CustomGradient-")]:
            del gradients[name]
        gc.collect()
        gc.freeze()  # what is left belongs to modules, such as those imported since
        # Or to models that other modules share, which are garbage later.
        if gc.get_freeze_count() > frozen_objects["limit"]:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            frozen_objects["limit"] = gc.get_freeze_count() + MOST_NEW_OBJECTS


@pytest.fixture
def eagerly():
    """Runs a test without graphs, where to trace them takes most of the time."""
    from eager import without_graphs

    with without_graphs():
        yield


@pytest.fixture(scope="session")
def shared():
    """Directory of data and oracles beside the checkout; skips where it is absent."""
    beside = pathlib.Path(__file__).parents[1].parent / "shared"
    candidates = [os.environ.get("ZOO_SHARED"), beside]
    for candidate in filter(None, candidates):
        if pathlib.Path(candidate).is_dir():
            return pathlib.Path(candidate)
    pytest.skip("No shared data: set ZOO_SHARED, or put it in ../shared.")


@pytest.fixture(scope="session")
def two_replicas():
    """A strategy over two devices; TensorFlow's collectives stand one per process."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(scope="session")
def tokenizer():
    """WordPiece over the tiny vocabulary."""
    from zoo.text import WordPieceTokenizer

    return WordPieceTokenizer(tiny.VOCABULARY)


@pytest.fixture(scope="session")
def texts():
    """24 tiny texts."""
    return tiny.make_texts(24)[0]


@pytest.fixture(scope="session")
def labels():
    """The label, "good" or "bad", of each of `texts`."""
    return tiny.make_texts(24)[1]


@pytest.fixture
def make_backbone():
    """Function of config fields: a tiny BERT, the same at every call."""
    import keras

    from zoo.registry import build_backbone

    def make(dtype=None, seed=1, **fields):
        keras.utils.set_random_seed(seed)
        return build_backbone("bert", {**tiny.CONFIG, **fields}, dtype)

    return make


@pytest.fixture
def make_task(make_backbone, tokenizer):
    """Function of a task's name and options: the task on a tiny BERT, compiled."""
    from zoo.tasks import TASKS
    from zoo.training import AdamW

    def make(name="text_classifier", fields=None, dtype=None, compile=None, **options):
        if name == "text_classifier":
            options = {"labels": tiny.LABELS, "head_dropout": 0.0, **options}
        options.setdefault("tokenizer", tokenizer)
        task = TASKS[name](make_backbone(dtype, **fields or {}), **options)
        task.compile(**{"optimizer": AdamW(1e-2), **(compile or {})})
        return task

    return make
