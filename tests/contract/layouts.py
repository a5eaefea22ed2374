"""The table of the layouts of other programs, with a complete directory of each."""

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import published_directories as directories
from bert_golden import GOLDEN as BERT
from bert_golden import save_as_garden, save_as_google
from fairseq_files import FAIRSEQ, FILES
from foreign_files import find_layout
from gpt_golden import GOLDEN as GPT
from gpt_golden import write_archive, write_checkpoint
from many_langs_reference import write_model as write_many_langs
from places import GOLDENS
from published_directories import bert_classifier, copy, gpt_pair, subwords
from test_cove import write_files as write_cove
from transformer_golden import write_garden, write_tensor2tensor

from zoo.models import bert, cove, elmo, gpt, transformer, ulmfit
from zoo.registry.checking import read_source


@dataclasses.dataclass(frozen=True)
class Directory:
    """A directory of another program, with tiny weights.

    Args:
        name: str, what a test of it is called.
        family: module of the family.
        layout: str, the name of the layout.
        make: function of a path that writes the directory.
        task: str, the class of `zoo` that it becomes; None for the backbone.
        spare: str, a regular expression for names of arrays that may be absent, or that
            are no weights.
    """

    name: str
    family: object
    layout: str
    make: Callable
    task: str | None = None
    spare: str = ""

    @property
    def reader(self):
        """The `zoo.family.Layout`."""
        return find_layout(self.family, self.layout)

    @property
    def writer(self):
        """Its function that writes a directory, or None."""
        return self.reader.write


def read(directory):
    """The content of a directory and the messages of errors and warnings, list."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            source, messages = read_source(directory), []
        except (ValueError, FileNotFoundError) as error:
            source, messages = None, [str(error)]
    return source, messages + [str(warning.message) for warning in found]


def same(first, second):
    """Whether two sources describe one model."""
    fields = ("family", "layout", "config", "tokenizer", "task", "task_options")
    fields += ("head_options", "defaults")
    return (
        all(getattr(first, name) == getattr(second, name) for name in fields)
        and first.weights.keys() == second.weights.keys()
        and all(np.array_equal(a, second.weights[k]) for k, a in first.weights.items())
    )


HUB, MARIAN = "hugging_face", GOLDENS / "marian"
# The functions that need options.
CLASSIFIERS = {
    "texts": bert_classifier("BertForSequenceClassification"),
    "words": bert_classifier("BertForTokenClassification", pooler=False),
    "choices": bert_classifier("BertForMultipleChoice", classes=1),
    "numbers": bert_classifier("BertForSequenceClassification", classes=1),
    "spans": bert_classifier("BertForQuestionAnswering", head="qa_outputs"),
}
PAIRS = {
    "gpt2 hub": ("gpt2", "vocab.json", "merges.txt", copy(GPT / "gpt2")),
    "gpt1": ("gpt1", "encoder_bpe_40000.json", "vocab_40000.bpe", write_archive),
    "gpt2": ("gpt2", "encoder.json", "vocab.bpe", write_checkpoint),
}
PAIRS = {name: gpt_pair(*arguments) for name, arguments in PAIRS.items()}
# Arrays that may be absent, or that are no weights.
ADAM, ADAGRAD = r"global_step|.*/adam_[mv]", r".*/Adagrad|global_step|train_.*"
OBJECTS = r"save_counter/.*|optimizer/.*|.*/\.OPTIMIZER_SLOT/.*"
OPENNMT = rf"{OBJECTS}|model/decoder/output_layer/.*"
FAIRSEQ_SPARE = (
    r".*(version|_float_tensor|(in_proj|out_proj|fc1|fc2)_(weight|bias))|"
    r"decoder\.output_projection\.weight"
)
SPACES = r"training/.*|losses_avg/.*|global_step|.*/target_space_embedding/kernel"
CTRANSLATE2 = r".*/num_heads|decoder/projection/bias"
FASTAI, AWD_LSTM_LM = r"0\.encoder_dp\.emb\.weight|1\.decoder\..*", r"decoder\..*"
BIAS, MARIAN_BIAS = "final_logits_bias", "decoder_ff_logit_out_b"
ROWS = {
    bert: (
        ("bert google", "google", save_as_google, None, ADAM),
        ("bert model_garden", "model_garden", save_as_garden, None, OBJECTS),
        ("bert hugging_face", HUB, copy(BERT)),
        ("bert texts", HUB, CLASSIFIERS["texts"], "TextClassifier"),
        ("bert words", HUB, CLASSIFIERS["words"], "TokenClassifier"),
        ("bert choices", HUB, CLASSIFIERS["choices"], "MultipleChoice"),
        ("bert numbers", HUB, CLASSIFIERS["numbers"], "TextRegressor"),
        ("bert spans", HUB, CLASSIFIERS["spans"], "QuestionAnswerer"),
        ("bert sentences", HUB, directories.bert_sentences, "TextEmbedder"),
        ("bert keras_nlp", "keras_nlp", directories.bert_keras_nlp),
    ),
    gpt: (
        ("gpt1 hugging_face", HUB, copy(GPT / "gpt1"), "CausalLM"),
        ("gpt2 hugging_face", HUB, copy(GPT / "gpt2"), "CausalLM"),
        ("gpt2 of two files", HUB, PAIRS["gpt2 hub"], "CausalLM"),
        ("gpt1 openai", "openai_gpt", PAIRS["gpt1"], "CausalLM"),
        ("gpt2 openai", "openai_gpt2", PAIRS["gpt2"], "CausalLM"),
        ("gpt2 keras_nlp", "keras_nlp", directories.gpt_keras_nlp, "CausalLM"),
    ),
    transformer: (
        *(
            (f"fairseq {n}", "fairseq", copy(FAIRSEQ / n), "Translator", FAIRSEQ_SPARE)
            for n in FILES
        ),
        ("marian joint", HUB, copy(MARIAN / "joint"), "Translator", BIAS),
        ("marian separate", HUB, copy(MARIAN / "separate"), "Translator", BIAS),
        ("marian npz", "marian", directories.marian, "Translator", MARIAN_BIAS),
        (
            "tensor2tensor",
            "tensor2tensor",
            subwords(write_tensor2tensor, 17),
            "Translator",
            SPACES,
        ),
        (
            "model_garden",
            "model_garden",
            subwords(write_garden, 13),
            "Translator",
            OBJECTS,
        ),
        ("opennmt_tf", "opennmt_tf", directories.opennmt_tf, "Translator", OPENNMT),
        (
            "ctranslate2",
            "ctranslate2",
            directories.ctranslate2_6,
            "Translator",
            CTRANSLATE2,
        ),
    ),
    elmo: (
        ("elmo hdf5", "hdf5", directories.elmo_hdf5),
        ("elmo tf1", "tf1", directories.elmo_tf1, None, ADAGRAD),
        ("many_langs", "many_langs", write_many_langs),
    ),
    ulmfit: (
        ("fastai", "fastai", directories.fastai, "CausalLM", FASTAI),
        (
            "awd_lstm_lm",
            "awd_lstm_lm",
            directories.awd_lstm_lm,
            "CausalLM",
            AWD_LSTM_LM,
        ),
    ),
    cove: (("cove", "mt_lstm", write_cove),),
}
DIRECTORIES = {
    name: Directory(name, family, *rest)
    for family, rows in ROWS.items()
    for name, *rest in rows
}
