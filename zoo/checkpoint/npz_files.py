"""Opens the archives of arrays that NumPy writes."""

import math
import zipfile

import numpy as np

from zoo.files.inflation import check_members


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
