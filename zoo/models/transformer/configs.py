"""The published configurations of tensor2tensor by their names."""

# Fields of `TransformerConfig` that all of them have, see `tensor2tensor.py`. None has
# `target_space`: it only matters to a model of several problems.
_ALL = {"positions": "tensor2tensor", "zero_padding": True}
_DROPOUTS = {"dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.1}
_LARGE = {"hidden_dim": 1024, "intermediate_dim": 4096, "num_heads": 16, "dropout": 0.3}

# Name to fields of `TransformerConfig`, where they differ from its defaults.
# "transformer_base_v1" is the paper's base. Version 3 differs from version 2 in the
# optimizer only; "transformer_base" is another name of it. "transformer_big_v1" is the
# paper's big model, for which the released code of today has no name.
CONFIGS = {
    "transformer_base_v1": _ALL,
    "transformer_base_v2": {**_ALL, "norm_first": True, **_DROPOUTS},
    "transformer_base_v3": {**_ALL, "norm_first": True, **_DROPOUTS},
    "transformer_big": {**_ALL, "norm_first": True, **_DROPOUTS, **_LARGE},
    "transformer_big_v1": {**_ALL, **_LARGE},
}
