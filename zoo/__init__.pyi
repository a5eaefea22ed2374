"""The types of the public names, for type checkers and editors."""

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, overload

import keras
import numpy.typing as npt

from zoo import beam as beam
from zoo import checkpoint as checkpoint
from zoo import data as data
from zoo import evaluation as evaluation
from zoo import generation as generation
from zoo import layers as layers
from zoo import models as models
from zoo import serving as serving
from zoo import tasks as tasks
from zoo import text as text
from zoo import training as training
from zoo import visualize as visualize

__version__: str

Array: TypeAlias = npt.NDArray[Any]
Path: TypeAlias = str | os.PathLike[str]
# Lists, arrays, pandas, Arrow, Hugging Face datasets or `tf.data`; a tuple of columns.
Data: TypeAlias = Any
Answers: TypeAlias = dict[str, Any]

class Task(keras.Model):
    """What all tasks have; see `zoo.tasks.Task`."""

    task_name: ClassVar[str]
    backbone: Any
    tokenizer: Any
    def compile(
        self,
        optimizer: Any = None,
        loss: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        *,
        learning_rate: Any = None,
        remat: bool = False,
        **kwargs: Any,
    ) -> None: ...
    def fit(
        self,
        x: Data = None,
        y: Data = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        verbose: int | str = "auto",
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int = 1,
        *,
        seed: int = 0,
        token_budget: int | None = None,
    ) -> keras.callbacks.History: ...
    def evaluate(
        self,
        x: Data = None,
        y: Data = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any: ...
    def predict(
        self,
        x: Data,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
    ) -> Any: ...
    def answer(self, x: Data, batch_size: int | None = None) -> Answers: ...
    def answer_file(
        self,
        data: Path,
        output: Path,
        text_column: str | int | None = None,
        pair_column: str | int | None = None,
        *,
        batch_size: int | None = None,
        verbose: int = 1,
    ) -> Any: ...
    def batches(
        self,
        x: Data,
        y: Data = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        epochs: Iterable[int] = (0,),
        token_budget: int | None = None,
    ) -> Any: ...
    def find_learning_rate(
        self,
        x: Data,
        y: Data = None,
        batch_size: int | None = None,
        sample_weight: Any = None,
        *,
        lowest: float = 1e-07,
        highest: float = 1.0,
        updates: int = 100,
        seed: int = 0,
    ) -> Any: ...
    def save(
        self,
        filepath: Path,
        overwrite: bool = True,
        zipped: bool | None = None,
        **kwargs: Any,
    ) -> None: ...
    def save_to_preset(
        self,
        directory: Path,
        layout: str = "zoo",
        dtype: Literal["float32", "float16"] = "float32",
        heads: Any = None,
    ) -> None: ...
    def save_adapter(self, path: Path) -> None: ...
    def load_adapter(self, path: Path) -> None: ...
    def export(
        self,
        directory: Path,
        version: int | None = None,
        pair: bool | None = None,
        **kwargs: Any,
    ) -> Any: ...

class TextClassifier(Task):
    labels: Any
    def __init__(
        self,
        backbone: Any,
        tokenizer: Any = None,
        labels: int | Sequence[str] = 2,
        head: str | None = None,
        multi_label: bool = False,
        threshold: Any = None,
        pos_weight: Any = None,
        separator: str | None = None,
        label_smoothing: float = 0.0,
        **kwargs: Any,
    ) -> None: ...
    def find_thresholds(
        self,
        x: Data,
        y: Data = None,
        per_label: bool = False,
        batch_size: int | None = None,
    ) -> Any: ...

class TextRegressor(Task):
    def __init__(
        self,
        backbone: Any,
        tokenizer: Any = None,
        head: str | None = None,
        **kwargs: Any,
    ) -> None: ...

class TextEmbedder(Task):
    def __init__(
        self,
        backbone: Any,
        tokenizer: Any = None,
        pooling: str = "mean",
        layers: Sequence[int] | None = None,
        normalize: bool = False,
        **kwargs: Any,
    ) -> None: ...

class MultipleChoice(Task):
    def __init__(
        self,
        backbone: Any,
        tokenizer: Any = None,
        num_choices: int = 4,
        head: str | None = None,
        **kwargs: Any,
    ) -> None: ...
    def choose(self, text: str, choices: Sequence[str]) -> Answers: ...

class QuestionAnswerer(Task):
    def answer_question(self, question: str, context: str) -> Answers: ...
    def find_null_threshold(
        self, x: Data, y: Data = None, batch_size: int | None = None
    ) -> float: ...

class TokenClassifier(Task):
    labels: Any
    def __init__(
        self,
        backbone: Any,
        tokenizer: Any = None,
        labels: int | Sequence[str] = 2,
        decoder: Literal["softmax", "crf"] = "softmax",
        scheme: str | None = None,
        head_dropout: float = 0.1,
        label_smoothing: float = 0.0,
        **kwargs: Any,
    ) -> None: ...
    def tag(self, texts: Data, batch_size: int | None = None) -> Any: ...
    def entities(self, texts: Data, batch_size: int | None = None) -> Any: ...
    def score(
        self, x: Data, y: Data, batch_size: int | None = None
    ) -> dict[str, Any]: ...

class MaskedLM(Task):
    def fill_mask(self, texts: str | Sequence[str], k: int = 5) -> Any: ...

class CausalLM(Task):
    def generate(
        self,
        texts: str | Sequence[str],
        batch_size: int | None = None,
        return_scores: bool = False,
        stream: bool = False,
        **options: Any,
    ) -> Any: ...

class BidirectionalLM(Task): ...

class Translator(Task):
    def translate(
        self,
        texts: str | Sequence[str],
        batch_size: int | None = None,
        return_scores: bool = False,
        stream: bool = False,
        **options: Any,
    ) -> Any: ...

class Summarizer(Translator):
    def summarize(
        self,
        texts: str | Sequence[str],
        batch_size: int | None = None,
        return_scores: bool = False,
        stream: bool = False,
        **options: Any,
    ) -> Any: ...

class Parser(Translator):
    def parse(
        self,
        sentences: str | Sequence[str],
        batch_size: int | None = None,
        return_scores: bool = False,
        **options: Any,
    ) -> Any: ...

class TextEnsemble:
    def __init__(
        self, members: Sequence[TextClassifier], name: str = "text_ensemble"
    ) -> None: ...
    def predict(
        self, x: Data, batch_size: int | None = None, verbose: int | str = "auto"
    ) -> Array: ...
    def answer(self, x: Data, batch_size: int | None = None) -> Answers: ...
    def evaluate(
        self,
        x: Data,
        y: Data = None,
        batch_size: int | None = None,
        verbose: int | str = 0,
        sample_weight: Any = None,
        return_dict: bool = False,
    ) -> Any: ...
    def save(
        self,
        filepath: Path,
        overwrite: bool = True,
        zipped: bool | None = None,
        **kwargs: Any,
    ) -> None: ...
    def save_to_preset(
        self, directory: Path, dtype: Literal["float32", "float16"] = "float32"
    ) -> None: ...

class Family:
    def __init__(
        self,
        backbone: type,
        tokenizers: tuple[type, ...],
        learning_rate: float = 0.001,
        warmup_share: float = 0.1,
        head_multiplier: float = 1.0,
        head: str = "linear",
        layouts: tuple[Layout, ...] = (),
        heads: Mapping[str, Any] = ...,
        encoder: Mapping[str, Any] = ...,
    ) -> None: ...
    @property
    def name(self) -> str: ...

class Layout:
    def __init__(
        self,
        name: str,
        recognise: Callable[..., Any],
        read: Callable[..., Any],
        write: Callable[..., Any] | None = None,
        holds: Callable[..., Any] | None = None,
        files: Callable[..., Any] | None = None,
        languages: bool = False,
    ) -> None: ...

@overload
def from_preset(
    preset: Path,
    task: Literal["text_classifier"] | type[TextClassifier],
    **options: Any,
) -> TextClassifier: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["text_regressor"] | type[TextRegressor],
    **options: Any,
) -> TextRegressor: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["text_embedder"] | type[TextEmbedder],
    **options: Any,
) -> TextEmbedder: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["multiple_choice"] | type[MultipleChoice],
    **options: Any,
) -> MultipleChoice: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["question_answerer"] | type[QuestionAnswerer],
    **options: Any,
) -> QuestionAnswerer: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["token_classifier"] | type[TokenClassifier],
    **options: Any,
) -> TokenClassifier: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["masked_lm"] | type[MaskedLM],
    **options: Any,
) -> MaskedLM: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["causal_lm"] | type[CausalLM],
    **options: Any,
) -> CausalLM: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["bidirectional_lm"] | type[BidirectionalLM],
    **options: Any,
) -> BidirectionalLM: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["translator"] | type[Translator],
    **options: Any,
) -> Translator: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["summarizer"] | type[Summarizer],
    **options: Any,
) -> Summarizer: ...
@overload
def from_preset(
    preset: Path,
    task: Literal["parser"] | type[Parser],
    **options: Any,
) -> Parser: ...
@overload
def from_preset(
    preset: Path,
    task: Any = "auto",
    *,
    dtype: Any = None,
    load_weights: bool = True,
    seed: int | None = None,
    layout: str | None = None,
    file: str | None = None,
    languages: Any = None,
    learning_rate: Any = None,
    **options: Any,
) -> Any: ...
def load_model(path: Path, **kwargs: Any) -> Any: ...
def local_path(path: Path, directory: bool = True) -> pathlib.Path: ...
def list_presets(family: str | None = None) -> tuple[str, ...]: ...
def preset_info(name: str) -> dict[str, Any]: ...
def make_tagger(
    words: Data,
    tags: Data,
    language_models: Sequence[Any] | None = None,
    vectors: tuple[Sequence[str], Array] | None = None,
    *,
    minimum: int | None = 2,
    limit: int | None = None,
    unknown: Literal["unk", "random", "class"] = "unk",
    seed: int | None = None,
    dtype: Any = None,
    **options: Any,
) -> TokenClassifier: ...
def extend_vocabulary(
    model: TokenClassifier, words: Sequence[str], vectors: Array
) -> TokenClassifier: ...
def transfer_vocabulary(model: Any, vocabulary: Any) -> Any: ...
def train_word_vectors(
    texts: Data, echo: Callable[[str], Any] | None = None, **options: Any
) -> tuple[list[str], Array]: ...
def finetune_ulmfit(
    preset: Path,
    texts: Data,
    labels: Data,
    unlabeled: Data = None,
    validation_data: Any = None,
    epochs: Any = None,
    language_model_epochs: int = 1,
    seed: int = 0,
    output: Path | None = None,
    **options: Any,
) -> Any: ...
def soft_labels(
    teacher: Any,
    texts: Data,
    labels: Sequence[str] | None = None,
    temperature: float = 1.0,
    batch_size: int | None = None,
) -> Any: ...
def training_memory(
    preset: Path,
    rows: int,
    sequence_length: int,
    task: str | None = None,
    dtype: Any = None,
    optimizer: Any = "adamw",
    accumulate: int = 1,
    remat: bool = False,
    **options: Any,
) -> Any: ...
def strategy(name: str = "auto", devices: int | None = None) -> Any: ...
def assess(model: Any, x: Data, y: Data) -> Any: ...
def embed(
    texts: Data,
    preset: Any,
    layers: Any = None,
    pooling: str | None = None,
    output: Path | None = None,
    *,
    batch_size: int | None = None,
    verbose: int = 1,
    **options: Any,
) -> Any: ...
def embed_words(
    texts: Data,
    preset: Any,
    layers: Any = (-1,),
    *,
    batch_size: int = 32,
    **options: Any,
) -> Any: ...
def find_uses(
    preset: Any,
    words: str | Sequence[str],
    texts: Data,
    layers: Any = (-1,),
    *,
    limit: int | None = 500,
    **options: Any,
) -> Any: ...
def attend(
    model: Any,
    text: Any,
    target: Any = None,
    output: Path | None = None,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Any: ...
def probe(
    preset: Any,
    train: Any,
    test: Any,
    task: str | None = None,
    *,
    seed: int = 0,
    limit: int | None = 2000,
    **options: Any,
) -> Any: ...
def enable_lora(
    model: Any,
    rank: int,
    layers: str | Sequence[str] | None = None,
    alpha: float | None = None,
) -> None: ...
def evaluate_suite(
    preset: Any,
    data: Path,
    output: Path,
    tasks: Any = None,
    seeds: int = 1,
    *,
    fit: Any = None,
    compare: Any = None,
    echo: Callable[[str], Any] = ...,
    **settings: Any,
) -> Any: ...
def register_family(family: Family) -> Any: ...
def register_task(kind: type) -> Any: ...
