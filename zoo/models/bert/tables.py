"""The names of BERT's arrays in each published layout."""

import dataclasses
import re

from zoo.checkpoint import Row, expand

# Our paths without their last part. `{i}` is the number of a block.
ENCODER = (
    "token_embedding",
    "segment_embedding",
    "position_embedding",
    "embeddings_layer_norm",
    "block_{i}/attention/query",
    "block_{i}/attention/key",
    "block_{i}/attention/value",
    "block_{i}/attention/output_projection",
    "block_{i}/attention_layer_norm",
    "block_{i}/intermediate",
    "block_{i}/output_projection",
    "block_{i}/output_layer_norm",
)
# Hugging Face has Google's names, with dots.
GOOGLE = (
    "bert/embeddings/word_embeddings",
    "bert/embeddings/token_type_embeddings",
    "bert/embeddings/position_embeddings",
    "bert/embeddings/LayerNorm",
    "bert/encoder/layer_{i}/attention/self/query",
    "bert/encoder/layer_{i}/attention/self/key",
    "bert/encoder/layer_{i}/attention/self/value",
    "bert/encoder/layer_{i}/attention/output/dense",
    "bert/encoder/layer_{i}/attention/output/LayerNorm",
    "bert/encoder/layer_{i}/intermediate/dense",
    "bert/encoder/layer_{i}/output/dense",
    "bert/encoder/layer_{i}/output/LayerNorm",
)
# The second generation of the model garden. The first generation numbers its layers.
GARDEN = (
    "_embedding_layer",
    "_type_embedding_layer",
    "_position_embedding_layer",
    "_embedding_norm_layer",
    "_attention_layer/_query_dense",
    "_attention_layer/_key_dense",
    "_attention_layer/_value_dense",
    "_attention_layer/_output_dense",
    "_attention_layer_norm",
    "_intermediate_dense",
    "_output_dense",
    "_output_layer_norm",
)
HEADS = ("classifier", "masked_lm_head", "next_sentence", "spans")


@dataclasses.dataclass(frozen=True)
class Layout:
    """One published layout of BERT.

    Args:
        encoder: tuple of `Row`, the embeddings and the blocks.
        parts: dict of the optional parts of a checkpoint ("pooler" and heads) to a
            tuple of alternatives, each a tuple of `Row`. The first alternative with an
            array in the checkpoint is read; the others are ignored.
        ignore: tuple of regular expressions, the names of arrays that are not weights.
        first: int, the number of the first block, for layouts that count all layers.
    """

    encoder: tuple
    parts: dict
    ignore: tuple = ()
    first: int = 0

    def choose(self, num_layers, checkpoint):
        """Finds out which parts a checkpoint holds.

        Args:
            num_layers: int.
            checkpoint: container of the names of arrays.

        Returns:
            list of `Row` for all parts; tuple of the names of the parts; and tuple of
            regular expressions for the arrays to ignore.
        """
        rows = expand(self.encoder, num_layers, self.first)
        found, ignore = [], list(self.ignore)
        for part, alternatives in self.parts.items():
            for alternative in alternatives:
                alternative = expand(alternative, num_layers, self.first)
                names = [s for row in alternative for s in row.sources]
                # Only these arrays are ignored, so their names are escaped.
                if part in found:
                    ignore += map(re.escape, names)
                elif any(name in checkpoint for name in names):
                    found.append(part)
                    rows += alternative
        return rows, tuple(found), tuple(ignore)

    def written(self, config, heads):
        """Returns the rows to write a model with these heads, a list of `Row`."""
        parts = ("pooler", *heads) if config.pooler else heads
        rows = [row for part in parts for row in self.parts[part][0]]
        return expand((*self.encoder, *rows), config.num_layers, self.first)


