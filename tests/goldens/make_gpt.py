"""Makes gpt_hugging_face/: a tiny GPT-1 and GPT-2 of transformers, and their outputs.

Made with torch 2.13.0, transformers 5.24.0 and NumPy 2.4.6 (extra `parity`), seed 31:

    python tests/goldens/make_gpt.py

With directories as arguments, it loads each of them with transformers, and writes
theirs.npz beside the weights: the logits of inputs.npz, the ids of its text, the id
that ends a generated text, and the names of arrays that were missing or left over.
Torch and TensorFlow may not share a process.

Every parameter is drawn from N(0, 0.3), gains of norms from N(1, 0.3). The number of
heads, the inner width and the epsilon are no defaults, so that none can be assumed. The
table of the GPT-2 has more rows than its tokenizer has tokens.
"""

import pathlib
import shutil
import sys

import numpy as np
import torch
import transformers
from maker_tools import HERE, draw_torch

SEED = 31
END = "<|endoftext|>"
TEXTS = {"gpt2": f"The cat  sat{END}on caf\u00e9s", "gpt1": "The cat sat on the hat"}
MERGES = ["t h", "th e", "\u0120 s", "a t", "\u0120s at", "c at"]
MERGES1 = ["t h", "th e</w>", "a t</w>", "c at</w>", "s at</w>", "o n</w>"]
CHARACTERS = "acehnost"


def byte_symbols():
    """The characters by which GPT-2 writes the 256 bytes, list of str."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b if b in printable else next(others)) for b in range(256)]


def joined(merges):
    """The results of merges, list of str."""
    return [merge.replace(" ", "") for merge in merges]


VOCABULARY = [*byte_symbols(), END, *joined(MERGES)]
VOCABULARY1 = ["<unk>", *CHARACTERS, *(c + "</w>" for c in CHARACTERS)]
VOCABULARY1 += joined(MERGES1)
SIZES = {
    "n_positions": 9,
    "n_embd": 8,
    "n_layer": 2,
    "n_head": 4,
    "resid_pdrop": 0.05,
    "embd_pdrop": 0.15,
    "attn_pdrop": 0.25,
    "layer_norm_epsilon": 3e-3,
    "initializer_range": 0.03,
    "attn_implementation": "eager",
}


def models():
    """The name of each directory, the model and its tokenizer."""
    pairs = [tuple(merge.split(" ")) for merge in MERGES]
    tokenizer = transformers.GPT2Tokenizer(
        {token: i for i, token in enumerate(VOCABULARY)}, pairs
    )
    ends = dict.fromkeys(("bos_token_id", "eos_token_id"), 256)
    config = transformers.GPT2Config(
        vocab_size=len(VOCABULARY) + 3, n_inner=12, **ends, **SIZES
    )
    yield "gpt2", transformers.GPT2LMHeadModel(config), tokenizer
    pairs = [tuple(merge.split(" ")) for merge in MERGES1]
    tokenizer = transformers.OpenAIGPTTokenizer(
        {token: i for i, token in enumerate(VOCABULARY1)}, pairs
    )
    config = transformers.OpenAIGPTConfig(vocab_size=len(VOCABULARY1), **SIZES)
    yield "gpt1", transformers.OpenAIGPTLMHeadModel(config), tokenizer


def inputs(size):
    """Rows (3, 7) of 7, 4 and 1 random tokens of a vocabulary."""
    mask = (np.arange(7) < np.array([[7], [4], [1]])).astype("int64")
    ids = np.random.default_rng(SEED).integers(0, size, mask.shape)
    return {"token_ids": ids * mask, "padding_mask": mask}


def main(directory):
    shutil.rmtree(directory, ignore_errors=True)
    for name, model, tokenizer in models():
        draw_torch(model.eval().named_parameters(), SEED)
        x = inputs(model.config.vocab_size)
        with torch.no_grad():
            y = model(
                input_ids=torch.tensor(x["token_ids"]),
                attention_mask=torch.tensor(x["padding_mask"]),
                output_hidden_states=True,
                output_attentions=True,
            )
        model.save_pretrained(directory / name)
        tokenizer.save_pretrained(directory / name)
        np.savez_compressed(
            directory / name / "outputs.npz",
            **x,
            layer_outputs=np.stack([h.numpy() for h in y.hidden_states], axis=1),
            attention_scores=np.stack([a.numpy() for a in y.attentions], axis=1),
            logits=y.logits.numpy(),
            text=TEXTS[name],
            text_ids=tokenizer(TEXTS[name])["input_ids"],
        )


def run(directory):
    """Loads a directory with transformers; see the module."""
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        directory, output_loading_info=True
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    x = np.load(directory / "inputs.npz")
    with torch.no_grad():
        y = model.eval()(
            input_ids=torch.tensor(x["token_ids"]),
            attention_mask=torch.tensor(x["padding_mask"]),
        )
    end = model.generation_config.eos_token_id
    np.savez(
        directory / "theirs.npz",
        logits=y.logits.numpy(),
        text_ids=tokenizer(str(x["text"]))["input_ids"],
        tokens=len(tokenizer),
        model_max_length=tokenizer.model_max_length,
        end_id=-1 if end is None else end,
        kind=type(model).__name__,
        problems=[f"{name}: {keys}" for name, keys in report.items() if keys],
    )


if __name__ == "__main__":
    for path in sys.argv[1:]:
        run(pathlib.Path(path))
    if len(sys.argv) == 1:
        main(HERE / "gpt_hugging_face")
