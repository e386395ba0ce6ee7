"""How work on other processes, or machines, learns that the run it belongs to has been stopped.

A file in the home is there for as long as the run goes on; a worker that no longer finds it lets training
stop, which saves its state.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Event, Thread

from flows.home import Home

LOOK_SECONDS = 1.0

_STOP: ContextVar[Event | None] = ContextVar("stop", default=None)


@contextmanager
def leash(home: Home) -> Iterator[Path]:
    """A file that is there for the while."""
    file = home.locks / f"work-{secrets.token_hex(6)}.held"
    file.touch()
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


@contextmanager
def held_by(file: Path | None) -> Iterator[None]:
    """Training inside stops soon after the file is gone."""
    if file is None:
        yield
        return
    stop, done = Event(), Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            if not file.exists():
                stop.set()
                return

    Thread(target=look, daemon=True).start()
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)
        done.set()


def stop_signal() -> Event | None:
    """What is set when training is to stop; none where nobody else can ask for it."""
    return _STOP.get()
