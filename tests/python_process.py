"""Programs of tests in a process of their own."""

import os
import subprocess
import sys


def run_python(program, *arguments, cwd=None, **environment):
    """Runs a program that finds the modules of the tests; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done
