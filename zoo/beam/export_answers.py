"""Answers of exported models to collections of texts, with Apache Beam."""

import apache_beam as beam
import tensorflow as tf
import tensorflow_text  # noqa: F401  # registers operations of exports
from apache_beam.ml.inference.base import ModelHandler, RunInference

from zoo.serving.answer_rows import plain_rows
from zoo.serving.exported_model import ExportedModel, decoded
from zoo.serving.versions import find_version

LEAST_TEXTS, MOST_TEXTS = 256, 4096  # of a batch, which a model reads in smaller ones


class LoadedExport(ExportedModel):
    """An export that TensorFlow runs in this process, on a GPU if there is one.

    Arguments and answers are those of `zoo.serving.ExportedModel`.
    """

    def __init__(self, directory):
        super().__init__(directory)
        self._loaded = tf.saved_model.load(str(self.version))
        self._function = self._loaded.signatures[self.signature]

    def request(self, inputs):
        """The answer to one request; see the base class."""
        found = self._function(**{k: tf.constant(v) for k, v in inputs.items()})
        return {name: decoded(value.numpy()) for name, value in found.items()}


class ExportHandler(ModelHandler):
    """Loads an export on each worker, and answers batches of texts.

    Args:
        export: path of an export that all workers can read.
        batch_size: int, texts that the model reads together.
    """

    def __init__(self, export, batch_size):
        super().__init__()
        self._export, self._batch_size = str(export), batch_size

    def batch_elements_kwargs(self):
        """The sizes of batches, in which texts of similar length are found."""
        return {"min_batch_size": LEAST_TEXTS, "max_batch_size": MOST_TEXTS}

    def load_model(self):
        """The export."""
        return LoadedExport(self._export)

    def run_inference(self, batch, model, inference_args=None):
        """Yields each text with its answer, a dict of arrays or plain values."""
        columns = list(batch)
        if len(model.columns) > 1:
            columns = tuple(map(list, zip(*batch, strict=True)))
        answers = model.answer(columns, self._batch_size)
        lists = {k: v for k, v in answers.items() if v.dtype.kind in "OUS"}
        rows = [{} for _ in batch]
        if lists:
            rows = plain_rows(answers, [*lists], model.padded)
        for number, (text, row) in enumerate(zip(batch, rows, strict=True)):
            arrays = {k: v[number] for k, v in answers.items() if k not in lists}
            yield text, {**row, **arrays}


class Predict(beam.PTransform):
    """Answers each text of a collection by an exported model.

    Args:
        export: path of a version, or of a directory of versions, whose newest answers.
            All workers can read it.
        batch_size: int, texts that the model reads together.

    Inputs:
        collection of str; or of tuples of str for exports of several columns.

    Returns:
        collection of pairs of the text and its answer, a dict: numbers and arrays as
        numpy, strings as str, without padding. The order is arbitrary.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if the model does not take texts, or lacks the wanted output.

    Example:
        texts | zoo.beam.Predict("exports/sentiment")
    """

    output = None  # the only one that is given

    def __init__(self, export, batch_size=32):
        super().__init__()
        model = ExportedModel(export)
        model.check_takes_texts()
        if self.output is not None and self.output not in model.outputs:
            raise ValueError(
                f"The export of `{type(self).__name__}` must have the output "
                f"{self.output!r}. Received: {model.version} with "
                f"{sorted(model.outputs)}. Use `Predict`."
            )
        self._handler = ExportHandler(find_version(export), batch_size)

    def expand(self, texts):
        """The collection of answers; see the class."""
        answers = texts | RunInference(self._handler)
        if self.output is None:
            return answers
        name = self.output
        return answers | beam.MapTuple(lambda text, answer: (text, answer[name]))


class Embed(Predict):
    """The vector of each text of a collection, by the export of a `zoo.TextEmbedder`.

    Arguments and inputs are those of `Predict`. The result has pairs of a text and its
    vector, float32 (D,).

    Example:
        texts | zoo.beam.Embed("exports/embedder")
    """

    output = "embedding"


class Translate(Predict):
    """The translation of each text of a collection, by the export of a `Translator`.

    Arguments and inputs are those of `Predict`. The result has pairs of a text and its
    translation, str.

    Example:
        texts | zoo.beam.Translate("exports/translator")
    """

    output = "translation"
