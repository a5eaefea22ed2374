"""The table of families and tasks that every promise of the contract runs over."""

import dataclasses

import numpy as np
import tiny
from own_family import BagTokenizer
from task_cases import TASKS
from tiny_cove import tiny_bitext_tokenizer
from tiny_gpt import tiny_byte_tokenizer
from tiny_translator import tiny_tokenizer

from zoo import text


@dataclasses.dataclass(frozen=True)
class Family:
    """A backbone to test.

    Args:
        name: what the test is called.
        config: dict, fields of a tiny config.
        pads: dict of input name to what padding holds there, the tokens first.
        outputs: dict of output name to shape after the batch, L for the length.
        family: str, as `zoo.models.FAMILIES` knows it, by default `name`.
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
    config: dict
    pads: dict
    outputs: dict = dataclasses.field(default_factory=lambda: SEQUENCE)
    family: str = ""
    causal: bool = False
    attention: bool = True
    characters: int = 0
    beside: tuple = ()
    sides: tuple = ("",)
    least_weights: int = 16
    tokenizer: object = None

    def __post_init__(self):
        object.__setattr__(self, "family", self.family or self.name)

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


def variant(family, name, fields, **changes):
    """A row of the same family whose config has other fields."""
    changes = {"config": {**family.config, **fields}, "tokenizer": None, **changes}
    return dataclasses.replace(family, name=name, **changes)


SEQUENCE = {"sequence_output": ("L", 16)}
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
SIDES = ("encoder", "decoder")
ENCODER = {"vocabulary_size": 64, "num_decoder_layers": 0, "norm_first": True}
KNOWN = [*tiny.PLAIN, *tiny.GOOD]
LISTED = ["<blank>", "<s>", "</s>", "<unk>", *KNOWN, *tiny.BAD]
CHARACTERS = {"attention": False, "characters": 6}
RECURRENT = {"attention": False, "causal": True}
GPT = {"causal": True, "beside": ("padding_mask",)}
TOKENS, WORDS = ({name: 0, "padding_mask": 0} for name in ("token_ids", "word_ids"))
BERT = Family(
    "bert",
    tiny.CONFIG,
    {"token_ids": 0, "segment_ids": 0, "padding_mask": 0},
    {"sequence_output": ("L", 16), "pooled_output": (16,)},
    tokenizer=lambda: text.WordPieceTokenizer(tiny.VOCABULARY),
)
ELMO = Family(
    "elmo",
    tiny.ELMO_CONFIG,
    {"character_ids": 0, "padding_mask": 0},
    **CHARACTERS,
    tokenizer=lambda: text.CharacterTokenizer(12, tiny.WORDS),
)
ULMFIT = Family(
    "ulmfit",
    tiny.ULMFIT_CONFIG,
    TOKENS,
    **RECURRENT,
    least_weights=7,
    tokenizer=lambda: text.WordPieceTokenizer(tiny.VOCABULARY),
)
GPT2 = Family("gpt", tiny.GPT_CONFIG, TOKENS, **GPT, tokenizer=tiny_byte_tokenizer)
TRANSFORMER = Family(
    "transformer",
    {**tiny.TRANSFORMER_CONFIG, "vocabulary_size": 340, "norm_first": False},
    {"encoder_token_ids": 0, "encoder_padding_mask": 0, "decoder_token_ids": 0},
    {f"{side}_sequence_output": ("L", 16) for side in SIDES},
    beside=("decoder_token_ids",),
    sides=tuple(f"{side}_" for side in SIDES),
    tokenizer=tiny_tokenizer,
)
FAMILIES = [
    BERT,
    variant(
        BERT,
        "bert_without_pooler",
        {"pooler": False, "activation": "gelu", "num_segments": 3},
        outputs=SEQUENCE,
    ),
    variant(BERT, "bert_causal", {"causal": True}, causal=True),
    ELMO,
    variant(
        ELMO,
        "elmo_words",
        {"word_vocabulary_size": 60, "word_dim": 5},
        pads={**ELMO.pads, "word_ids": 0},
        beside=("word_ids",),
    ),
    Family(
        "taglm",
        tiny.TAGLM_CONFIG,
        {"word_ids": 0, "character_ids": 0, "padding_mask": 0},
        **CHARACTERS,
        beside=("character_ids",),
        tokenizer=lambda: text.TaggerTokenizer(KNOWN, max_characters=12),
    ),
    ULMFIT,
    variant(ULMFIT, "ulmfit_qrnn", {"cell": "qrnn"}, least_weights=5),
    GPT2,
    variant(GPT2, "gpt_norm_last", {"norm_first": False}),
    TRANSFORMER,
    Family(
        "transformer_encoder",
        {**tiny.TRANSFORMER_CONFIG, **ENCODER},
        TOKENS,
        family="transformer",
        tokenizer=lambda: text.TokenListTokenizer(LISTED),
    ),
    Family(
        "cove",
        tiny.COVE_CONFIG,
        WORDS,
        attention=False,
        least_weights=12,
        tokenizer=tiny_bitext_tokenizer,
    ),
    # Of a user, see `own_family.py`.
    Family(
        "bag",
        {"vocabulary_size": 60},
        WORDS,
        attention=False,
        least_weights=3,
        tokenizer=lambda: BagTokenizer([*tiny.PLAIN, *tiny.GOOD, *tiny.BAD]),
    ),
]


def first_family(case):
    """The first family that has the task of a `Case`."""
    return next(family for family in FAMILIES if case.name in family.tasks)


def columns_of(task, texts):
    """Texts as the task takes them: for each further column in another order."""
    count = task.num_columns
    columns = [[*texts[i:], *texts[:i]] for i in range(count)]
    return columns[0] if count == 1 else tuple(columns)
