"""The head of BERT: a dense layer on a pooled vector."""

import dataclasses

from zoo.data import SeparatePacker
from zoo.tasks.heads.head import Head, register_head
from zoo.tasks.heads.pooling import default_pooling, pooled_vector
from zoo.tasks.heads.separate_texts import (
    compared_vector,
    has_segments,
    separate_inputs,
)

COMPARING = ("compare", "separate")  # the poolings that compare the texts of a pair


@register_head
@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearHead(Head):
    """`dropout(pooled) W + b`, the option `head="linear"`.

    With `pooling="compare"` or "separate", W is 0 at first. Their vectors are so large
    that random weights would give large random outputs.

    Source: Devlin et al. 2019, section 4.1, where W is random.

    Args:
        pooling: str, "pooled", "cls", "mean", or for pairs "compare" or "separate", see
            `zoo.layers.ComparedSegments` and `zoo.layers.ComparedTexts`. With
            "separate", and with "compare" for a backbone without segments, such as
            ELMo, the backbone reads each text alone and whole. The task then needs
            `pair=True` and takes pairs only. The default is that of the preset, which
            may have another one for pairs, and "compare" for pairs if the backbone has
            no segments, "pooled" if it has a pooled output, and else "mean". A backbone
            that reads forward, such as GPT, has neither "pooled" nor "cls".
        dropout: see `Head`.
    """

    name = "linear"
    ranks = True
    joins = True

    pooling: str | None = None

    def described(self):
        """See `Head`."""
        return f'pooling="{self.pooling}"'

    def resolve(self, backbone, task_name, pair=False, symmetric=False):
        """See `Head`."""
        if self.pooling is not None:
            return self
        pooling = default_pooling(backbone, task_name, pair)
        return dataclasses.replace(self, pooling=pooling)

    def is_separate(self, backbone):
        """See `Head`."""
        compares = self.pooling == "compare" and not has_segments(backbone)
        return compares or self.pooling == "separate"

    def make_inputs(self, backbone, pair):
        """See `Head`."""
        if self.is_separate(backbone):
            return separate_inputs(backbone, pair)
        return super().make_inputs(backbone, pair)

    def packer(self, backbone, arrangements=None):
        """See `Head`."""
        if arrangements is None and self.is_separate(backbone):
            return SeparatePacker
        return super().packer(backbone, arrangements)

    def vector(self, backbone, inputs):
        """See `Head`."""
        if self.is_separate(backbone):
            return compared_vector(backbone, inputs, self.pooling)
        return pooled_vector(backbone, inputs, self.pooling)

    def starts_at_zero(self):
        """See `Head`. The vectors of two compared texts are large."""
        return self.pooling in COMPARING

    def reads_windows(self, backbone):
        """See `Head`."""
        return self.pooling == "mean" and backbone.carries_states

    def output_of_backbone(self):
        """See `Head`."""
        return "pooled_output" if self.pooling == "pooled" else "sequence_output"

    def fits(self, saved, backbone, pair):
        """See `Head`. The width depends on whether two texts are compared."""
        compares = {self.pooling, saved.get("pooling")}.intersection(COMPARING)
        same = not compares or self.pooling == saved.get("pooling")
        if self.is_separate(backbone):
            same &= saved.get("pair", False) == pair
        return same and super().fits(saved, backbone, pair)
