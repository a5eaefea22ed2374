"""From a text to its summary."""

import keras

from zoo.tasks.files.translated_files import TranslatedFiles
from zoo.tasks.writers.text_writer import TextWriter
from zoo.tasks.writers.translator import Translator


class SummaryWriter(TextWriter):
    """Writes summaries, whose length does not depend on the length of their texts."""

    generation = {}
    unused_options = ("split_sentences",)


@keras.saving.register_keras_serializable(package="zoo")
class Summarizer(Translator):
    """Writes a summary of every text.

    Training, arguments, files and scores are those of `zoo.Translator`. The length of a
    summary does not depend on the length of its text: without `max_new_tokens` among
    the options, it has at most as many tokens as the decoder has positions, or 256 if
    their number is not limited.

    Source: Rush et al. 2015, who train an encoder and a decoder on texts and summaries.

    Args:
        backbone, tokenizer, label_smoothing, smoothing_kind: see `zoo.Translator`.
        generation: dict, the defaults of `summarize`, see
            `zoo.generation.GenerationOptions`.
        **kwargs: sequence_length and name, see `zoo.tasks.Task`.

    Inputs:
        texts (B,), and as `y` their summaries.

    Returns:
        float32 (B, T, V), logits of the token after each position of the summary.

    Raises:
        ValueError: if the backbone has no decoder.

    Example:
        >>> from zoo.models.transformer import Transformer, TransformerConfig
        >>> backbone = Transformer(TransformerConfig(11, None, 4, 1, 1, 2))
        >>> Summarizer(backbone).output_shape
        (None, None, 11)
    """

    task_name = "summarizer"
    writer_class = SummaryWriter
    columns = ("text",)
    text_methods = ("summarize", "answer")
    files = TranslatedFiles("summary", "summarization")

    def summarize(
        self, texts, batch_size=None, return_scores=False, stream=False, **options
    ):
        """Writes a summary of every text.

        Arguments, results and errors are those of `zoo.Translator.translate`.
        """
        return self.writer.write_texts(
            texts, batch_size, return_scores, stream, **options
        )
