"""Makes fairseq/: tiny Transformers as fairseq saves them, and what it computes.

Made with fairseq 0.12.2, subword-nmt 0.3.8, torch 2.13.0 and omegaconf 2.3.0, in an
environment of its own, Python 3.11:

    python tests/goldens/make_fairseq.py

fairseq has no wheel for Python 3.11. The Python files of its wheel for 3.8 run there,
if dataclasses may be defaults of fields, see below.

Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3). The sizes are no
defaults, so that none can be assumed. There are four models:

- post_norm: all embeddings shared, sinusoids, options as "args".
- pre_norm: own embeddings, learned positions, a norm after embeddings, an approximate
  GELU, no scale, options as a record of omegaconf.
- oldest: post-norm with an output matrix of its own, the names of fairseq 0.5, options
  as a namespace in "cfg".
- nameless: own embeddings, dictionaries of different sizes, and codes called bpe.code.
  The languages are None, as in published models, and options with a default are left
  out.

The second and the third are in the file format of torch before 1.6.
"""

import argparse
import contextlib
import dataclasses
import functools
import io
import pathlib
import re
import shutil

import numpy as np
import torch
from omegaconf import OmegaConf
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

# Since Python 3.11, a default of a field must be hashable.
dataclass = dataclasses.dataclass
dataclasses.dataclass = functools.partial(dataclass, unsafe_hash=True)

from fairseq.data.dictionary import Dictionary  # noqa: E402
from fairseq.models.transformer import TransformerModel  # noqa: E402
from fairseq.models.transformer.transformer_legacy import (  # noqa: E402
    base_architecture,
)
from fairseq.sequence_generator import SequenceGenerator  # noqa: E402

dataclasses.dataclass = dataclass
# Chosen so that sentences end at different lengths.
SEEDS = {"post_norm": 8, "pre_norm": 14, "oldest": 7, "nameless": 5}
CODES = {"nameless": "bpe.code"}  # others are called bpecodes
ROWS = 4  # of which all numbers are kept; all 12 rows are searched
DIRECTORY = pathlib.Path(__file__).parent / "fairseq"
ENGLISH = (
    "the cat sat on the mat and the dog sat on the cat .\n"
    "a man and a woman are sitting on a bench in the park .\n"
    "two young men are standing in the water near the boat .\n"
    "the woman who is standing there is the mother of the man .\n"
)
GERMAN = (
    "die katze saß auf der matte und der hund saß auf der katze .\n"
    "ein mann und eine frau sitzen auf einer bank im park .\n"
    "zwei junge männer stehen im wasser in der nähe des bootes .\n"
    "die frau , die dort steht , ist die mutter des mannes .\n"
)
TEXTS = (
    "the man sat near the water .",
    "a  dog and two catamarans ",
    "mothers , standing there \u2014 über Qual",
    "x",
    "",
    "sitting benches",
    "die mutter des hundes saß im boot",
    "and and and and and and and",
)
COMMON = {
    "arch": "transformer",
    "source_lang": "en",
    "target_lang": "de",
    "decoder_layers": 1,
    "dropout": 0.15,
    "attention_dropout": 0.05,
    "activation_dropout": 0.25,
    "criterion": "label_smoothed_cross_entropy",
    "label_smoothing": 0.2,
}
MODELS = {
    "post_norm": {
        "encoder_embed_dim": 8,
        "encoder_ffn_embed_dim": 12,
        "encoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "share_all_embeddings": True,
        "share_decoder_input_output_embed": True,
        "max_source_positions": 40,
        "max_target_positions": 50,
    },
    "pre_norm": {
        "encoder_embed_dim": 6,
        "encoder_ffn_embed_dim": 10,
        "encoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "share_decoder_input_output_embed": True,
        "layernorm_embedding": True,
        "no_scale_embedding": True,
        "activation_fn": "gelu_accurate",
        "max_source_positions": 24,
        "max_target_positions": 24,
    },
    "oldest": {
        "encoder_embed_dim": 8,
        "encoder_ffn_embed_dim": 6,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "activation_fn": "gelu",
        "max_source_positions": 30,
        "max_target_positions": 30,
    },
    "nameless": {
        "source_lang": None,
        "target_lang": None,
        "encoder_embed_dim": 8,
        "encoder_ffn_embed_dim": 12,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "share_decoder_input_output_embed": True,
    },
}
# Encoder layers of 0.12 have these parameters too. They are 0 until a checkpoint is
# loaded, and fairseq then replaces them by copies of others.
COPIES = re.compile(r"layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)")
# Beams, length penalty, and the greatest length: a times the source's, plus b.
SEARCHES = ((4, 0.6, 0.0, 12), (4, 1.0, 1.2, 5), (5, 1.0, 0.0, 20), (2, 0.0, 0.5, 3))


