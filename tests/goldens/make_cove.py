"""Makes cove.npz: the vectors of `torch.nn.LSTM` for random weights.

Run with the extra `parity`: `python tests/goldens/make_cove.py`.
"""

import pathlib

import numpy as np
import torch

WIDTH, UNITS, LAYERS = 6, 5, 2
LENGTHS = (7, 4)


def main():
    """Writes the weights of the state dict, the word vectors and the layers."""
    draw = np.random.default_rng(0)
    lstm = torch.nn.LSTM(
        WIDTH, UNITS, LAYERS, bidirectional=True, batch_first=True, dropout=0.2
    ).eval()
    with torch.no_grad():
        for value in lstm.parameters():
            value.copy_(torch.tensor(draw.normal(0, 0.3, value.shape)))
    words = draw.normal(0, 0.3, (len(LENGTHS), max(LENGTHS), WIDTH)).astype("float32")
    contents = {f"state/{k}": v.numpy() for k, v in lstm.state_dict().items()}
    contents |= {"words": words, "lengths": np.array(LENGTHS)}
    below = torch.nn.LSTM(WIDTH, UNITS, 1, bidirectional=True, batch_first=True)
    names = [name for name, _ in below.named_parameters()]
    below.load_state_dict({name: lstm.state_dict()[name] for name in names})
    for name, model in (("first", below), ("last", lstm)):
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.tensor(words), LENGTHS, batch_first=True
        )
        with torch.no_grad():
            found, (hidden, cell) = model(packed)
        padded, _ = torch.nn.utils.rnn.pad_packed_sequence(found, batch_first=True)
        contents |= {name: padded.numpy()}
        contents |= {"hidden": hidden.numpy(), "cell": cell.numpy()}
    np.savez(pathlib.Path(__file__).with_name("cove.npz"), **contents)


if __name__ == "__main__":
    main()
