"""What a user asks of a generation."""

import copy
import dataclasses
from typing import Annotated, Literal

from keras import ops

from zoo.checks.number_rules import NumberRule
from zoo.checks.ranges import CheckedFields, Range, Share

# Smaller and greater numbers are not numbers of float32, or their products are not.
MIN_FLOAT, MAX_FLOAT = 1e-30, 1e30
NO_LIMIT = 2**30  # tokens
MAX_TOKENS = 10**7  # of a list; a vocabulary has fewer
# What stands for None where only a number can.
NEUTRAL_VALUES = {
    "extra_tokens": NO_LIMIT,
    "temperature": 1.0,
    "top_k": NO_LIMIT,
    "top_p": 1.0,
    "first_token": -1,
    "last_token": -1,
}


def _has_utf8(text):
    """Whether a text is not empty, and has no half of a surrogate pair."""
    return text.encode("utf-8", "ignore").decode() == text != ""


Tokens = NumberRule(1, 100_000).kind  # of a sequence
FewestTokens = NumberRule(0, 100_000).kind
Sequences = NumberRule(1, 1000).kind
Limit = NumberRule(1, NO_LIMIT).kind
Token = NumberRule(0, NO_LIMIT).kind
NgramSize = NumberRule(0, 100).kind
Seed = NumberRule(0, 2**63 - 1).kind
# A number below those of float32 counts as the least of them.
Factor = Annotated[
    float, Range("a positive number that is finite in float32", lambda x: x > 0)
]
# L^8 of 1,000 tokens is still a number of float32.
Exponent = NumberRule(-8, 8, integer=False).kind
Text = Annotated[str, Range("a text", _has_utf8)]
Texts = Annotated[
    tuple[Text, ...], Range("a text or a list of texts, none of them empty")
]
TokenList = Annotated[
    tuple[Token, ...], Range("a list of tokens, which are integers of at least 0")
]
Penalty = Literal["gnmt", "fairseq", "hugging_face", "ctranslate2"]


