"""Makes fastai_files/: files that fastai 2 writes, and what its models compute.

Made with fastai 2.8.12 and torch 2.14. Run it where fastai is installed:

    python tests/goldens/make_fastai_files.py

With the path of a directory, it loads a language model or an encoder that another
program wrote there, strictly, and prints the largest difference from the outputs.
"""

import pathlib
import pickle
import sys

import numpy as np
import pandas as pd
import torch
from fastai.text.all import (
    AWD_LSTM,
    TextDataLoaders,
    awd_lstm_clas_config,
    awd_lstm_lm_config,
    language_model_learner,
    text_classifier_learner,
)

SIZES = {"emb_sz": 6, "n_hid": 8}
FILES = pathlib.Path(__file__).parent / "fastai_files"
TEXTS = [
    "The film was good, and I LIKED it a lot" if i % 2 else "a bad film, don't see it"
    for i in range(24)
]
COLUMNS = {
    "text": TEXTS,
    "label": [i % 2 for i in range(24)],
    "valid": [i > 15 for i in range(24)],
}
FRAME = pd.DataFrame(COLUMNS)


def make_learners(path):
    """Returns learners of a language model and of a classifier, with random weights."""
    options = {"path": path, "text_col": "text", "valid_col": "valid", "bs": 4}
    loaders = TextDataLoaders.from_df(FRAME, is_lm=True, seq_len=8, **options)
    config = {**awd_lstm_lm_config, **SIZES}
    model = language_model_learner(loaders, AWD_LSTM, config=config, pretrained=False)
    options |= {"label_col": "label", "text_vocab": loaders.vocab}
    loaders = TextDataLoaders.from_df(FRAME, **options)
    config = {**awd_lstm_clas_config, **SIZES}
    classifier = text_classifier_learner(
        loaders, AWD_LSTM, config=config, pretrained=False
    )
    return model, classifier


def randomize(module):
    """Draws all parameters and statistics; those of norms are near 1."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if tensor.dtype.is_floating_point:
                drawn = torch.randn_like(tensor) * 0.3
                positive = name.endswith("running_var") or (
                    tensor.dim() == 1 and name.endswith(".0.weight")
                )
                tensor.copy_(drawn.abs() + 0.5 if positive else drawn)


def outputs(module, ids):
    """What a module of fastai returns first, in evaluation, as an array."""
    module.eval()
    module.reset()
    with torch.no_grad():
        found = module(torch.tensor(ids))
    return (found[0] if isinstance(found, tuple) else found).numpy()


def main():
    torch.manual_seed(0)
    FILES.mkdir(exist_ok=True)
    model, classifier = make_learners(FILES.parent)
    model.model_dir = classifier.model_dir = FILES.name
    randomize(model.model)
    randomize(classifier.model)
    ids = np.random.default_rng(0).integers(2, len(model.dls.vocab), (3, 12))
    padded = ids.copy()
    padded[1, 9:], padded[2, 5:] = 1, 1
    expected = {
        "ids": ids,
        "padded": padded,
        "logits": outputs(model.model, ids),
        "hidden": outputs(model.model[0], ids),
        "scores": outputs(classifier.model, padded),
    }
    for learner in (model, classifier):
        learner.create_opt()
    model.save("lm")
    model.save_encoder("encoder")
    classifier.save("classifier")
    with open(FILES / "itos.pkl", "wb") as file:
        pickle.dump(model.dls.vocab, file)
    np.savez_compressed(FILES / "outputs.npz", **expected)


def check(directory):
    """Loads a language model or an encoder of a directory, and compares its outputs."""
    model, _ = make_learners(directory)
    expected = np.load(FILES / "outputs.npz")
    (path,) = directory.glob("*.pth")
    (tokens,) = directory.glob("*_itos.pkl")
    with open(tokens, "rb") as file:
        if pickle.load(file) != list(model.dls.vocab):
            raise ValueError("The tokens differ.")
    state = torch.load(path, weights_only=True)
    whole = path.stem.startswith("lm")
    module = model.model if whole else model.model[0]
    module.load_state_dict(state, strict=True)
    found = outputs(module, expected["ids"])
    print(np.abs(found - expected["logits" if whole else "hidden"]).max())


if __name__ == "__main__":
    check(pathlib.Path(sys.argv[1]).absolute()) if sys.argv[1:] else main()
