"""Makes torch_zip.pt: a state dict of every kind of tensor, and its values as .npz.

Made with torch 2.13.0 and NumPy 2.4.6 (extra `parity`), seed 21:

    python tests/goldens/make_torch_zip.py
"""

import collections
import pathlib

import numpy as np
import torch

SEED = 21


def tensors():
    """Tensors of several dtypes, layouts and shared storages, by name."""
    torch.manual_seed(SEED)
    matrix = torch.randn(3, 4)
    stack = torch.randn(5, 2, 3)
    return {
        "float32": matrix,
        "tied": matrix,
        "transposed": matrix.t(),
        "part": stack[1:4, :, 1],
        "float16": torch.randn(2, 3).half(),
        "bfloat16": torch.randn(2, 3).bfloat16(),
        "float64": torch.randn(4, dtype=torch.float64),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "int64": torch.arange(6)[::2],
        "uint8": torch.arange(3, dtype=torch.uint8),
        "bool": torch.tensor([True, False]),
        "parameter": torch.nn.Parameter(torch.randn(2)),
    }


def main(directory):
    values = tensors()
    torch.save(collections.OrderedDict(values), directory / "torch_zip.pt")
    torch.save(
        values, directory / "torch_legacy.pt", _use_new_zipfile_serialization=False
    )
    arrays = {**values, "bfloat16": values["bfloat16"].float()}
    arrays = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(directory / "torch_zip.npz", **arrays)


if __name__ == "__main__":
    main(pathlib.Path(__file__).parent)
