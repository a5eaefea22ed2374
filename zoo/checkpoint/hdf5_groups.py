"""The datasets of HDF5 files, and the groups that Keras wrote."""

import math
import re

import h5py

from zoo.files.inflation import check_growth


def open_datasets(file, size):
    """Finds the datasets of a file without reading them.

    Args:
        file: `h5py.File`.
        size: int, bytes of the file.

    Returns:
        dict of the path of a dataset to a function that reads the array.

    Raises:
        ValueError: if a dataset is stored in another file, or all of them declare too
            much, as compressed or unwritten ones can. Also by a read, if a dataset does
            not hold numbers.
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
        found[name] = lambda: _read(item)

    file.visititems(visit)
    check_growth(declared, size)
    return found


def check_hdf5(file, size):
    """Checks the datasets of an open binary file; see `open_datasets`."""
    with h5py.File(file, "r") as opened:
        open_datasets(opened, size)


def _read(dataset):
    """The array of a dataset."""
    # Many values can point to one text of any length.
    if dataset.shape is None or dataset.dtype.hasobject:
        raise ValueError("it does not hold numbers")
    return dataset[()]


def rename_groups(path, names):
    """Renames groups of a file, in all places where they occur.

    Args:
        path: path of an HDF5 file, which is changed.
        names: dict of the old name of a group to the new one. Both may end with a
            number, as in "dense" and "dense_1".
    """
    with h5py.File(path, "r+") as file:
        for group, renamed in _matches(file, names).items():
            file.move(group, renamed)


def has_group(file, names):
    """Whether an HDF5 file has a group that `rename_groups` would rename.

    Args:
        file: path, or an open binary file.
        names: see `rename_groups`.
    """
    with h5py.File(file, "r") as opened:
        return bool(_matches(opened, names))


def _matches(file, names):
    """Dict of the path of a group to its new path, inner groups first."""
    pattern = re.compile(rf"({'|'.join(map(re.escape, names))})((_\d+)?)")
    paths, matches = [], {}
    file.visit(paths.append)
    for group in sorted(paths, key=len, reverse=True):
        parent, _, own = group.rpartition("/")
        match = pattern.fullmatch(own)
        if match:
            matches[group] = f"{parent}/{names[match[1]]}{match[2]}"
    return matches