@dataclasses.dataclass(frozen=True)
class GenerationOptions(CheckedFields):
    """How tokens are chosen. The defaults are those of a greedy search.

    Numbers may also be numpy's. They are stored as Python's.

    Args:
        max_new_tokens: the most tokens of a sequence, its end included, at most
            100,000.
        extra_tokens: the most tokens that a sequence has more than its source, or None
            for no such limit.
        min_new_tokens: the fewest tokens of a sequence, its end included.
        num_beams: hypotheses of the beam search, at most 1,000; 1 for none.
        num_return: sequences for each row, the best ones of the beam or samples; at
            most 1,000.
        length_penalty: alpha in [-8, 8], see `penalty`.
        penalty: how the log-probability of L tokens, the end included, becomes a score,
            and when a search ends, see `zoo.generation.beam_search`. "gnmt" divides it
            by `((5 + L) / 6)^alpha`; "fairseq", "hugging_face" and "ctranslate2" divide
            it by `L^alpha`.
        temperature: of samples; None chooses the most probable token.
        top_k: samples are among the k most probable tokens.
        top_p: samples are among the most probable tokens that together have this
            probability; the token that reaches it is included.
        repetition_penalty: divides the positive scores of tokens that were written
            already, and multiplies their negative ones. 1.0 for none. Tokens of a
            prompt do not count. In Hugging Face they do, for models such as GPT.
        no_repeat_ngram_size: n, at most 100: a sequence has no n tokens twice in the
            same order. 0 for no such rule. Tokens of a prompt do not count.
        first_token: token that every sequence begins with, or None.
        last_token: token at the last position that the limits allow, or None for any.
            With the rule "hugging_face", a forced token has the log-probability 0.
        suppressed: tokens that are never chosen, except as first or last token; None
            for none.
        stop: str or several, texts at which a sequence ends. They do not belong to the
            text that is written. None for none. The caller of `generate` looks for
            them.
        split_sentences: whether the sentences of a text are written one by one, and
            then joined by the white space between them. The other options hold for each
            sentence. The caller of `generate` splits.
        renormalize: whether the probabilities of the tokens that may be chosen sum to
            1, as with `renormalize_logits` of Hugging Face. It changes the scores of
            beams only.
        seed: of samples, an integer in [0, 2**63).

    Raises:
        ValueError: if a value is not in its range, or samples and beams are combined.
    """

    max_new_tokens: Tokens = 256
    extra_tokens: Limit | None = None
    min_new_tokens: FewestTokens = 0
    num_beams: Sequences = 1
    num_return: Sequences = 1
    length_penalty: Exponent = 1.0
    penalty: Penalty = "hugging_face"
    temperature: Factor | None = None
    top_k: Limit | None = None
    top_p: Share | None = None
    repetition_penalty: Factor = 1.0
    no_repeat_ngram_size: NgramSize = 0
    first_token: Token | None = None
    last_token: Token | None = None
    suppressed: TokenList = ()
    stop: Texts = ()
    split_sentences: bool = False
    renormalize: bool = False
    seed: Seed = 0

    def __post_init__(self):
        """Checks every field."""
        for name in ("suppressed", "stop"):
            object.__setattr__(self, name, _as_tuple(getattr(self, name)))
        super().__post_init__()
        # They are no fields: numbers in the place of None do not change them.
        drawn = (self.temperature, self.top_k, self.top_p) != (None, None, None)
        searches = self.num_beams > 1
        self.__dict__.update(samples=drawn, searches=searches, resolved=False)
        if self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                "`min_new_tokens` must be in [0, max_new_tokens]. Received: "
                f"min_new_tokens={self.min_new_tokens}, max_new_tokens="
                f"{self.max_new_tokens}."
            )
        if self.samples and self.num_beams > 1:
            raise ValueError(
                "Sampling and beam search cannot be combined. Received: num_beams="
                f"{self.num_beams} and temperature={self.temperature}, top_k="
                f"{self.top_k}, top_p={self.top_p}. Set `num_beams` to 1, or leave "
                "out the options of sampling."
            )
        if not self.samples and self.num_return > self.num_beams:
            raise ValueError(
                "`num_return` must be at most `num_beams` without samples. Received: "
                f"num_return={self.num_return}, num_beams={self.num_beams}."
            )

    def check_tokens(self, size, end):
        """Raises ValueError if an option names no token of `size`, or leaves none."""
        for name in ("first_token", "last_token", "suppressed"):
            value = getattr(self, name)
            tokens = value if name == "suppressed" else (value,)
            wrong = [token for token in tokens if token is not None and token >= size]
            if wrong:
                raise ValueError(
                    f"`{name}` must be tokens of the model, which are 0 to {size - 1}. "
                    f"Received: {wrong[0]}."
                )
        early = {end} if self.min_new_tokens > 1 else set()
        if len({*self.suppressed} | early) >= size:
            also = " and the end, because of `min_new_tokens`" if early else ""
            raise ValueError(
                f"`suppressed` must leave a token. Received: all {size} tokens of the "
                f"model{also}."
            )

    def with_values(self, values):
        """A copy with other values of some fields, which may be tensors; unchecked."""
        options = copy.copy(self)
        options.__dict__.update(values, resolved=True)
        return options

    def resolve(self):
        """Itself with numbers in the place of None, and within those of float32."""
        if self.resolved:
            return self
        values = {
            name: neutral if getattr(self, name) is None else getattr(self, name)
            for name, neutral in NEUTRAL_VALUES.items()
        }
        for name in ("temperature", "top_p", "repetition_penalty"):
            value = values.get(name, getattr(self, name))
            values[name] = float(min(max(value, MIN_FLOAT), MAX_FLOAT))
        values["length_penalty"] = float(self.length_penalty)
        return self.with_values(values)

    def structure(self):
        """The options that a compiled generation does not take as inputs."""
        beams = 2 if self.searches else 1
        return GenerationOptions(num_beams=beams, penalty=self.penalty)

    def inputs(self, size):
        """The values that a compiled generation takes, dict; `suppressed` is V bool."""
        # One function serves all options of a structure; see `with_inputs`.
        values, never = dict(self.resolve().__dict__), {*self.suppressed}
        values["suppressed"] = [token in never for token in range(size)]
        for name in ("penalty", "stop", "split_sentences", "searches", "resolved"):
            del values[name]
        return values

    def with_inputs(self, values):
        """A structure with the values of a compiled generation, see `inputs`."""
        # They are known: one beam is no search, and a search has no samples.
        known = "samples" if self.searches else "num_beams"
        return self.with_values({k: v for k, v in values.items() if k != known})


def _as_tuple(value):
    """A list, a set or an array as a tuple, None as () and a str as a tuple of one."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if getattr(value, "ndim", 0) == 1:
        value = value.tolist()
    known = isinstance(value, (list, set, frozenset, range))
    return tuple(value) if known and len(value) <= MAX_TOKENS else value


def change_if(condition, change, value):
    """Returns `change(value)` if a condition, or tensor, holds, and else `value`."""
    if isinstance(condition, bool):
        return change(value) if condition else value
    return ops.cond(condition, lambda: change(value), lambda: value)
