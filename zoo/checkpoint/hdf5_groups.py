"""The datasets of HDF5 files."""

import math

import h5py

from zoo.files.inflation import check_growth


def open_datasets(file, size):
    """Functions that read the datasets of an `h5py.File` of `size` bytes, by path.

    ValueError if a dataset is stored in another file, or all of them declare too much,
    as compressed or unwritten ones can; also by a read, if it holds no numbers.
    """
    found, declared = {}, 0

    def visit(name, item):
        nonlocal declared
        if not isinstance(item, h5py.Dataset):
            return
        # `visititems` does not follow links to other files, but a dataset itself may
        # store its data in another file.
        if item.is_virtual or item.external:
            raise ValueError(f"dataset {name!r} stores its data in another file")
        declared += math.prod(item.shape or ()) * item.dtype.itemsize
        found[name] = lambda: read(item)

    def read(dataset):
        # Many values can point to one text of any length.
        if dataset.shape is None or dataset.dtype.hasobject:
            raise ValueError("it does not hold numbers")
        return dataset[()]

    file.visititems(visit)
    check_growth(declared, size)
    return found


def check_hdf5(file, size):
    """Checks the datasets of an open binary file; see `open_datasets`."""
    with h5py.File(file, "r") as opened:
        open_datasets(opened, size)