def _rows(modules, endings, transposed=False, heads=False):
    """Makes rows from a layout's names of modules and of their arrays.

    Args:
        modules: dict of our module to the layout's name, or to several names.
        endings: dict of our array ("embeddings", "gamma", ...) to one or several
            endings.
        transposed: bool, whether kernels are stored as (outputs, inputs).
        heads: bool, whether the kernels of attention are stored as (D, H, K) and (H, K,
            D).

    Returns:
        tuple of `Row`.
    """
    rows = []
    for target, names in modules.items():
        names = (names,) if isinstance(names, str) else names
        module = target.split("/")[-1]
        leaves = ("kernel", "bias")
        if module.endswith("embedding"):
            leaves = ("embeddings",)
        elif module.endswith("layer_norm"):
            leaves = ("gamma", "beta")
        for leaf in leaves:
            operation = "transpose" if transposed and leaf == "kernel" else "copy"
            if heads and module in ("query", "key", "value"):
                operation = "merge_last"
            elif heads and leaf == "kernel" and "attention/output" in target:
                operation = "merge_first"
            ends = endings[leaf]
            ends = (ends,) if isinstance(ends, str) else ends
            sources = tuple(name + end for name in names for end in ends)
            rows.append(Row(f"{target}/{leaf}", sources, operation))
    return tuple(rows)


def _masked_lm(transform, layer_norm, output_bias, endings, **style):
    """Makes rows of the masked language model's head; `style` as in `_rows`."""
    modules = {
        "masked_lm_head/transform": transform,
        "masked_lm_head/layer_norm": layer_norm,
    }
    bias = Row("masked_lm_head/output_bias", output_bias)
    return (*_rows(modules, endings, **style), bias)


def _google():
    """Layout of TensorFlow 1 checkpoints of the released code.

    Kernels are stored as (inputs, outputs), except the logits of sentence pairs,
    classes and spans: these are stored as (outputs, inputs).
    """
    endings = {name: f"/{name}" for name in ("gamma", "beta", "kernel", "bias")}
    endings["embeddings"] = ""
    logits = {"kernel": "output_weights", "bias": "output_bias"}
    predictions = "cls/predictions/"
    masked_lm = _masked_lm(
        predictions + "transform/dense",
        predictions + "transform/LayerNorm",
        predictions + "output_bias",
        endings,
    )
    heads = {
        "next_sentence": "cls/seq_relationship/",
        "classifier": "",
        "spans": "cls/squad/",
    }
    return Layout(
        encoder=_rows(dict(zip(ENCODER, GOOGLE, strict=True)), endings),
        parts={
            "pooler": (_rows({"pooler": "bert/pooler/dense"}, endings),),
            "masked_lm_head": (masked_lm,),
            **{part: (_rows({part: n}, logits, True),) for part, n in heads.items()},
        },
        ignore=("global_step", r".*/adam_[mv]"),
    )


def _hugging_face():
    """Layout of state dicts of `transformers`; kernels are (outputs, inputs).

    A `BertModel` has no prefix. Files of 2018 have the names gamma and beta in layer
    norms. Torch's own files repeat tied arrays.
    """
    endings = {
        "embeddings": ".weight",
        "gamma": (".weight", ".gamma"),
        "beta": (".bias", ".beta"),
        "kernel": ".weight",
        "bias": ".bias",
    }
    modules = {}
    for target, name in zip(ENCODER, GOOGLE, strict=True):
        name = name.replace("layer_{i}", "layer.{i}").replace("/", ".")
        modules[target] = (name, name.removeprefix("bert."))
    modules["token_embedding"] += ("cls.predictions.decoder",)
    predictions = "cls.predictions."
    masked_lm = _masked_lm(
        predictions + "transform.dense",
        predictions + "transform.LayerNorm",
        (predictions + "bias", predictions + "decoder.bias"),
        endings,
        transposed=True,
    )
    parts = {
        "pooler": ("bert.pooler.dense", "pooler.dense"),
        "next_sentence": "cls.seq_relationship",
        "classifier": "classifier",
        "spans": "qa_outputs",
    }
    return Layout(
        encoder=_rows(modules, endings, True),
        parts={
            **{part: (_rows({part: n}, endings, True),) for part, n in parts.items()},
            "masked_lm_head": (masked_lm,),
        },
        ignore=(r"(bert\.)?embeddings\.(position_ids|token_type_ids)",),
    )


def _rooted(names):
    """Adds the prefixes of the model garden's three ways to save a model."""
    roots = ("encoder/", "model/encoder_network/", "model/")
    return tuple(root + name for root in roots for name in names)


