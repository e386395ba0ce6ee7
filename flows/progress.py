"""Progress: steps report to whoever listens, the terminal or nobody."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from infosedd.progress import Progress, duration, silent

Listener = Callable[[Progress], None]

LINE_SECONDS = 30.0

_LISTENER: ContextVar[Listener] = ContextVar("listener", default=silent)


def report(progress: Progress) -> None:
    """Tell the present listener; pass this function to training and estimation."""
    _LISTENER.get()(progress)


def stage(text: str) -> None:
    """Tell the present listener that a step begins."""
    report(Progress(stage=text, done=0.0, seconds_left=None, message=""))


@dataclass(frozen=True)
class Remark(Progress):
    """Something to read that stays on the terminal, such as what a step will cost."""


def remark(text: str) -> None:
    """Tell the present listener something that stays to be read."""
    report(Remark(stage=text, done=0.0))


def listener() -> Listener:
    """Whoever listens now."""
    return _LISTENER.get()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def on_terminal() -> Iterator[None]:
    """Show progress on stderr: a bar with the time left on a terminal, else one line a stage."""
    if not sys.stderr.isatty():
        with listening(_Lines()):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars, listening(_Bar(bars)):
        yield


class _Lines:
    """One line on stderr whenever a stage begins, and every half a minute one with the time left."""

    def __init__(self) -> None:
        self.stage, self.start = "", time.monotonic()
        self.printed = self.start

    def __call__(self, progress: Progress) -> None:
        now, text = time.monotonic(), progress.stage
        if progress.stage == self.stage:
            if now < self.printed + LINE_SECONDS or progress.seconds_left is None:
                return
            text += f": {progress.done:.0%}, about {duration(progress.seconds_left)} left"
        self.stage, self.printed = progress.stage, now
        print(f"[{now - self.start:5.0f} s] {text}", file=sys.stderr, flush=True)


class _Bar:
    """One bar, which starts again whenever a stage begins."""

    def __init__(self, bars) -> None:
        self.bars, self.stage, self.task = bars, "", None

    def __call__(self, progress: Progress) -> None:
        if isinstance(progress, Remark):
            self.bars.console.print(progress.stage, highlight=False, markup=False)
            return
        if progress.stage != self.stage:
            if self.task is not None:
                self.bars.remove_task(self.task)
            self.stage = progress.stage
            self.task = self.bars.add_task(progress.stage, total=1.0, left="")
        left = "" if progress.seconds_left is None else f"about {duration(progress.seconds_left)} left"
        text = f"{progress.stage}: {progress.message}" if progress.message else progress.stage
        total = 1.0 if progress.done > 0 else None
        self.bars.update(self.task, completed=progress.done, total=total, description=text, left=left)
