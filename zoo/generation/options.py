"""What a user asks of a generation."""

import copy
import dataclasses
import numbers
import operator

import numpy as np
from keras import ops

PENALTIES = ("gnmt", "fairseq", "hugging_face", "ctranslate2")
MAX_TOKENS = 100_000  # of a sequence
MAX_SEQUENCES = 1000  # of a search, and of those that are returned
MAX_LENGTH_PENALTY = 8.0  # L^8 of 1,000 tokens is still a number of float32
# Smaller and greater numbers are not numbers of float32, or their products are not.
LOW, HIGH = 1e-30, 1e30
NO_LIMIT = 2**30  # tokens
# The least and the greatest value, and whether None is allowed.
INTEGERS = {
    "max_new_tokens": (1, MAX_TOKENS, False),
    "extra_tokens": (1, NO_LIMIT, True),
    "min_new_tokens": (0, MAX_TOKENS, False),
    "num_beams": (1, MAX_SEQUENCES, False),
    "num_return": (1, MAX_SEQUENCES, False),
    "top_k": (1, NO_LIMIT, True),
    "no_repeat_ngram_size": (0, 100, False),
    "first_token": (0, NO_LIMIT, True),
    "last_token": (0, NO_LIMIT, True),
    "seed": (0, 2**63 - 1, False),
}
# The range in words, a function that tests it, and whether None is allowed.
NUMBERS = {
    "temperature": ("positive and finite", lambda x: 0 < x < np.inf, True),
    "top_p": ("in (0, 1]", lambda x: 0 < x <= 1, True),
    "repetition_penalty": ("positive and finite", lambda x: 0 < x < np.inf, False),
    "length_penalty": (
        f"in [-{MAX_LENGTH_PENALTY}, {MAX_LENGTH_PENALTY}]",
        lambda x: abs(x) <= MAX_LENGTH_PENALTY,
        False,
    ),
}
# What stands for None where only a number can.
NEUTRAL = {
    "extra_tokens": NO_LIMIT,
    "temperature": 1.0,
    "top_k": NO_LIMIT,
    "top_p": 1.0,
    "first_token": -1,
    "last_token": -1,
}


