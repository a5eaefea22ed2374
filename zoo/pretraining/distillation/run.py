"""Distillation: a small embedder learns the vectors of a large one from plain text."""

import dataclasses
import itertools
from typing import Annotated, Literal

import numpy as np
import tensorflow as tf
from keras import ops

from zoo import registry
from zoo.checks.ranges import CheckedFields, Count, NotNegative, Range, Size
from zoo.data import read_texts
from zoo.files.whole_files import replacing
from zoo.pretraining.distillation.cosine_loss import DistillationLoss, TextCosine
from zoo.pretraining.distillation.teacher import (
    Teacher,
    aligned_axes,
    principal_axes,
    project,
)
from zoo.pretraining.distillation.text_and_words import (
    agreeing_words,
    count_words,
    with_words,
)
from zoo.pretraining.objective import StagedObjective, count_tokens
from zoo.pretraining.recipes import find_files, find_held_out, find_train
from zoo.pretraining.start import (
    finished_model,
    make_optimizer,
    start_model,
    start_word_pieces,
)
from zoo.tasks import TextEmbedder
from zoo.text import WordPieceTokenizer

POOLING = {"pooling": "mean", "normalize": True}
# Texts by which the teacher's vectors are turned to the student's.
ALIGNED_TEXTS = 16384
ROWS_AT_ONCE = 128
# The argument `fields` of `zoo.data.read_texts`.
FIELDS = '"words", a list of columns or of names, or None'
Fields = Annotated[
    Literal["words"] | list[Count] | list[str] | None,
    Range(FIELDS, lambda fields: fields != []),
]


@dataclasses.dataclass(frozen=True)
class DistillationOptions(CheckedFields):
    """The options of this objective in a recipe.

    Args:
        teacher: str, the preset of an embedder, see `zoo.from_preset`.
        fields: dict of a pattern in `train` or `valid` to what holds the texts in its
            files, see `zoo.data.read_texts`. Files of other patterns are documents.
        repeats: dict of a pattern in `train` to how often its texts are read in an
            epoch, and counted for the vocabulary. 1 for other patterns.
        lowercase: bool, whether the tokenizer converts text to lower case.
        pairs: float, weight of the differences between the cosines of pairs of texts.
        table: bool, whether the table of tokens of a new student starts from the
            teacher's vectors of the single tokens.
        words: float, weight of the distances of the words' vectors, see
            `TextAndWordEmbedder`. A word counts if both tokenizers divide it into the
            same pieces. With 0 only the vectors of texts are learned.
        word_texts: int, how many texts have vectors of their words, evenly over all
            texts. Each word takes twice the teacher's width in bytes on the disk, and
            twice the student's in memory.
    """

    teacher: str
    fields: dict[str, Fields] = dataclasses.field(default_factory=dict)
    repeats: dict[str, Size] = dataclasses.field(default_factory=dict)
    lowercase: bool = True
    pairs: NotNegative = 1.0
    table: bool = True
    words: NotNegative = 0.0
    word_texts: Size = 100000


