"""Makes awd_lstm.npz with fastai 2: weights, outputs, the loss and its gradients.

Run it where fastai is installed: `python tests/goldens/make_awd_lstm.py`.
"""

import pathlib

import numpy as np
import torch
from fastai.text.all import AWD_LSTM, awd_lstm_lm_config, get_language_model

SIZES = {"emb_sz": 6, "n_hid": 8, "n_layers": 3, "pad_token": 1}
DROPOUTS = ("output_p", "hidden_p", "input_p", "embed_p", "weight_p")
ALPHA, BETA = 2.0, 1.0


def main():
    torch.manual_seed(0)
    config = {**awd_lstm_lm_config, **SIZES, **dict.fromkeys(DROPOUTS, 0.0)}
    model = get_language_model(AWD_LSTM, 20, config)
    encoder = model[0]
    # Without dropout, what fastai puts around each LSTM only copies a weight. Recent
    # versions of torch refuse that.
    for i, rnn in enumerate(encoder.rnns):
        sizes = rnn.module.input_size, rnn.module.hidden_size
        encoder.rnns[i] = torch.nn.LSTM(*sizes, batch_first=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    ids = torch.tensor(np.random.default_rng(0).integers(2, 20, (3, 12)))
    stored = {k: v.detach().numpy().copy() for k, v in model.named_parameters()}
    model.reset()
    model.train()
    logits, raw, dropped = model(ids[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss = loss + ALPHA * dropped.pow(2).mean()
    loss = loss + BETA * (raw[:, 1:] - raw[:, :-1]).pow(2).mean()
    loss.backward()
    for name, parameter in model.named_parameters():
        stored[f"gradient/{name}"] = parameter.grad.numpy()
    model.eval()
    model.reset()
    chunks = [model(part) for part in (ids[:, :7], ids[:, 7:])]
    stored |= {
        "ids": ids.numpy(),
        "loss": loss.item(),
        "logits": torch.cat([c[0] for c in chunks], 1).detach().numpy(),
        "hidden": torch.cat([c[1] for c in chunks], 1).detach().numpy(),
    }
    np.savez_compressed(pathlib.Path(__file__).parent / "awd_lstm.npz", **stored)
    print({k: np.shape(v) for k, v in stored.items()})


if __name__ == "__main__":
    main()
