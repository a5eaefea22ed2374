"""The names of a Transformer's arrays in each published layout."""

import dataclasses

from zoo.checkpoint import Row

SIDES = ("encoder", "decoder")
PROJECTIONS = ("query", "key", "value", "output_projection")
TORCH = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
KERAS = {name: name for name in TORCH}


@dataclasses.dataclass(frozen=True)
class Naming:
    """How a layout names the arrays of a Transformer.

    `{side}` is "encoder" or "decoder" and `{i}` the number of a block, counted from
    `first`. `{leaf}` is the name of an array in its module, one of `leaves`.

    Args:
        block: str, what the names of a block begin with.
        attention: str, `{name}` one of `attentions` and `{projection}` of
            `projections`.
        attentions: names of the self-attention and the cross-attention.
        projections: names of query, key, value and output.
        norms: names of the norms of self-attention, cross-attention and feed-forward
            network.
        dense: names of the two layers of the feed-forward network.
        end: str, the norm after the last block.
        tables: dict of our path to the names of tables, biases and the output's kernel.
        leaves: dict of "kernel", "bias", "gamma" and "beta" to the name of the array.
        transposed: bool, whether kernels are stored as (outputs, inputs).
        first: int.
    """

    block: str
    attention: str
    attentions: tuple
    projections: tuple
    norms: tuple
    dense: tuple
    end: str
    tables: dict
    leaves: dict
    transposed: bool = False
    first: int = 0

    def rows(self, config, expected):
        """The rows of a table, list of `zoo.checkpoint.Row`.

        Args:
            config: `TransformerConfig`.
            expected: paths of the weights of the model.
        """
        rows = [
            Row(path, *_listed(names))
            for path, names in self.tables.items()
            if path in expected
        ]
        for side in SIDES:
            for number in range(getattr(config, f"num_{side}_layers")):
                rows += self._block(side, number)
            rows += self._module(f"{side}_layer_norm", self.end.format(side=side))
        return [row for row in rows if row.target in expected]

    def _block(self, side, number):
        """The rows of a block."""
        ours = f"{side}_block_{number}"
        theirs = self.block.format(side=side, i=number + self.first)
        names = ("attention", "cross_attention")
        rows = []
        for name, other in zip(names, self.attentions, strict=True):
            for pair in zip(PROJECTIONS, self.projections, strict=True):
                module = self.attention.format(name=other, projection=pair[1])
                rows += self._module(f"{ours}/{name}/{pair[0]}", theirs + module)
        modules = [*(f"{name}_layer_norm" for name in (*names, "output"))]
        modules += ["intermediate", "output_projection"]
        others = (*self.norms, *self.dense)
        for module, other in zip(modules, others, strict=True):
            rows += self._module(f"{ours}/{module}", theirs + other)
        return rows

    def _module(self, ours, theirs):
        """The rows of a dense layer or of a norm."""
        norm = ours.endswith("layer_norm")
        rows = []
        for leaf in ("gamma", "beta") if norm else ("kernel", "bias"):
            turned = self.transposed and leaf == "kernel"
            source = theirs.format(leaf=self.leaves[leaf])
            rows.append(Row(f"{ours}/{leaf}", source, "transpose" if turned else "copy"))
        return rows


def _listed(names):
    """Names and operation of a row: a str, or a tuple of names and an operation."""
    return names if isinstance(names, tuple) else (names,)


def _torch(prefix, **tables):
    """The names of fairseq, which Hugging Face has as well."""
    return Naming(
        block=prefix + "{side}.layers.{i}.",
        attention="{name}.{projection}.{{leaf}}",
        attentions=("self_attn", "encoder_attn"),
        projections=("q_proj", "k_proj", "v_proj", "out_proj"),
        norms=tuple(
            f"{name}_layer_norm.{{leaf}}"
            for name in ("self_attn", "encoder_attn", "final")
        ),
        dense=("fc1.{leaf}", "fc2.{leaf}"),
        end=prefix + "{side}.layer_norm.{{leaf}}",
        leaves=TORCH,
        transposed=True,
        tables=tables,
    )
