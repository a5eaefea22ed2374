"""One line on the terminal that says how far a program is."""

import time

SECONDS_BETWEEN_LINES = 0.2


class ProgressBar:
    """Prints how many texts or rows are done, and how long the others will take.

    Args:
        total: int, or None if it is unknown.
        unit: str, what is counted, in the plural.
        verbose: int, 0 prints nothing.
        done: int, how many were done before.
    """

    def __init__(self, total, unit, verbose=1, done=0):
        self.total, self.unit, self.verbose = total, unit, verbose
        self.before = self.done = done
        self.start, self.printed = time.monotonic(), 0.0

    def add(self, count):
        """Counts more of them, and prints the line."""
        self.done += count
        now, last = time.monotonic(), self.done == self.total
        if not self.verbose or (
            now - self.printed < SECONDS_BETWEEN_LINES and not last
        ):
            return
        self.printed = now
        rate = (self.done - self.before) / max(now - self.start, 1e-6)
        line = f"{self.done:,} {self.unit}, {rate:,.0f}/s"
        if self.total is not None:
            left = (self.total - self.done) / max(rate, 1e-6)
            line = f"{self.done:,}/{self.total:,} {self.unit}, {rate:,.0f}/s, "
            line += f"{left:,.0f} s left"
        print(f"\r{line:<70}", end="\n" if last else "", flush=True)
