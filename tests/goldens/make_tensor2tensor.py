"""Makes the goldens of tensor2tensor: models with their outputs, and ids of texts.

    pip download --no-deps tensor2tensor==1.15.7
    unzip tensor2tensor-1.15.7-py2.py3-none-any.whl -d DIRECTORY
    python tests/goldens/make_tensor2tensor.py DIRECTORY [VOCABULARY]

tensor2tensor's own functions compute everything, in a graph of TensorFlow 1. Packages
that it imports but does not use here are replaced by stand-ins, and so is its class of
models: `run` calls the functions in the order of `T2TModel.model_fn`, under the same
names of variables. Every parameter is drawn from N(0, 0.3), gains of norms from
N(1, 0.3), with seed 24.

VOCABULARY is `vocab.translate_ende_wmt8k.8192.subwords` of its test data, which is not
kept in the repository; of it, only ids are stored.
"""

import json
import os
import pathlib
import re
import sys
import types
from unittest import mock

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow
from maker_tools import HERE, StandIns, pack

tf = tensorflow.compat.v1
SEED = 24
STAND_INS = ("oauth2client", "tensorflow.contrib", "tensorflow_probability")
SMALL = {
    "hidden_size": 8,
    "num_heads": 2,
    "filter_size": 12,
    "num_hidden_layers": 2,
    "max_length": 9,
}
# Name to: set of hyperparameters, changes, tokens of source and target, target space.
MODELS = {
    "pre_norm": (
        "transformer_base_v2",
        {"symbol_modality_num_shards": 12, "num_decoder_layers": 1},
        (17, 17),
        8,
    ),
    "post_norm": (
        "transformer_base_v1",
        {
            "shared_embedding_and_softmax_weights": False,
            "symbol_modality_num_shards": 3,
            "pos": "emb",
            "num_encoder_layers": 1,
            "norm_epsilon": 1e-3,
            "use_target_space_embedding": False,
        },
        (13, 17),
        0,
    ),
    "shared_input": (
        "transformer_base_v3",
        {
            "shared_embedding_and_softmax_weights": False,
            "shared_embedding": True,
            "symbol_modality_num_shards": 1,
            "multiply_embedding_mode": "none",
            "hidden_size": 6,
            "num_heads": 3,
        },
        (17, 17),
        31,
    ),
}
INPUTS = [[3, 9, 4, 12, 7, 1, 0, 0], [5, 2, 11, 6, 12, 10, 8, 1]]
TARGETS = [[4, 16, 2, 9, 1, 0, 0], [12, 3, 3, 0, 15, 7, 1]]
# A vocabulary with every trap: subtokens that are prefixes of each other, "_" inside of
# one, a repeated one, an empty one, escapes, and characters of two to four bytes.
SUBTOKENS = [
    *("<pad>", "<EOS>", "the_", "th", "them_", ", _", " _", "  ", "a_b", "##", "##a"),
    *(
        "",
        "é",
        "éé_",
        "中",
        "中文_",
        "😀",
        "\\u_",
        "\\u",
        "\\\\",
        "\\1",
        "\\12",
        "12;_",
    ),
    *("e_", "1_", "12", "the", "the_", "##_", "_", "ʼn", "'_", '"', "'", "ß_", "ß"),
    *("²", "²_", "\u00a0", "\u00a0_", "\\", "u", ";", *"0123456789", *"<>EOSpadthemb"),
    *(",", " ", "#", "文", "n", "ʼ", ".", "-"),
]
TEXTS = [
    *("", " ", "  ", "   ", "a", " a", "a ", " a ", "  a", "a  b", "a b", "a - b"),
    "a-b",
    *("the", "them", "the them", "the, them", "the , them", "themthe", "then the"),
    *(
        "_",
        "__",
        "a_b",
        "_a_",
        "\\",
        "\\\\",
        "\\u",
        "\\_u",
        "\\12;",
        "\\u_",
        "a\\b",
        ";",
    ),
    *("\n", "a\nb", "a\n", "\r\n", "\t", "\0", "\x7f", "\ufeff", "\u00a0", "a\u00a0b"),
    *("é", "e\u0301", "éé the", "中文", "中文 the 文中", "😀", "😀😀 a", "\U000e0001"),
    *("²", "x²", "½ 1/2", "٣", "ʼn", "ß the ß", "Straße", "'the'", '"the"', "##a ## #"),
    *("1", "12", "12;", "112 the 12;", "<pad>", "<EOS>", "a <pad> b", "\u200d", "क्षि"),
    *("The Cat's 3.5% \\ off_now; über-größe…", " the  the ", ". . .", "a\u3000b"),
    "\ud7a3\u1100\u1161 \U0001f468\u200d\U0001f469 \U0010ffff",
]


