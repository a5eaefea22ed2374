"""Makes awd_training.npz with fastai 2: three steps of training, and their masks.

Made with fastai 2.8.12 and torch 2.13. fastai's `Learner` trains for one epoch of three
windows, with all five dropouts, both terms of the loss, and carried states. Run it
where fastai is installed: `python tests/goldens/make_awd_training.py`.
"""

import functools
import pathlib

import numpy as np
import torch
from fastai.text.all import (
    AWD_LSTM,
    SGD,
    Adam,
    Callback,
    CrossEntropyLossFlat,
    DataLoaders,
    Learner,
    LMDataLoader,
    awd_lstm_lm_config,
    get_language_model,
    rnn_cbs,
)
from fastai.text.models import awdlstm

SIZES = {"emb_sz": 6, "n_hid": 8, "n_layers": 3, "pad_token": 1}
DROPOUTS = {
    "output_p": 0.25,
    "hidden_p": 0.3,
    "input_p": 0.4,
    "embed_p": 0.2,
    "weight_p": 0.5,
}
VOCABULARY, ROWS, WINDOW = 20, 3, 5
DOCUMENTS = (11, 4, 1, 25)  # their lengths: rows of 13 tokens, windows of 5, 5 and 3
ALPHA, BETA = 2.0, 1.0
OPTIMIZERS = {
    "sgd": (functools.partial(SGD, mom=0.0), 0.5),
    "adam": (functools.partial(Adam, mom=0.7, sqr_mom=0.99), 0.01),
}
# The dropouts in the order in which a step applies them.
NAMES = ["embedding", "input", "weight_0", "hidden_0", "weight_1", "hidden_1"]
NAMES += ["weight_2", "output"]


def make_model(start=None):
    """fastai's language model, with random weights or those of `start`."""
    model = get_language_model(
        AWD_LSTM, VOCABULARY, {**awd_lstm_lm_config, **SIZES} | DROPOUTS
    )
    if start is None:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    else:
        model.load_state_dict(start)
    return model


def record_masks():
    """List of the masks that fastai draws from now on, which grows."""
    found, draw = [], awdlstm.dropout_mask

    def noted(*arguments):
        mask = draw(*arguments)
        found.append(mask.numpy().copy())
        return mask

    def dropout(x, p):
        return x * noted(x.data, x.shape, p)

    awdlstm.dropout_mask = noted
    torch.nn.functional.dropout = dropout  # that of `WeightDropout`
    return found


def trained(model):
    """The parameters that are trained, one group.

    Torch has two biases for each LSTM, of which only the sum matters. One is fixed, so
    that the sum learns at the rate of the other parameters.
    """
    return [[p for name, p in model.named_parameters() if "bias_hh" not in name]]


class Losses(Callback):
    """Notes the loss of each step, with both terms."""

    order = 99

    def before_fit(self):
        self.found = []

    def after_loss(self):
        if self.training:
            self.found.append(float(self.learn.loss_grad))


def train(model, documents, optimizer, rate):
    loader = functools.partial(
        LMDataLoader, documents, bs=ROWS, seq_len=WINDOW, shuffle=False
    )
    learner = Learner(
        DataLoaders(loader(), loader(), device="cpu"),
        model,
        CrossEntropyLossFlat(),
        opt_func=optimizer,
        splitter=trained,
        cbs=[*rnn_cbs(ALPHA, BETA), Losses()],
    )
    with learner.no_bar(), learner.no_logging():
        learner.fit(1, rate, wd=0.0)
    return learner.losses.found


def main():
    random = np.random.default_rng(0)
    documents = [torch.tensor(random.integers(2, VOCABULARY, n)) for n in DOCUMENTS]
    torch.manual_seed(0)
    start = make_model().state_dict()
    start = {name: value.clone() for name, value in start.items()}
    stored = {f"start/{k}": v.numpy() for k, v in start.items()}
    stored["ids"] = np.concatenate([d.numpy() for d in documents]).astype("int32")
    stored["offsets"] = np.cumsum([0, *DOCUMENTS])
    masks = record_masks()
    for number, (name, (optimizer, rate)) in enumerate(OPTIMIZERS.items()):
        torch.manual_seed(number)
        masks.clear()
        model = make_model(start)
        stored[f"{name}/losses"] = train(model, documents, optimizer, rate)
        steps = np.arange(len(masks)) // len(NAMES)
        for step, part, mask in zip(steps, NAMES * 3, masks, strict=True):
            stored[f"{name}/mask/{part}/{step}"] = mask
        for path, parameter in model.named_parameters():
            stored[f"{name}/end/{path}"] = parameter.detach().numpy()
    np.savez_compressed(pathlib.Path(__file__).with_name("awd_training.npz"), **stored)
    print({k: np.shape(v) for k, v in stored.items()})


if __name__ == "__main__":
    main()
