"""What a user asks of a generation."""

import dataclasses

PENALTIES = ("gnmt", "fairseq", "hugging_face", "ctranslate2")


@dataclasses.dataclass(frozen=True)
class GenerationOptions:
    """How tokens are chosen. The defaults are those of a greedy search.

    Args:
        max_new_tokens: the most tokens of a sequence, its end included.
        extra_tokens: the most tokens that a sequence has more than its source, or None
            for no such limit.
        min_new_tokens: the fewest tokens of a sequence, its end included.
        num_beams: hypotheses of the beam search; 1 for none.
        num_return: sequences for each row, the best ones of the beam or samples.
        length_penalty: alpha, see `penalty`.
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
        no_repeat_ngram_size: n; no n tokens in a row occur twice in a sequence. 0 for
            no such limit.
        first_token: token that every sequence begins with, or None.
        last_token: token at the last position that the limits allow, or None for any.
            With the rule "hugging_face", a forced token has the log-probability 0.
        suppressed: tokens that are never chosen.
        stop: str or tuple of str, texts at which a sequence ends. They do not belong to
            the text that is written. The caller of `generate` looks for them.
        renormalize: whether the probabilities of the tokens that may be chosen sum to
            1, as with `renormalize_logits` of Hugging Face. It changes the scores of
            beams only.
        seed: of samples.

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
        object.__setattr__(self, "suppressed", tuple(self.suppressed))
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        object.__setattr__(self, "stop", stop)
        wrong = [text for text in stop if not isinstance(text, str) or not text]
        if wrong:
            raise ValueError(
                "`stop` must be a text or several, none of them empty. Received: "
                f"{wrong[0]!r}."
            )
        counts = "max_new_tokens", "extra_tokens", "num_beams", "num_return", "top_k"
        for name in counts:
            value = getattr(self, name)
            wrong = not isinstance(value, int) or isinstance(value, bool) or value < 1
            if wrong and not (name in ("extra_tokens", "top_k") and value is None):
                raise ValueError(
                    f"`{name}` must be a positive integer. Received: {value!r}."
                )
        shortest = self.min_new_tokens
        if not isinstance(shortest, int) or not 0 <= shortest <= self.max_new_tokens:
            raise ValueError(
                "`min_new_tokens` must be in [0, max_new_tokens]. Received: "
                f"min_new_tokens={shortest!r}, max_new_tokens={self.max_new_tokens}."
            )
        for name in ("temperature", "repetition_penalty"):
            value = getattr(self, name)
            if value is not None and not _number(value, 0, float("inf")):
                raise ValueError(f"`{name}` must be positive. Received: {value!r}.")
        if self.top_p is not None and not _number(self.top_p, 0, 1):
            raise ValueError(f"`top_p` must be in (0, 1]. Received: {self.top_p!r}.")
        if not _number(self.length_penalty, float("-inf"), float("inf")):
            raise ValueError(
                f"`length_penalty` must be a number. Received: {self.length_penalty!r}."
            )
        if self.penalty not in PENALTIES:
            raise ValueError(
                f"`penalty` must be one of {', '.join(PENALTIES)}. Received: "
                f"{self.penalty!r}."
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

    @property
    def samples(self):
        """Whether tokens are drawn."""
        return not (self.temperature is self.top_k is self.top_p is None)


def _number(value, low, high):
    """Whether a value is a number in (low, high]."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and value == value and low < value <= high and abs(value) != high * 2
