"""The command ``infosedd``: results on stdout, progress and one ``error:`` line on stderr.

Exit codes: 0 done, 1 a bug, 2 the input was wrong, 3 the surroundings failed, 130 interrupted.
"""

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from infosedd.errors import InfoseddError, SurroundingsError

INTERRUPTED = 130
SYSTEM_REFUSED = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE,
)  # fmt: skip
"""What the system says when it is the disk, the rights or a limit, and not a bug."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; SIGTERM stops it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)
    sys.stdout = _unread_too(sys.stdout.fileno(), sys.stdout)
    sys.exit(invoke(sys.argv[1:] if arguments is None else arguments))


def invoke(arguments: Sequence[str]) -> int:
    """Run one command; every failure but a bug becomes one line on stderr."""
    import typer

    from flows.cli.app import command

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # typer gives its base class no public name
    try:
        code = command().main(list(arguments) or ["--help"], prog_name="infosedd", standalone_mode=False)
        sys.stdout.flush()
    except InfoseddError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except usage_error as error:
        return _fail(_usage_line(error, arguments), 2)
    except SystemExit as left:  # typer leaves so where nobody reads what the command tells in the middle of its work
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        return SurroundingsError.exit_code if left.code else 0
    except OSError as error:
        if error.errno not in SYSTEM_REFUSED:
            raise
        return _fail(str(_refused(error)), SurroundingsError.exit_code)
    if code == INTERRUPTED:
        return _fail("interrupted; run the same command again to go on", INTERRUPTED)
    return code or 0


class _Unread(io.FileIO):
    """A file that nobody need read: what is written after its reader has gone is dropped."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def _unread_too(descriptor: int, like: TextIO) -> TextIO:
    """The results, for which a reader that leaves early is no error: the command ends as it would have."""
    raw = _Unread(descriptor, "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=like.encoding, errors=like.errors, line_buffering=like.isatty()
    )


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _fail(text: str, code: int) -> int:
    print(f"error: {' '.join(text.split())}", file=sys.stderr)
    return code


def _usage_line(error: Exception, arguments: Sequence[str]) -> str:
    message = error.format_message().rstrip(".")  # pyright: ignore[reportAttributeAccessIssue]
    message = f"{message[:1].lower()}{message[1:]}"
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "infosedd"
    return f"{message}, in `infosedd {' '.join(arguments)}`; see `{path} --help`"


def _refused(error: OSError) -> SurroundingsError:
    return SurroundingsError(
        f"the system refused ({error.strerror})",
        where=str(error.filename or "in the home or the temporary folder"),
        remedy="free space, check rights, or name another folder with --home",
    )
