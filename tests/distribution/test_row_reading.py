"""Workers read every row of an update once, and none that is not in it."""

import jobs
import numpy as np
import pytest
import row_reading
from workers import run_workers


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_every_row_is_read_once(workers, tmp_path):
    """Also if the workers divide neither the rows nor the files of examples."""
    jobs.write_data(tmp_path)
    names = [*jobs.RECIPES]
    wanted = row_reading.read_all(tmp_path, tmp_path / "one", names)
    files = [tmp_path / f"{index}.npz" for index in range(workers)]
    program, output = row_reading.__file__, tmp_path / "run"
    commands = [[program, tmp_path, output, file, *names] for file in files]
    run_workers(commands, [file.with_suffix(".log") for file in files])
    parts = [np.load(file) for file in files]
    for key, rows in wanted.items():
        found = [part[key] for part in parts]
        assert all(len(part) < len(rows) for part in found)
        np.testing.assert_array_equal(np.concatenate(found), rows, err_msg=key)
