"""How long work reports that it is alive."""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """One report: what is done, how far it is (0 to 1), and an estimate of the seconds left."""

    stage: str
    done: float
    seconds_left: float | None = None
    message: str = ""


ProgressCallback = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Report to nobody."""


class OnStderr:
    """Prints what a report says at the start of a stage, such as its cost.

    On a terminal or in a notebook also how far a stage is and the time left, on one line that is written anew.
    """

    SECONDS_BETWEEN = 0.2

    def __init__(self) -> None:
        self._lock, self._width, self._written = Lock(), 0, 0.0

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if progress.done == 0 and progress.message:
                self._write("")
                print(f"{progress.stage}: {progress.message}", file=sys.stderr, flush=True)
            elif progress.done >= 1:
                self._write("")
            elif progress.seconds_left is not None and time.monotonic() > self._written + self.SECONDS_BETWEEN:
                left = duration(progress.seconds_left)
                self._write(f"{progress.stage}: {progress.done:.0%}, about {left} left. {progress.message}")
                self._written = time.monotonic()

    def _write(self, line: str) -> None:
        """Put a line in the place of the last one; an empty one wipes it."""
        if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            return
        shown = line[: shutil.get_terminal_size().columns - 1]
        if self._width or line:
            print(f"\r{' ' * self._width}\r{shown}", end="", file=sys.stderr, flush=True)
        self._width = len(shown)


on_stderr = OnStderr()
"""What the Python functions report to."""


class Countdown:
    """Reports of ``total`` equal pieces of work that may be done in several threads."""

    def __init__(self, progress: ProgressCallback, stage: str, total: int) -> None:
        self._progress, self._stage, self._total = progress, stage, total
        self._n, self._started, self._lock = 0, time.monotonic(), Lock()

    def one_more(self, message: str) -> None:
        """Another piece is done."""
        with self._lock:
            self._n += 1
            left = (time.monotonic() - self._started) / self._n * (self._total - self._n)
            self._progress(Progress(self._stage, self._n / self._total, left, message))


def duration(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