@dataclasses.dataclass(frozen=True)
class GenerationOptions:
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
        renormalize: whether the probabilities of the tokens that may be chosen sum to
            1, as with `renormalize_logits` of Hugging Face. It changes the scores of
            beams only.
        seed: of samples, in [0, 2**63).

    Raises:
        ValueError: if a value is not in its range, or samples and beams are combined.
    """

    max_new_tokens: int = 256
    extra_tokens: int | None = None
    min_new_tokens: int = 0
    num_beams: int = 1
    num_return: int = 1
    length_penalty: float = 1.0
    penalty: str = "hugging_face"
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    first_token: int | None = None
    last_token: int | None = None
    suppressed: tuple = ()
    stop: tuple = ()
    renormalize: bool = False
    seed: int = 0

    def __post_init__(self):
        """Checks every field."""
        for name, (low, high, optional) in INTEGERS.items():
            self._set(name, _integer(name, getattr(self, name), low, high, optional))
        for name, rule in NUMBERS.items():
            self._set(name, _number(name, getattr(self, name), *rule))
        self._set("suppressed", _tokens(self.suppressed))
        self._set("stop", _stop_texts(self.stop))
        # They are no fields: numbers in the place of None do not change them.
        drawn = (self.temperature, self.top_k, self.top_p) != (None, None, None)
        self._set("samples", drawn)
        self._set("searches", self.num_beams > 1)
        self._set("resolved", False)
        if self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                "`min_new_tokens` must be in [0, max_new_tokens]. Received: "
                f"min_new_tokens={self.min_new_tokens}, max_new_tokens="
                f"{self.max_new_tokens}."
            )
        if not isinstance(self.penalty, str) or self.penalty not in PENALTIES:
            raise ValueError(
                f"`penalty` must be one of {', '.join(PENALTIES)}. Received: "
                f"{self.penalty!r:.80}."
            )
        if not isinstance(self.renormalize, (bool, np.bool_)):
            raise ValueError(
                "`renormalize` must be True or False. Received: "
                f"{self.renormalize!r:.80}."
            )
        self._set("renormalize", bool(self.renormalize))
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

    def _set(self, name, value):
        object.__setattr__(self, name, value)

    def check_tokens(self, size, end):
        """Raises ValueError if an option names no token of a model, or leaves none.

        Args:
            size: int, V, the tokens of the model.
            end: int, the token that ends a sequence.
        """
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
        """A copy with other values of some fields, which may be tensors; unchecked.

        Args:
            values: dict of the name of a field to its value.
        """
        options = copy.copy(self)
        options.__dict__.update(values, resolved=True)
        return options

    def resolve(self):
        """Itself with numbers in the place of None, and within those of float32."""
        if self.resolved:
            return self
        values = {
            name: neutral if getattr(self, name) is None else getattr(self, name)
            for name, neutral in NEUTRAL.items()
        }
        for name in ("temperature", "top_p", "repetition_penalty"):
            value = values.get(name, getattr(self, name))
            values[name] = min(max(value, LOW), HIGH)
        return self.with_values(values)

    def structure(self):
        """The options that a compiled generation does not take as inputs."""
        beams = 2 if self.searches else 1
        return GenerationOptions(num_beams=beams, penalty=self.penalty)

    def inputs(self, size):
        """The values that a compiled generation takes as inputs, see `with_inputs`.

        One function serves all options of a structure.

        Args:
            size: int, V, the tokens of the model.

        Returns:
            dict of the name of a field to a numpy array; of `suppressed` bool (V,).
        """
        options = self.resolve()
        values = {n: np.int32(getattr(options, n)) for n in INTEGERS if n != "seed"}
        values |= {name: np.float32(getattr(options, name)) for name in NUMBERS}
        suppressed = np.zeros(size, bool)
        suppressed[[*self.suppressed]] = True
        values["suppressed"] = suppressed
        values["seed"] = np.int64(self.seed)
        values["renormalize"] = np.bool_(self.renormalize)
        values["samples"] = np.bool_(self.samples)
        return values

    def with_inputs(self, values):
        """A structure with the values of a compiled generation, see `inputs`."""
        # They are known: one beam is no search, and a search has no samples.
        known = "samples" if self.searches else "num_beams"
        return self.with_values({k: v for k, v in values.items() if k != known})


def change_if(condition, change, value):
    """Returns `change(value)` if a condition holds, and else `value`.

    Args:
        condition: bool, or a bool scalar tensor, in a graph that serves both cases.
        change: function of a tensor to a tensor of its shape and dtype.
        value: tensor.
    """
    if isinstance(condition, (bool, np.bool_)):
        return change(value) if condition else value
    return ops.cond(condition, lambda: change(value), lambda: value)


def _integer(name, value, low, high, optional):
    """An option as int, checked."""
    if value is None and optional:
        return None
    known = not isinstance(value, (bool, np.bool_)) and hasattr(value, "__index__")
    try:
        number = operator.index(value) if known else low - 1
    except TypeError:  # an array of several numbers
        number = low - 1
    if not low <= number <= high:
        raise ValueError(
            f"`{name}` must be an integer in [{low}, {high}]{_or_none(optional)}. "
            f"Received: {value!r:.80}."
        )
    return number


def _number(name, value, words, fits, optional):
    """An option as float, checked."""
    if value is None and optional:
        return None
    known = isinstance(value, (numbers.Real, np.number))
    known = known and not isinstance(value, (bool, np.bool_, np.complexfloating))
    try:
        number = float(value) if known else np.nan
    except OverflowError:  # an int that no float holds
        number = np.inf
    if not fits(number):
        raise ValueError(
            f"`{name}` must be a number, {words}{_or_none(optional)}. Received: "
            f"{value!r:.80}."
        )
    return number


def _or_none(optional):
    return ", or None" if optional else ""


def _tokens(value):
    """`suppressed` as a tuple of int, checked."""
    rule = "`suppressed` must be a list of tokens, which are integers of at least 0."
    if value is None:
        return ()
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise ValueError(f"{rule} Received: {value!r:.80}. Use `[token]` for one.")
    try:
        return tuple(_integer("suppressed", t, 0, NO_LIMIT, False) for t in value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{rule} Received: {value!r:.80}.") from error


def _stop_texts(value):
    """`stop` as a tuple of str, checked."""
    value = () if value is None else (value,) if isinstance(value, str) else value
    known = isinstance(value, (list, tuple, set, frozenset, np.ndarray))
    texts = (*value,) if known and getattr(value, "shape", None) != () else (None,)
    for text in texts:
        # Half of a surrogate pair has no UTF-8.
        if not isinstance(text, str) or not text.encode("utf-8", "ignore"):
            raise ValueError(
                "`stop` must be a text or a list of texts, none of them empty. "
                f"Received: {value!r:.80}."
            )
    return tuple(text.encode("utf-8", "ignore").decode() for text in texts)
