"""The two kinds of failure that are not bugs.

Every message has three parts: *what* went wrong, *where*, and *what to do*. The command line
prints them as one line, ``error: what, where; remedy``, and exits with ``exit_code``.
"""


class InfoseddError(Exception):
    """Base class: carries the parts of the message as attributes."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.what}, {self.where}" if self.where else self.what
        return " ".join((f"{text}; {self.remedy}" if self.remedy else text).split())

    def __reduce__(self):  # the default drops keyword arguments when a worker process raises
        return _rebuild, (type(self), self.what, self.where, self.remedy, dict(self.__dict__))


class InputError(InfoseddError, ValueError):
    """What the user gave is wrong: a file, a column, an option, a block expression."""

    exit_code = 2


class SurroundingsError(InfoseddError, RuntimeError):
    """The input is fine, the surroundings failed: disk, lock, network, server."""

    exit_code = 3


class TrainingStopped(InfoseddError):
    """Training ended early, after ``step`` steps, because it was asked to; its state is saved where it has a place."""

    def __init__(self, step: int) -> None:
        self.step = step
        super().__init__("training was stopped", where=f"after step {step}", remedy="run it again to go on")


def _rebuild(kind: type[InfoseddError], what: str, where: str, remedy: str, state: dict) -> InfoseddError:
    error = kind.__new__(kind)
    InfoseddError.__init__(error, what, where=where, remedy=remedy)
    error.__dict__.update(state)
    return error