def learn_codes(lines, merges):
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe(io.StringIO(lines), codes, merges)
    return codes.getvalue()


def make_dictionary(text, bpe, padding_factor):
    dictionary = Dictionary()
    for line in text.splitlines():
        for piece in bpe.process_line(line).split():
            dictionary.add_symbol(piece)
    dictionary.finalize(padding_factor=padding_factor)
    return dictionary


def draw(model, generator):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = re.search(r"layer_?norm\w*\.weight", name)
            values = generator.normal(1.0 if norm else 0.0, 0.3, parameter.shape)
            if not COPIES.search(name):
                parameter.copy_(torch.tensor(values, dtype=torch.float32))
            if name.endswith("embed_tokens.weight"):
                parameter[1] = 0.0  # padding, which is never trained
        output = model.decoder.output_projection.weight
        output[2] *= 3.0  # so that sentences end at different lengths


def oldest_names(state):
    """The state of a model by the names of fairseq 0.5."""
    norms = {
        "encoder": ("self_attn_layer_norm", "final_layer_norm"),
        "decoder": (
            "self_attn_layer_norm",
            "encoder_attn_layer_norm",
            "final_layer_norm",
        ),
    }
    found = {}
    for name, array in state.items():
        side, leaf = name.split(".")[0], name.split(".")[-2]
        if leaf == "q_proj":
            parts = [state[name.replace("q_proj", f"{p}_proj")] for p in "qkv"]
            found[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
        elif leaf in norms[side]:
            number = norms[side].index(leaf)
            found[name.replace(leaf, f"layer_norms.{number}")] = array
        elif name == "decoder.output_projection.weight":
            found["decoder.embed_out"] = array
        elif leaf not in ("k_proj", "v_proj"):
            found[name] = array
    return found


def save(directory, name, model, args):
    state = model.state_dict()
    if name != "pre_norm":  # as in earlier versions
        state = {key: array for key, array in state.items() if not COPIES.search(key)}
    if name in ("post_norm", "nameless"):
        options = args if name == "post_norm" else argparse.Namespace(**MODELS[name])
        content = {"args": options, "model": state}
        torch.save(content, directory / "model.pt")
        return
    extra = {"extra_state": {"epoch": 3, "val_loss": np.float64(1.5)}, "args": None}
    if name == "oldest":
        cfg = {"task": {"_name": "translation"}, "model": args}
        extra |= {"cfg": cfg, "model": oldest_names(state)}
        path = directory / "checkpoint_best.pt"
        torch.save(extra, path, _use_new_zipfile_serialization=False)
        return
    options = {"encoder": {}, "decoder": {}}
    for key, value in {**COMMON, **MODELS[name]}.items():
        side, _, rest = key.partition("_")
        group, key = (options[side], rest) if side in options else (options, key)
        group[key] = value
    options["decoder"]["input_dim"] = "${model.decoder.embed_dim}"
    task = {key: options.pop(key) for key in ("source_lang", "target_lang")}
    smoothing = {"label_smoothing": options.pop("label_smoothing")}
    cfg = {"task": task, "criterion": smoothing, "model": options}
    extra |= {"cfg": OmegaConf.create(cfg), "model": state}
    path = directory / "model.pt"
    torch.save(extra, path, _use_new_zipfile_serialization=False)


def search(model, dictionary, tokens):
    """The tokens and scores of beam searches, dict of str to array."""
    found = {}
    sample = {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(1).sum(1)}}
    for number, (beams, penalty, a, b) in enumerate(SEARCHES):
        generator = SequenceGenerator(
            [model],
            dictionary,
            beam_size=beams,
            len_penalty=penalty,
            max_len_a=a,
            max_len_b=b,
        )
        rows = generator.generate([model], sample)
        longest = int(a * tokens.shape[1] + b) + 1
        ids = np.full((len(rows), beams, longest), 2, "int16")
        scores = np.zeros((len(rows), beams), "float32")
        for row, hypotheses in enumerate(rows):
            for place, hypothesis in enumerate(hypotheses):
                ids[row, place, : len(hypothesis["tokens"])] = hypothesis["tokens"]
                scores[row, place] = hypothesis["score"]
        found |= {f"tokens_{number}": ids, f"scores_{number}": scores}
    return found


