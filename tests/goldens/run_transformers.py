"""Loads directories with transformers and writes what it computes beside them.

    python tests/goldens/run_transformers.py INPUTS.npz DIRECTORY...

In a process of its own, since torch and TensorFlow may not share one. Each directory
gets theirs.npz: every output under transformers' name, `encoder_` before those of the
encoder, the ids of one text and the names of arrays that were missing or left over.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers

INPUTS = {
    "input_ids": "token_ids",
    "token_type_ids": "segment_ids",
    "attention_mask": "padding_mask",
}
TEXT = "The CAT s\u00e2t"


def run(directory, inputs):
    config = json.loads((directory / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    model, report = kind.from_pretrained(directory, output_loading_info=True)
    model.eval()
    inputs = {name: torch.tensor(inputs[ours]) for name, ours in INPUTS.items()}
    with torch.no_grad():
        outputs = model(**inputs).items()
        encoded = getattr(model, "bert", model)(**inputs).items()
    arrays = {name: output.numpy() for name, output in outputs}
    arrays |= {f"encoder_{name}": output.numpy() for name, output in encoded}
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    np.savez(
        directory / "theirs.npz",
        text_ids=tokenizer(TEXT)["input_ids"],
        model_max_length=tokenizer.model_max_length,
        labels=[model.config.id2label[i] for i in range(model.config.num_labels)],
        problems=[f"{name}: {keys}" for name, keys in report.items() if keys],
        **arrays,
    )


if __name__ == "__main__":
    for path in sys.argv[2:]:
        run(pathlib.Path(path), np.load(sys.argv[1]))
