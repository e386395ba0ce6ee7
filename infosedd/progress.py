"""How long work reports that it is alive."""

from collections.abc import Callable
from dataclasses import dataclass


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