def _garden_names():
    """Returns all names of each module of `ENCODER`, in its order."""
    names = [
        (f"layer_with_weights-{number}", name)
        for name, number in zip(GARDEN[:4], (0, 2, 1, 3), strict=True)
    ]
    for name in GARDEN[4:]:
        # Only the released bert_base_uncased has the last of these names.
        alias = name.replace("_attention_layer/_output", "_attention_output")
        blocks = (f"layer_with_weights-{{n}}/{n}" for n in dict.fromkeys((name, alias)))
        names.append((*blocks, f"_transformer_layers/{{i}}/{name}"))
    return map(_rooted, names)


def _model_garden():
    """Layout of TensorFlow 2 checkpoints of tf-models-official.

    Arrays are named by object and attribute, with three generations of names and three
    ways to save a model. In a checkpoint of a pretrainer the pooler is that of the
    sentence pair head, because the encoder's own pooler is not trained.
    """
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    leaves = ("embeddings", "gamma", "beta", "kernel", "bias")
    endings = {name: f"/{name}{end}" for name in leaves}
    modules = dict(zip(ENCODER, _garden_names(), strict=True))
    table, *encoder = _rows(modules, endings, heads=True)
    # A pretrainer saves its table under the first path that leads to it: the head's.
    tied = tuple(f"{root}masked_lm/embedding_table{end}" for root in ("", "model/"))
    table = Row(table.target, table.sources + tied)
    head = ("masked_lm/", "model/masked_lm/")
    masked_lm = _masked_lm(
        tuple(h + "dense" for h in head),
        tuple(h + "layer_norm" for h in head),
        tuple(f"{h}output_bias.Sbias{end}" for h in head),
        endings,
    )
    poolers = (
        ("next_sentence..pooler_dense", "model/classification_heads/0/dense"),
        ("sentence_prediction..pooler_dense",),
        _rooted(("layer_with_weights-{n}", "_pooler_layer")),
    )
    logits = {
        "next_sentence": "model/classification_heads/0/out_proj",
        "classifier": "model/layer_with_weights-1/out_proj",
    }
    return Layout(
        encoder=(table, *encoder),
        parts={
            "pooler": tuple(_rows({"pooler": names}, endings) for names in poolers),
            "masked_lm_head": (masked_lm,),
            **{part: (_rows({part: n}, endings),) for part, n in logits.items()},
        },
        ignore=(
            "_CHECKPOINTABLE_OBJECT_GRAPH",
            "(save_counter|global_step|optimizer)/.*",
            r".*/\.OPTIMIZER_SLOT/.*",
        ),
        first=4,
    )


def _keras_nlp():
    """Layout of model.weights.h5 and, with the prefix "task/", of task.weights.h5.

    Keras numbers the arrays of a layer and the layers of a class. The root has another
    name in Keras 2.
    """
    endings = {"gamma": "/vars/0", "beta": "/vars/1"}
    endings |= {"kernel": "/vars/0", "bias": "/vars/1", "embeddings": "/vars/0"}
    block = "transformer_encoder{_i}/"
    attention = block + "_self_attention_layer/"
    names = (
        # Names of classes: tokens and segments have tables of different classes.
        "reversible_embedding",
        "embedding",
        "position_embedding",
        "layer_normalization",
        attention + "query_dense",
        attention + "key_dense",
        attention + "value_dense",
        attention + "output_dense",
        block + "_self_attention_layer_norm",
        block + "_feedforward_intermediate_dense",
        block + "_feedforward_output_dense",
        block + "_feedforward_layer_norm",
    )

    def rooted(name):
        return (f"layers/{name}", f"_layer_checkpoint_dependencies/{name}")

    modules = dict(zip(ENCODER, map(rooted, names), strict=True))
    head = "task/layers/masked_lm_head"
    masked_lm = _masked_lm(
        f"{head}/_intermediate_dense",
        f"{head}/_intermediate_layer_norm",
        f"{head}/vars/0",
        endings,
    )
    return Layout(
        encoder=_rows(modules, endings, heads=True),
        parts={
            "pooler": (_rows({"pooler": rooted("dense")}, endings),),
            "masked_lm_head": (masked_lm,),
            "classifier": (_rows({"classifier": "task/layers/dense"}, endings),),
        },
        ignore=("(task/)?optimizer/.*",),
    )


LAYOUTS = {
    "google": _google(),
    "model_garden": _model_garden(),
    "hugging_face": _hugging_face(),
    "keras_nlp": _keras_nlp(),
}
