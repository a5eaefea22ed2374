"""Runs `python -m benchmarks.tables`."""

from benchmarks.tables.runner import main

if __name__ == "__main__":
    main(prog_name="python -m benchmarks.tables")
