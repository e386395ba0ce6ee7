"""A study over many files: those whose content is new, each a run of its own, one failure stopping none."""

import glob
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from flows.home import Home
from flows.leash import held_by
from flows.ledger import Content, Ledger
from flows.pipeline import carry_out
from flows.progress import report as tell
from flows.study import Study, name_of, with_source
from infosedd.errors import InfoseddError, InputError, SurroundingsError
from infosedd.progress import Progress

MAGIC = ("*", "?", "[")
PUBLISH_SECONDS = 60.0


@dataclass(frozen=True)
class FileResult:
    """What came of one file: the estimates of its run, or why there are none."""

    path: Path
    run_id: str = ""
    corpus_id: str = ""
    model_id: str = ""
    nats: float | None = None
    std_error_nats: float | None = None
    seconds: float = 0.0
    process_id: int = 0
    error: str = ""
    exit_code: int = 0


@dataclass(frozen=True)
class Watched:
    """What a watch did; ``n_seen`` files had nothing new."""

    results: tuple[FileResult, ...]
    n_files: int
    n_seen: int
    seconds: float

    @property
    def failed(self) -> tuple[FileResult, ...]:
        return tuple(result for result in self.results if result.error)


def files_of(place: str) -> list[Path]:
    """The files of a folder (not below it) or of a pattern such as ``data/**/*.csv``, in order of name."""
    named = Path(place).expanduser()
    if named.is_dir():
        found = [path for path in named.iterdir() if not path.name.startswith(".")]
    elif _is_pattern(place):
        found = [Path(path) for path in glob.glob(str(named), recursive=True)]
    else:
        raise InputError(
            "there is no such folder", where=place, remedy="name a folder, or a pattern in quotes such as 'data/*.csv'"
        )
    return sorted(path.absolute() for path in found if path.is_file())


def name_in(place: str, path: Path) -> str:
    """What the corpus of a file is called: its path from the watched folder on, without the endings of data files."""
    top = Path(place).expanduser()
    if not top.is_dir():
        fixed = itertools.takewhile(lambda part: not _is_pattern(part), top.parts[:-1])
        top = Path(*fixed)
    return (path.parent.relative_to(top.absolute()) / name_of([str(path)])).as_posix()


def _is_pattern(text: str) -> bool:
    return any(letter in text for letter in MAGIC)


def watch(
    study: Study,
    place: str,
    home: Home,
    run_all: Callable[[Study, Sequence[Content], Home], Iterable[tuple[Content, FileResult]]],
    *,
    retry_failed: bool = False,
    device: str | None = None,
) -> Watched:
    """Run a study on each new file of a place; ``run_all`` gives results as they come, in any order.

    A ``device`` that can't be used ends the watch before any file is tried.
    """
    start = time.monotonic()
    if device is not None:
        _check_device(device)
    ledger, files = Ledger.of(home), files_of(place)
    unseen = ledger.unseen(study, files, retry_failed)
    new = [replace(content, name=name_in(place, content.path)) for content in unseen]
    results: list[FileResult] = []
    with _publishing(home) as publish_now_and_then:
        for content, result in run_all(study, new, home):
            results.append(result)
            if content.sha256 and (not result.error or result.exit_code == InputError.exit_code):
                ledger.note(study, content, "refused" if result.error else "done", result.run_id)
            publish_now_and_then()
            spent = time.monotonic() - start
            left = spent / len(results) * (len(new) - len(results))
            tell(Progress("files", len(results) / len(new), left, f"{len(results)} of {len(new)}, {result.path.name}"))
    return Watched(tuple(results), len(files), len(files) - len(new), time.monotonic() - start)


@contextmanager
def _publishing(home: Home) -> Iterator[Callable[[], None]]:
    """What is written is published at the start, at the end, however it ends, and between by the function given."""
    _publish_news(home)
    last = time.monotonic()

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() - last < PUBLISH_SECONDS:
            return
        with suppress(SurroundingsError):  # told at the end, if it lasts
            _publish_news(home)
        last = time.monotonic()

    try:
        yield now_and_then
    except BaseException as failure:
        try:
            _publish_news(home)
        except SurroundingsError as second:
            failure.add_note(f"the results so far could not be published: {second}")
        raise
    _publish_news(home)


def _publish_news(home: Home) -> None:
    """Publish where the writer's file is newer than the published copy."""
    from warehouse import Warehouse
    from warehouse.connect import WRITER_FILE

    written = max(_changed_ns(home.path / name) for name in (WRITER_FILE, f"{WRITER_FILE}.wal"))
    if written > _changed_ns(home.warehouse):
        Warehouse(home.path).publish()


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _check_device(device: str) -> None:
    from infosedd.model import resolve_device

    resolve_device(device)


def run_file(
    study: Study, path: Path, home: Home, command: str = "", leash: Path | None = None, name: str = ""
) -> FileResult:
    """Run the study on one file, its corpus called ``name``; training stops soon after the file ``leash`` is gone."""
    start = time.monotonic()
    of_file = with_source(study, [str(path)])
    if name:
        of_file = of_file.model_copy(update={"source": of_file.source.model_copy(update={"name": name})})
    with held_by(leash):
        outcome = carry_out(of_file, home, command=command, publish=False, report=False)
    main = next((answer.estimates[0] for answer in outcome.answers), None)
    return FileResult(
        path,
        outcome.run_id,
        outcome.corpus.corpus_id,
        outcome.model.model_id,
        main.nats if main else None,
        main.std_error if main else None,
        time.monotonic() - start,
        os.getpid(),
    )


def failed_file(path: Path, error: Exception) -> FileResult:
    """The result of a file whose run failed."""
    if isinstance(error, InfoseddError):
        return FileResult(path, error=str(error), exit_code=error.exit_code)
    return FileResult(path, error=f"{type(error).__name__}: {error}", exit_code=1)


def one_after_the_other(study: Study, new: Sequence[Content], home: Home) -> Iterable[tuple[Content, FileResult]]:
    """Run files in this process, without Prefect."""
    for content in new:
        try:
            yield content, run_file(study, content.path, home, name=content.name)
        except InfoseddError as error:
            yield content, failed_file(content.path, error)
