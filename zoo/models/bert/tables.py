"""The names of BERT's arrays in each published layout."""

import dataclasses
import re

from zoo.checkpoint import KERAS_LEAVES, TORCH_LEAVES, Row, expand, module_rows

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
# Names of classes: tokens and segments have tables of different classes.
KERAS_NLP = (
    "reversible_embedding",
    "embedding",
    "position_embedding",
    "layer_normalization",
    "transformer_encoder{_i}/_self_attention_layer/query_dense",
    "transformer_encoder{_i}/_self_attention_layer/key_dense",
    "transformer_encoder{_i}/_self_attention_layer/value_dense",
    "transformer_encoder{_i}/_self_attention_layer/output_dense",
    "transformer_encoder{_i}/_self_attention_layer_norm",
    "transformer_encoder{_i}/_feedforward_intermediate_dense",
    "transformer_encoder{_i}/_feedforward_output_dense",
    "transformer_encoder{_i}/_feedforward_layer_norm",
)
HEADS = ("classifier", "masked_lm_head", "next_sentence", "spans")


# What follows the name of a module.
PLAIN = {leaf: f"/{leaf}" for leaf in ("gamma", "beta", "kernel", "bias")}
# In files of 2018, layer norms have gamma and beta.
OLD_NORMS = {"gamma": (".weight", ".gamma"), "beta": (".bias", ".beta")}
TORCH = {**TORCH_LEAVES, **OLD_NORMS}
OBJECT_END = "/.ATTRIBUTES/VARIABLE_VALUE"
OBJECTS = {leaf: f"/{leaf}{OBJECT_END}" for leaf in ("embeddings", *PLAIN)}


@dataclasses.dataclass(frozen=True)
class Layout:
    """One published layout of BERT."""

    encoder: list  # rows of the embeddings and the blocks
    # The optional parts ("pooler" and heads) to alternatives, each a list of rows. The
    # first one with an array in the checkpoint is read; the others are ignored.
    parts: dict
    ignore: tuple = ()  # regular expressions of arrays that are not weights
    first: int = 0  # the number of the first block, where all layers are counted

    def choose(self, num_layers, checkpoint):
        """Rows, names, and arrays to ignore, of the parts that a checkpoint holds."""
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


def _dense_parts(names, leaves, transposed=False):
    """The parts that are one dense layer each, from the names of the layers."""
    return {
        part: (module_rows({part: name}, leaves, transposed),)
        for part, name in names.items()
    }


def _masked_lm(transform, layer_norm, output_bias, leaves, transposed=False):
    """The masked language model's head, a dict of the part, from its names."""
    name = "masked_lm_head"
    modules = {f"{name}/transform": transform, f"{name}/layer_norm": layer_norm}
    rows = module_rows(modules, leaves, transposed)
    return {name: ([*rows, Row(f"{name}/output_bias", output_bias)],)}


def _google():
    """Layout of TensorFlow 1 checkpoints of the released code."""
    leaves, head = {**PLAIN, "embeddings": ""}, "cls/predictions/"
    # Logits are stored as (outputs, inputs), other kernels as (inputs, outputs).
    logits = {"kernel": "output_weights", "bias": "output_bias"}
    heads = {"next_sentence": "cls/seq_relationship/", "classifier": ""}
    heads["spans"] = "cls/squad/"
    return Layout(
        encoder=module_rows(dict(zip(ENCODER, GOOGLE, strict=True)), leaves),
        parts={
            **_dense_parts({"pooler": "bert/pooler/dense"}, leaves),
            **_masked_lm(
                f"{head}transform/dense",
                f"{head}transform/LayerNorm",
                f"{head}output_bias",
                leaves,
            ),
            **_dense_parts(heads, logits, transposed=True),
        },
        ignore=("global_step", r".*/adam_[mv]"),
    )


