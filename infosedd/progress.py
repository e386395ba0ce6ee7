"""How long work reports that it is alive."""

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


def on_stderr(progress: Progress) -> None:
    """Print what a report says at the start of a stage, such as its cost."""
    if progress.done == 0 and progress.message:
        print(f"{progress.stage}: {progress.message}", file=sys.stderr, flush=True)


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
