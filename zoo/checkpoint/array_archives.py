"""Opens archives of arrays: HDF5 files, and the zip archives that NumPy writes."""

import math
import zipfile

import h5py
import numpy as np

from zoo.files.inflation import check_growth, check_members


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


def open_npz(path):
    """Opens an archive of arrays; see `zoo.checkpoint.formats.FORMATS`."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not a zip archive")
    file = np.load(path, allow_pickle=False)
    check_members(file.zip, path.stat().st_size)
    # NumPy would return other members as bytes.
    if not all(name.endswith(".npy") for name in file.zip.namelist()):
        raise ValueError("it holds members that are not arrays")

    def read(name):
        member = file.zip.getinfo(f"{name}.npy")
        with file.zip.open(member) as opened:
            read_header = np.lib.format.read_array_header_2_0
            if np.lib.format.read_magic(opened)[0] == 1:
                read_header = np.lib.format.read_array_header_1_0
            shape, _, dtype = read_header(opened)
        size = member.file_size
        if math.prod(shape) * dtype.itemsize > size:
            raise ValueError(f"its shape {shape} does not fit its {size} bytes")
        return file[name]

    return {name: lambda name=name: read(name) for name in file.files}