class Distillation(StagedObjective):
    """A run in which a `TextEmbedder`, the student, learns a teacher's vectors.

    The first run learns the vocabulary and computes the teacher's vectors, which are
    kept in `output/teacher`. If it is stopped, the next run computes only those that
    are missing. The vectors are reduced to the student's width by `principal_axes`.

    A stage has the texts of at most its tokens per row, which may be longer than those
    of the stage before. Its rows per update are texts of similar length. Texts that
    fill no update at the end of an epoch are left out, always the same ones.

    Attributes:
        texts: list of str (N,), in the order of the files, repeats included.
        vectors: float32 (M, hidden_dim), the teacher's vectors of the different texts.
        order: int (N,), which of these belongs to each text.
        words: None, or float16 (M, None, hidden_dim), the teacher's vectors of the
            words, ragged. Words that are not learned are 0.
        sizes: list of int, the mean number of tokens of an update, for each update.
    """

    name = "distillation"
    in_parts = False
    Options = DistillationOptions

    def __init__(self, recipe, data, output):
        self.recipe, self.options = recipe, recipe.options
        self.teacher = Teacher(self.options.teacher, output / "teacher")
        files, texts = find_train(data, recipe.train, recipe.valid), {}
        for pattern in recipe.train:
            found = [path for path in find_files(data, [pattern]) if path in files]
            if found:
                texts[pattern] = self._read(found, pattern)
        lines = itertools.chain(*map(self._repeated, texts, texts.values()))
        self.tokenizer = start_word_pieces(recipe, lambda: lines, output)
        find_held_out(data, recipe.valid)  # raises if two files have one name
        self.held_out = {
            path.name: self._short(self._read([path], pattern))[0]
            for pattern in recipe.valid
            for path in find_files(data, [pattern])
        }
        empty = [name for name, texts in self.held_out.items() if not texts]
        if empty:
            raise ValueError(
                f"A held-out file must have a text of at most {recipe.sequence_length} "
                f"tokens. Received: none in {', '.join(empty)}."
            )
        # One list for all, so that a text in several files is computed once.
        distinct = list(dict.fromkeys(itertools.chain(*texts.values())))
        distinct, lengths = self._short(distinct)
        vectors = self.teacher.embed(distinct)
        self.axes = self._axes(distinct, vectors, output / "axes.npy")
        place = {text: number for number, text in enumerate(distinct)}
        repeated = itertools.chain(*map(self._repeated, texts, texts.values()))
        order = np.array([place[text] for text in repeated if text in place], int)
        self.texts, self.lengths = [distinct[row] for row in order], lengths[order]
        self.order, self.vectors = order, project(vectors, self.axes)
        self.words = self._words(distinct) if self.options.words else None
        self.sizes = []
        for length, rows, steps in recipe.stages:
            chosen = self._chosen(length, rows)
            self.sizes += [int(rows * self.lengths[chosen].mean())] * steps

    @staticmethod
    def check(recipe):
        """Raises ValueError if an option is wrong, or names an unknown pattern."""
        options = recipe.options
        for name, known in (
            ("fields", [*recipe.train, *recipe.valid]),
            ("repeats", [*recipe.train]),
        ):
            unknown = sorted(getattr(options, name).keys() - {*known})
            if unknown:
                raise ValueError(
                    f"Every key of `{name}` must be a pattern of the recipe: {known}. "
                    f"Received: {unknown}."
                )

    def _read(self, paths, pattern):
        """The different texts of some files, list of str."""
        fields = self.options.fields.get(pattern)
        texts = (text for path in paths for text in read_texts(path, fields))
        return list(dict.fromkeys(texts))

    def _repeated(self, pattern, texts):
        return texts * self.options.repeats.get(pattern, 1)

    def _short(self, texts):
        """The texts that fit in the longest row, and their lengths."""
        lengths = count_tokens(self.tokenizer, texts, 2)
        fits = lengths <= self.recipe.sequence_length
        return list(itertools.compress(texts, fits)), lengths[fits]

    def _chosen(self, length, rows):
        """The numbers of the texts of a stage, a multiple of its rows per update."""
        chosen = np.flatnonzero(self.lengths <= length)
        if len(chosen) < rows:
            raise ValueError(
                "Every stage must have texts for one update. Received: "
                f"{len(chosen)} texts of at most {length} tokens, and {rows} rows per "
                "update."
            )
        return chosen[: len(chosen) // rows * rows]

    def _axes(self, texts, vectors, path):
        """The axes of the student's vectors; the first call writes them."""
        if not path.exists():
            if self.recipe.start is None:
                width = self.recipe.config_value("hidden_dim")
                axes = principal_axes(vectors, width)
            else:
                sample = slice(None, None, -(-len(texts) // ALIGNED_TEXTS))
                student = self._start().predict(texts[sample], ROWS_AT_ONCE, verbose=0)
                axes = aligned_axes(vectors[sample], student)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.save(file, axes)
        return np.load(path)

    def _words(self, texts):
        """The vectors of the words of some of the texts, ragged; others have none."""
        teacher = registry.from_preset(self.options.teacher, None, load_weights=False)
        if not isinstance(teacher.tokenizer, WordPieceTokenizer):
            raise ValueError(
                "`words` needs a teacher with word pieces. Received: a "
                f"{type(teacher.tokenizer).__name__}. Set `words` to 0."
            )
        step = -(-len(texts) // self.options.word_texts)
        counts, found = np.zeros(len(texts), int), []
        counts[::step] = count_words(self.tokenizer, texts[::step])
        for part, vectors in self.teacher.embed_words(texts[::step]):
            agree = agreeing_words(part, self.tokenizer, teacher.tokenizer)
            projected = project(vectors, self.axes) * agree[:, None]
            found.append(projected.astype("float16"))
        return tf.RaggedTensor.from_row_lengths(np.concatenate(found), counts)

    def build(self):
        """Makes the compiled model at the start of the run."""
        model = self._start()
        if self.options.table and self.recipe.start is None:
            self._start_table(model.backbone.named_layers["token_embedding"])
        if self.options.words:
            model = with_words(model)
        self._compile(model, make_optimizer(self.recipe), self.options.words)
        return model

    def _start(self):
        """The student before the training."""
        recipe = self.recipe
        size = self.tokenizer.vocabulary_size
        return start_model(
            recipe,
            TextEmbedder,
            self.tokenizer,
            {**recipe.config, "vocabulary_size": size},
            sequence_length=recipe.sequence_length,
            **POOLING,
        )

    def _compile(self, model, optimizer=None, words=0.0):
        loss = DistillationLoss(self.options.pairs, words)
        model.compile(optimizer, loss, weighted_metrics=[TextCosine(name="cosine")])

    def _start_table(self, embedding):
        """Starts the table from the teacher's vectors of the single tokens."""
        tokens = [token.removeprefix("##") for token in self.tokenizer.vocabulary]
        vectors = project(self.teacher.embed(tokens), self.axes)
        scale = ops.std(embedding.embeddings) * np.sqrt(vectors.shape[1])
        embedding.embeddings.assign(vectors * ops.convert_to_numpy(scale))

    def stage(self, model, length, rows, steps, done):
        """The batches of a stage that are left; see the base class."""
        chosen = self._chosen(length, rows)
        updates, targets = len(chosen) // rows, self.order[chosen]
        if self.words is None:
            targets = self.vectors[targets]
        columns = [self.texts[number] for number in chosen], targets
        batches = self.rest(model, columns, updates, steps, done, batch_size=rows)
        return batches if self.words is None else batches.map(self._with_words)

    def _with_words(self, x, numbers):
        """A batch with the vectors (B, 1 + W, D) of some of the different texts."""
        numbers = tf.cast(numbers, tf.int32)
        shape = [-1, tf.shape(x["word_positions"])[1], self.vectors.shape[1]]
        words = tf.gather(self.words, numbers).to_tensor(0, shape=shape)
        texts = tf.gather(self.vectors, numbers)[:, None]
        return x, tf.concat([texts, tf.cast(words, tf.float32)], axis=1)

    def record(self):
        """What the record of the preset says of this run: the teacher."""
        return {"teacher": self.teacher.record}

    def evaluate(self, model):
        """Loss and mean cosine with the teacher's vectors, for every held-out file."""
        found, embedder = {}, self.finished(model)
        self._compile(embedder)
        for name, texts in self.held_out.items():
            targets = project(self.teacher.embed(texts), self.axes)
            found[name] = embedder.evaluate(texts, targets, return_dict=True, verbose=0)
        return found

    def finished(self, model):
        """Makes a copy of the model with the config for fine-tuning."""
        options = {**POOLING, "sequence_length": model.sequence_length}
        copy = finished_model(self.recipe, model, TextEmbedder, **options)
        segments = copy.backbone.named_layers.get("segment_embedding")
        if segments is not None:
            (table,) = segments.get_weights()
            segments.set_weights([np.repeat(table[:1], len(table), axis=0)])
        return copy