def make(name, generator):
    """Writes one model and what it computes."""
    directory = DIRECTORY / name
    directory.mkdir(parents=True)
    codes = learn_codes(ENGLISH + GERMAN, 40)
    (directory / CODES.get(name, "bpecodes")).write_text(codes, "utf-8")
    bpe = BPE(io.StringIO(codes))
    joined = MODELS[name].get("share_all_embeddings")
    sides = [ENGLISH + GERMAN] * 2 if joined else [ENGLISH, GERMAN]
    factor = 1 if name == "nameless" else 8
    dictionaries = [make_dictionary(text, bpe, factor) for text in sides]
    for language, dictionary in zip(("en", "de"), dictionaries, strict=True):
        dictionary.save(str(directory / f"dict.{language}.txt"))
    args = argparse.Namespace(**{**COMMON, **MODELS[name]})
    base_architecture(args)
    sides = ("source_dictionary", "target_dictionary")
    pair = dict(zip(sides, dictionaries, strict=True))
    model = TransformerModel.build_model(args, argparse.Namespace(**pair)).eval()
    draw(model, generator)
    save(directory, name, model, args)

    tokens = generator.integers(4, len(dictionaries[0]), (12, 9))
    lengths = generator.integers(1, 9, 12)
    lengths[0] = 8
    places = np.arange(9)[None]
    tokens = np.where(places < lengths[:, None], tokens, 1)
    tokens[places == lengths[:, None]] = 2
    target = generator.integers(4, len(dictionaries[1]), (ROWS, 7))
    target[:, 0] = 2
    source, read = torch.tensor(tokens), torch.tensor(target)
    with torch.no_grad():
        some = source[:ROWS]
        memory = model.encoder(some, src_lengths=some.ne(1).sum(1))
        logits = model.decoder(read, encoder_out=memory)[0]
        if name == "oldest":  # fairseq itself must read these names
            state = model.state_dict()
            state = {k: v for k, v in state.items() if not COPIES.search(k)}
            state = oldest_names(state)
            other = TransformerModel.build_model(args, argparse.Namespace(**pair))
            other.load_state_dict(state)
            again = other.eval()(some, some.ne(1).sum(1), read)[0]
            assert torch.equal(again, logits)
    ids = [
        dictionary.encode_line(bpe.process_line(text), add_if_not_exist=False)
        for dictionary in dictionaries
        for text in TEXTS
    ]
    written = [dictionaries[1].string(row, "@@ ") for row in target]
    np.savez_compressed(
        directory / "outputs.npz",
        source=tokens.astype("int16"),
        target=target.astype("int16"),
        encoder=memory["encoder_out"][0].transpose(0, 1).numpy(),
        logits=logits.numpy(),
        texts=np.array(TEXTS),
        written=np.array(written),
        lengths=np.array([len(row) for row in ids], "int16"),
        ids=np.concatenate([row.numpy() for row in ids]).astype("int16"),
        **search(model, dictionaries[1], source),
    )


if __name__ == "__main__":
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    for each, seed in SEEDS.items():
        make(each, np.random.default_rng(seed))