def _hugging_face():
    """Layout of state dicts of `transformers`; kernels are (outputs, inputs)."""
    modules = {}
    for target, name in zip(ENCODER, GOOGLE, strict=True):
        name = name.replace("layer_{i}", "layer.{i}").replace("/", ".")
        modules[target] = (name, name.removeprefix("bert."))  # as of a `BertModel`
    # Torch's own files repeat tied arrays.
    modules["token_embedding"] += ("cls.predictions.decoder",)
    parts = {
        "pooler": ("bert.pooler.dense", "pooler.dense"),
        "next_sentence": "cls.seq_relationship",
        "classifier": "classifier",
        "spans": "qa_outputs",
    }
    head = "cls.predictions."
    return Layout(
        encoder=module_rows(modules, TORCH, transposed=True),
        parts={
            **_dense_parts(parts, TORCH, transposed=True),
            **_masked_lm(
                f"{head}transform.dense",
                f"{head}transform.LayerNorm",
                (f"{head}bias", f"{head}decoder.bias"),
                TORCH,
                transposed=True,
            ),
        },
        ignore=(r"(bert\.)?embeddings\.(position_ids|token_type_ids)",),
    )


def _rooted(*names):
    """Adds the prefixes of the model garden's three ways to save a model."""
    roots = ("encoder/", "model/encoder_network/", "model/")
    return tuple(root + name for root in roots for name in names)


def _garden_names():
    """Returns all names of each module of `ENCODER`, in its order."""
    for name, number in zip(GARDEN[:4], (0, 2, 1, 3), strict=True):
        yield _rooted(f"layer_with_weights-{number}", name)
    for name in GARDEN[4:]:
        # Only the released bert_base_uncased has the last of these names.
        alias = name.replace("_attention_layer/_output", "_attention_output")
        blocks = (f"layer_with_weights-{{n}}/{n}" for n in dict.fromkeys((name, alias)))
        yield _rooted(*blocks, f"_transformer_layers/{{i}}/{name}")


def _model_garden():
    """Layout of TensorFlow 2 checkpoints of tf-models-official."""
    # Arrays are named by object and attribute, with three generations of names and
    # three ways to save a model. The pooler of a pretrainer is that of the sentence
    # pair head, because the encoder's own pooler is not trained.
    modules = dict(zip(ENCODER, _garden_names(), strict=True))
    table, *encoder = module_rows(modules, OBJECTS, heads=True)
    # A pretrainer saves its table under the first path that leads to it: the head's.
    heads = ("masked_lm/", "model/masked_lm/")
    tied = tuple(f"{head}embedding_table{OBJECT_END}" for head in heads)
    table = Row(table.target, table.sources + tied)
    poolers = (
        ("next_sentence..pooler_dense", "model/classification_heads/0/dense"),
        ("sentence_prediction..pooler_dense",),
        _rooted("layer_with_weights-{n}", "_pooler_layer"),
    )
    logits = {
        "next_sentence": "model/classification_heads/0/out_proj",
        "classifier": "model/layer_with_weights-1/out_proj",
    }
    return Layout(
        encoder=[table, *encoder],
        parts={
            "pooler": tuple(module_rows({"pooler": n}, OBJECTS) for n in poolers),
            **_masked_lm(
                tuple(f"{head}dense" for head in heads),
                tuple(f"{head}layer_norm" for head in heads),
                tuple(f"{head}output_bias.Sbias{OBJECT_END}" for head in heads),
                OBJECTS,
            ),
            **_dense_parts(logits, OBJECTS),
        },
        ignore=(
            "_CHECKPOINTABLE_OBJECT_GRAPH",
            "(save_counter|global_step|optimizer)/.*",
            r".*/\.OPTIMIZER_SLOT/.*",
        ),
        first=4,
    )


def _keras_nlp():
    """Layout of model.weights.h5 and, with the prefix "task/", of task.weights.h5."""

    def rooted(name):  # the root has another name in Keras 2
        return (f"layers/{name}", f"_layer_checkpoint_dependencies/{name}")

    modules = dict(zip(ENCODER, map(rooted, KERAS_NLP), strict=True))
    head = "task/layers/masked_lm_head"
    return Layout(
        encoder=module_rows(modules, KERAS_LEAVES, heads=True),
        parts={
            **_dense_parts({"pooler": rooted("dense")}, KERAS_LEAVES),
            **_masked_lm(
                f"{head}/_intermediate_dense",
                f"{head}/_intermediate_layer_norm",
                f"{head}/vars/0",
                KERAS_LEAVES,
            ),
            **_dense_parts({"classifier": "task/layers/dense"}, KERAS_LEAVES),
        },
        ignore=("(task/)?optimizer/.*",),
    )


LAYOUTS = {
    "google": _google(),
    "model_garden": _model_garden(),
    "hugging_face": _hugging_face(),
    "keras_nlp": _keras_nlp(),
}
