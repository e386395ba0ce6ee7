"""Progress of reading: whoever listens is told how much of a file is read, and how long the rest may take."""

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from infosedd.progress import Progress, ProgressCallback, silent

_FIRST_SECONDS = 0.5
_EVERY_SECONDS = 0.2
_LISTENER: ContextVar[ProgressCallback] = ContextVar("reading", default=silent)


@contextmanager
def told(listener: ProgressCallback) -> Iterator[None]:
    """Tell ``listener`` of all that is read meanwhile."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class WatchedFile(io.FileIO):
    """A file's bytes as they lie on disk; reading them for longer than a moment is told.

    How far it is counts compressed bytes, so that it ends at 1 whatever the compression.
    """

    def __init__(self, path: Path, stage: str) -> None:
        super().__init__(path, "rb")
        self._stage, self._size = stage, max(1, path.stat().st_size)
        self._start = time.monotonic()
        self._next = self._start + _FIRST_SECONDS

    def readinto(self, buffer: Any, /) -> int:
        n = super().readinto(buffer)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_SECONDS
            self._tell(now - self._start)
        return n or 0

    def _tell(self, seconds: float) -> None:
        here = self.tell()
        done = min(1.0, here / self._size)
        left = seconds * (1 - done) / done if done else None
        message = f"{here / 1e6:,.0f} of {self._size / 1e6:,.0f} MB"
        _LISTENER.get()(Progress(self._stage, done, left, message))
