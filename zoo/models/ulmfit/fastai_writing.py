"""Writes an AWD-LSTM as files that fastai 2 loads."""

import numpy as np

from zoo.checkpoint import revert, save_checkpoint, write_strings
from zoo.files.whole_files import filling
from zoo.models.ulmfit.tables import table


def write_contents(directory, contents):
    """Writes a language model or an encoder, and its list of tokens, for fastai 2.

    The files are lm_fwd.pth or encoder_fwd.pth, with "bwd" for a backward model, and
    the list of tokens, such as lm_fwd_itos.pkl. A model without a bias of its logits is
    written as a language model.

    Source: fastai 2.8, `AWD_LSTM`, `LinearDecoder` and `TextLearner`.
    """
    config, weights, tokenizer = contents.config, contents.weights, contents.tokenizer
    if config.cell != "lstm":
        raise ValueError(
            f"fastai 2 has no QRNN. Received: cell={config.cell!r}. Save the preset in "
            'layout "zoo".'
        )
    heads = sorted({*contents.heads} - {"lm_head"})
    if heads:
        raise ValueError(
            "The layout of fastai holds a language model or an encoder. Received: a "
            f"model with {', '.join(heads)}. Pass `heads=()` to write its encoder."
        )
    if tokenizer and "version" not in tokenizer:
        raise ValueError(
            "The layout of fastai holds the tokens of `FastaiTokenizer`. Received: a "
            f"tokenizer with {', '.join(tokenizer)}. Set the `tokenizer` of the "
            'backbone to None, or choose layout "zoo".'
        )
    decodes = "lm_head" in contents.heads or not config.output_bias
    arrays = revert(weights, table(config, ("lm_head",) if decodes else ()))
    name = f"{'lm' if decodes else 'encoder'}_{'bwd' if config.reverse else 'fwd'}"
    with filling(directory) as temporary:
        state = state_dict(arrays, config.num_layers, decodes)
        save_checkpoint(temporary / f"{name}.pth", state)
        if tokenizer:
            write_strings(temporary / f"{name}_itos.pkl", tokenizer["vocabulary"])


def state_dict(arrays, num_layers, decodes):
    """The arrays by the names of fastai 2, in its order, by which it loads them."""
    encoder, decoder = ("0.", "1.") if decodes else ("", "")
    embedding = np.ascontiguousarray(arrays["encoder.weight"])
    found = dict.fromkeys(
        (f"{encoder}encoder.weight", f"{encoder}encoder_dp.emb.weight"), embedding
    )
    for i in range(num_layers):
        ours, theirs = f"rnns.{i}", f"{encoder}rnns.{i}"
        bias = arrays[f"{ours}.bias_l0"]
        found[f"{theirs}.weight_hh_l0_raw"] = arrays[f"{ours}.weight_hh_l0"]
        found[f"{theirs}.module.weight_ih_l0"] = arrays[f"{ours}.weight_ih_l0"]
        found[f"{theirs}.module.bias_ih_l0"] = bias
        found[f"{theirs}.module.bias_hh_l0"] = np.zeros_like(bias)
    if decodes:
        found[f"{decoder}decoder.weight"] = embedding
        if "decoder.bias" in arrays:
            found[f"{decoder}decoder.bias"] = arrays["decoder.bias"]
    return found