def prepare(directory):
    sys.path.insert(0, str(directory))
    sys.meta_path.insert(0, StandIns(STAND_INS, lambda name: mock.MagicMock()))
    modes = types.SimpleNamespace(TRAIN="train", EVAL="eval", PREDICT="infer")
    tf.estimator = types.SimpleNamespace(ModeKeys=modes)
    model = types.ModuleType("tensor2tensor.utils.t2t_model")
    model.T2TModel = type("T2TModel", (), {})
    sys.modules[model.__name__] = model
    # Its own `__init__` imports every model.
    models = types.ModuleType("tensor2tensor.models")
    models.__path__ = [str(pathlib.Path(directory) / "tensor2tensor" / "models")]
    sys.modules[models.__name__] = models


def name_of(variable):
    """The name of a variable in a checkpoint of TensorFlow 1.

    The layers of TensorFlow 2 number a scope that is opened twice, such as "layer_0".
    """
    return re.sub(r"(layer_\d+)_\d+/", r"\1/", variable.name.removesuffix(":0"))


def draw(variables):
    """Arrays for variables, dict of name to float32 array."""
    generator = np.random.default_rng(SEED)
    found = {}
    for variable in variables:
        name = name_of(variable)
        mean = 1.0 if name.endswith("scale") else 0.0
        shape = variable.shape.as_list()
        found[name] = generator.normal(mean, 0.3, shape).astype("float32")
    return found


def run(hparams, sizes, space):
    """Encoder output, logits and variables of a model."""
    from tensor2tensor.layers import modalities
    from tensor2tensor.models import transformer

    name = modalities.get_name(modalities.ModalityType.SYMBOL)
    scopes = [name(hparams, size) for size in sizes]
    with tf.Graph().as_default(), tf.Session() as session:
        source, target = (tf.constant(i)[:, :, None, None] for i in (INPUTS, TARGETS))
        with tf.variable_scope("transformer"):
            with tf.variable_scope(scopes[0]):
                source = modalities.symbol_bottom(source, hparams, sizes[0])
            with tf.variable_scope(scopes[1]):
                target = modalities.symbol_targets_bottom(target, hparams, sizes[1])
            with tf.variable_scope("body"):
                encoded, bias = transformer.transformer_encode(
                    transformer.transformer_encoder, source, space, hparams
                )
                shifted, causal = transformer.transformer_prepare_decoder(
                    target[:, :, 0], hparams
                )
                decoded = transformer.transformer_decode(
                    transformer.transformer_decoder,
                    shifted,
                    encoded,
                    bias,
                    causal,
                    hparams,
                )
            with tf.variable_scope(scopes[1]):
                logits = modalities.symbol_top(decoded, None, hparams, sizes[1])
        arrays = draw(tf.global_variables())
        for variable in tf.global_variables():
            variable.load(arrays[name_of(variable)], session)
        encoded, logits = session.run([encoded, logits[:, :, 0, 0]])
    return {"encoder_sequence_output": encoded, "token_logits": logits}, arrays


def make_models():
    from tensor2tensor.models import transformer

    found = {"inputs": np.int32(INPUTS), "targets": np.int32(TARGETS)}
    for name, (kind, changes, sizes, space) in MODELS.items():
        hparams = getattr(transformer, kind)()
        values = {**hparams.values(), **SMALL, **changes}
        hparams.override_from_dict({**SMALL, **changes})
        hparams.add_hparam("mode", "infer")
        for key in hparams.values():
            if key.endswith("dropout"):
                setattr(hparams, key, 0.0)
        outputs, arrays = run(hparams, sizes, space)
        found[f"{name}/hparams"] = json.dumps(values)
        found |= {f"{name}/outputs/{k}": v for k, v in outputs.items()}
        found |= pack(name, arrays)
    np.savez_compressed(HERE / "tensor2tensor.npz", **found)


def make_texts(vocabulary):
    from tensor2tensor.data_generators import text_encoder

    tiny = text_encoder.SubwordTextEncoder()
    tiny._init_subtokens_from_list(SUBTOKENS)
    tiny._init_alphabet_from_tokens(SUBTOKENS)
    made = {"subtokens": SUBTOKENS, "texts": TEXTS}
    made["tiny"] = [tiny.encode(text) for text in TEXTS]
    generator = np.random.default_rng(SEED)
    rows = generator.integers(2, len(SUBTOKENS) + 3, (60, 12)).tolist()
    made["rows"] = rows
    made["written"] = [tiny.decode(row) for row in rows]
    if vocabulary:
        real = text_encoder.SubwordTextEncoder(vocabulary)
        made["real"] = [real.encode(text) for text in TEXTS]
    path = HERE / "subword_tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    prepare(sys.argv[1])
    make_models()
    make_texts(sys.argv[2] if len(sys.argv) > 2 else None)
