"""The table of families and tasks that every promise of the contract runs over."""

import dataclasses

import numpy as np
import tiny
from own_family import BagTokenizer
from tiny_cove import tiny_bitext_tokenizer
from tiny_gpt import tiny_byte_tokenizer
from tiny_translator import tiny_tokenizer

from zoo import text


@dataclasses.dataclass(frozen=True)
class Family:
    """A backbone to test.

    Args:
        name: what the test is called.
        family: str, as `zoo.models.FAMILIES` knows it.
        config: dict, fields of a tiny config.
        outputs: dict of output name to shape after the batch, L for the length.
        pads: dict of input name to what padding holds there, the tokens first.
        causal: whether a position sees none to its right.
        attention: whether attention scores can be asked for.
        characters: how many ids a token has, 0 for one that is no list.
        beside: names of inputs that cannot be derived from the tokens.
        sides: how the names of inputs, layers and outputs begin, for each sequence.
        least_weights: how many variables a task on it trains at least.
        tokenizer: function that makes its tokenizer; None for a variant, which has that
            of the row with the family's name, and on which few tasks are tested.
    """

    name: str
    family: str
    config: dict
    outputs: dict
    pads: dict
    causal: bool = False
    attention: bool = True
    characters: int = 0
    beside: tuple = ()
    sides: tuple = ("",)
    least_weights: int = 16
    tokenizer: object = None

    @property
    def tokens(self):
        """Name of the input that holds the tokens."""
        return next(iter(self.pads))

    @property
    def mask(self):
        """Name of the input that tells tokens from padding."""
        return f"{self.sides[0]}padding_mask"

    @property
    def tasks(self):
        """Names of the tasks that it can have."""
        predicts = PREDICTS.get(self.name, PREDICTS.get(self.family))
        if self.causal and predicts == "masked":
            predicts = "masked or next"
        own = TASKS_OF.get(predicts, ())
        if "" not in self.sides:
            return own
        without = {name for names in TASKS_OF.values() for name in names} - {*own}
        return [case.name for case in TASKS if case.name not in without]

    def inputs(self, rows=3, length=10, seed=0):
        """Rows of 10, 7 and 4 tokens, two segments in each."""
        shape = (rows, length, self.characters) if self.characters else (rows, length)
        ids = np.random.default_rng(seed).integers(5, 60, shape)
        column, ends = np.arange(length)[None], length - 3 * np.arange(rows)[:, None]
        mask = column < ends
        inside = mask.reshape(*mask.shape, *[1] * (ids.ndim - 2))
        found = {
            "token_ids": np.where(inside, ids, 0),
            self.tokens: np.where(inside, ids, self.pads[self.tokens]),
            "character_ids": np.where(inside, ids, 0),
            "segment_ids": (column >= 3) & mask,
            "word_ids": np.where(mask, ids.reshape(*mask.shape, -1)[:, :, 0], 0),
            "padding_mask": mask,
        }
        found |= {f"{side}{name}": found[name] for side in self.sides for name in found}
        return {key: found[key].astype("int32") for key in self.pads}


