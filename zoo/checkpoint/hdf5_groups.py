"""The groups of HDF5 files that Keras wrote."""

import re

import h5py


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
