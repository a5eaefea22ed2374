"""The groups of HDF5 files that Keras wrote."""

import re

import h5py


def rename_groups(path, names):
    """Renames groups of a file, in all places where they occur.

    Args:
        path: path of an HDF5 file, which is changed.
        names: dict of the old name of a group to the new one. Both may end with a
            number, as in "dense" and "dense_1".

    Returns:
        bool, whether there was such a group.
    """
    pattern = re.compile(rf"({'|'.join(map(re.escape, names))})((_\d+)?)")
    with h5py.File(path, "r+") as file:
        paths = []
        file.visit(paths.append)
        matches = {}
        for group in sorted(paths, key=len, reverse=True):  # inner groups first
            parent, _, own = group.rpartition("/")
            match = pattern.fullmatch(own)
            if match:
                matches[group] = f"{parent}/{names[match[1]]}{match[2]}"
        for group, renamed in matches.items():
            file.move(group, renamed)
    return bool(matches)