PREDICTS = {
    "bert": "masked",
    "cove": "target",
    "elmo": "both",
    "gpt": "next",
    "transformer": "target",
    "transformer_encoder": None,
    "ulmfit": "next",
}
TASKS_OF = {
    "masked": ["masked_lm"],
    "next": ["causal_lm"],
    "masked or next": ["masked_lm", "causal_lm"],
    "both": ["bidirectional_lm"],
    "target": ["translator"],
}
BERT_PADS = {"token_ids": 0, "segment_ids": 0, "padding_mask": 0}
SIDES = ("encoder", "decoder")
ENCODER = {"vocabulary_size": 64, "num_decoder_layers": 0, "norm_first": True}
KNOWN = [*tiny.PLAIN, *tiny.GOOD]
LISTED = ["<blank>", "<s>", "</s>", "<unk>", *KNOWN, *tiny.BAD]
FAMILIES = [
    Family(
        "bert",
        "bert",
        tiny.CONFIG,
        {"sequence_output": ("L", 16), "pooled_output": (16,)},
        BERT_PADS,
        tokenizer=lambda: text.WordPieceTokenizer(tiny.VOCABULARY),
    ),
    Family(
        "bert_without_pooler",
        "bert",
        {**tiny.CONFIG, "pooler": False, "activation": "gelu", "num_segments": 3},
        {"sequence_output": ("L", 16)},
        BERT_PADS,
    ),
    Family(
        "bert_causal",
        "bert",
        {**tiny.CONFIG, "causal": True},
        {"sequence_output": ("L", 16), "pooled_output": (16,)},
        BERT_PADS,
        causal=True,
    ),
    Family(
        "elmo",
        "elmo",
        tiny.ELMO_CONFIG,
        {"sequence_output": ("L", 16)},
        {"character_ids": 0, "padding_mask": 0},
        attention=False,
        characters=6,
        tokenizer=lambda: text.CharacterTokenizer(12, tiny.WORDS),
    ),
    Family(
        "elmo_words",
        "elmo",
        {**tiny.ELMO_CONFIG, "word_vocabulary_size": 60, "word_dim": 5},
        {"sequence_output": ("L", 16)},
        {"character_ids": 0, "padding_mask": 0, "word_ids": 0},
        attention=False,
        characters=6,
        beside=("word_ids",),
    ),
    Family(
        "taglm",
        "taglm",
        tiny.TAGLM_CONFIG,
        {"sequence_output": ("L", 16)},
        {"word_ids": 0, "character_ids": 0, "padding_mask": 0},
        attention=False,
        characters=6,
        beside=("character_ids",),
        tokenizer=lambda: text.TaggerTokenizer(KNOWN, max_characters=12),
    ),
    Family(
        "ulmfit",
        "ulmfit",
        tiny.ULMFIT_CONFIG,
        {"sequence_output": ("L", 16)},
        {"token_ids": 0, "padding_mask": 0},
        attention=False,
        causal=True,
        least_weights=7,
        tokenizer=lambda: text.WordPieceTokenizer(tiny.VOCABULARY),
    ),
    Family(
        "ulmfit_qrnn",
        "ulmfit",
        {**tiny.ULMFIT_CONFIG, "cell": "qrnn"},
        {"sequence_output": ("L", 16)},
        {"token_ids": 0, "padding_mask": 0},
        attention=False,
        causal=True,
        least_weights=5,
    ),
    Family(
        "gpt",
        "gpt",
        tiny.GPT_CONFIG,
        {"sequence_output": ("L", 16)},
        {"token_ids": 0, "padding_mask": 0},
        causal=True,
        beside=("padding_mask",),
        tokenizer=tiny_byte_tokenizer,
    ),
    Family(
        "gpt_norm_last",
        "gpt",
        {**tiny.GPT_CONFIG, "norm_first": False},
        {"sequence_output": ("L", 16)},
        {"token_ids": 0, "padding_mask": 0},
        causal=True,
        beside=("padding_mask",),
    ),
    Family(
        "transformer",
        "transformer",
        {**tiny.TRANSFORMER_CONFIG, "vocabulary_size": 340, "norm_first": False},
        {f"{side}_sequence_output": ("L", 16) for side in SIDES},
        {"encoder_token_ids": 0, "encoder_padding_mask": 0, "decoder_token_ids": 0},
        beside=("decoder_token_ids",),
        sides=tuple(f"{side}_" for side in SIDES),
        tokenizer=tiny_tokenizer,
    ),
    Family(
        "transformer_encoder",
        "transformer",
        {**tiny.TRANSFORMER_CONFIG, **ENCODER},
        {"sequence_output": ("L", 16)},
        {"token_ids": 0, "padding_mask": 0},
        tokenizer=lambda: text.TokenListTokenizer(LISTED),
    ),
    Family(
        "cove",
        "cove",
        tiny.COVE_CONFIG,
        {"sequence_output": ("L", 16)},
        {"word_ids": 0, "padding_mask": 0},
        attention=False,
        least_weights=12,
        tokenizer=tiny_bitext_tokenizer,
    ),
    # Of a user, see `own_family.py`.
    Family(
        "bag",
        "bag",
        {"vocabulary_size": 60},
        {"sequence_output": ("L", 16)},
        {"word_ids": 0, "padding_mask": 0},
        attention=False,
        least_weights=3,
        tokenizer=lambda: BagTokenizer([*tiny.PLAIN, *tiny.GOOD, *tiny.BAD]),
    ),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A task to test on every family.

    Args:
        task: str, as `zoo.tasks.TASKS` knows it.
        options: dict of its arguments.
        targets: function of the tiny texts and labels, to what `fit` takes as `y`.
        output: shape of the output after the batch, P for predictions, W for words,
            L for the length.
        called: what the test is called, by default as the task.
    """

    task: str
    options: dict
    targets: object
    output: tuple
    called: str = ""

    @property
    def name(self):
        """What the test is called."""
        return self.called or self.task

    @property
    def family(self):
        """The first family that has the task."""
        return next(f for f in FAMILIES if self.name in f.tasks)


def vectors(texts, labels):
    """A direction for each label."""
    sign = np.array([[1.0 if label == "good" else -1.0] for label in labels])
    return (sign * np.linspace(-1, 1, 32)).astype("float32")


def translations(texts):
    """The same words in the other order."""
    return [" ".join(reversed(text.split())) for text in texts]


TASKS = [
    Case(
        "text_classifier",
        {"labels": tiny.LABELS, "head_dropout": 0.0, "sequence_length": 16},
        lambda texts, labels: list(labels),
        (2,),
    ),
    Case(
        "text_regressor",
        {"pooling": "mean", "head_dropout": 0.0},
        lambda texts, labels: [float(label == "good") for label in labels],
        (1,),
    ),
    Case("masked_lm", {"mask_rate": 0.3}, lambda texts, labels: None, ("P", 64)),
    Case(
        "bidirectional_lm",
        {"num_samples": None},
        lambda texts, labels: None,
        (2, "L"),
    ),
    Case("causal_lm", {}, lambda texts, labels: None, ("L", 64)),
    Case("text_embedder", {"layers": [-2, -1]}, vectors, (32,)),
    Case(
        "token_classifier",
        {"labels": tiny.TAGS, "head_dropout": 0.0},
        tiny.make_tags,
        ("W", 3),
    ),
    Case(
        "token_classifier",
        {"labels": tiny.TAGS, "decoder": "crf", "scheme": "IOB2", "head_dropout": 0.0},
        tiny.make_tags,
        ("W", 3, 3),
        "token_classifier_crf",
    ),
    Case(
        "multiple_choice",
        {"num_choices": 2, "head_dropout": 0.0},
        lambda texts, labels: [int(label == "good") for label in labels],
        (2,),
    ),
    Case(
        "question_answerer",
        {"sequence_length": 32, "num_answers": 3, "null_threshold": 0.0},
        lambda texts, labels: np.array([[0, 1]] * len(texts)),  # in the first word
        (2, "L"),
    ),
    Case("translator", {}, lambda texts, labels: translations(texts), ("T", 340)),
    # Of a user, see `own_family.py`.
    Case(
        "pair_ranker",
        {},
        lambda texts, labels: ["first" if x == "good" else "second" for x in labels],
        (1,),
    ),
]


def columns_of(task, texts):
    """Texts as the task takes them: for each further column in another order."""
    count = len(task.required_columns)
    columns = [[*texts[i:], *texts[:i]] for i in range(count)]
    return columns[0] if count == 1 else tuple(columns)
