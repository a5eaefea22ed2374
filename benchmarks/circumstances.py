"""The commit, the date and the machine of a result."""

import datetime
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def circumstances(threads):
    """The columns about commit, date and machine, the same in every row of a run."""
    return {
        "threads": threads,
        "hardware": hardware(),
        "python": platform.python_version(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }


def commit():
    """The commit, with "-dirty" if files that can affect a result were changed."""

    def git(*words):
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    changed = git(
        "status", "--porcelain", "-uno", ".", ":!benchmarks/results", ":!*.md"
    )
    return (git("rev-parse", "HEAD") or "unknown") + ("-dirty" if changed else "")


def hardware():
    """The processor, the cores that this process may use, and the memory, a str."""
    model = platform.processor() or platform.machine()
    described = pathlib.Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{(names or [model])[0]}, {counted(cores(), 'core')}, {memory:.0f} GiB"


def counted(number, noun):
    """A number and its noun, such as "1 core" or "2 cores"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cores():
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()
