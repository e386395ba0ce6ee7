"""A study over many files: those whose content is new, each a run of its own, one failure stopping none."""

import glob
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.home import Home
from flows.leash import held_by
from flows.ledger import Content, Ledger
from flows.pipeline import carry_out
from flows.progress import report as tell
from flows.study import Study, with_source
from infosedd.errors import InfoseddError, InputError
from infosedd.progress import Progress

MAGIC = ("*", "?", "[")


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
    if any(letter in place for letter in MAGIC):
        found = [Path(path) for path in glob.glob(str(Path(place).expanduser()), recursive=True)]
    elif Path(place).expanduser().is_dir():
        found = [path for path in Path(place).expanduser().iterdir() if not path.name.startswith(".")]
    else:
        raise InputError(
            "there is no such folder", where=place, remedy="name a folder, or a pattern in quotes such as 'data/*.csv'"
        )
    return sorted(path.absolute() for path in found if path.is_file())


def watch(
    study: Study,
    place: str,
    home: Home,
    run_all: Callable[[Study, Sequence[Content], Home], Iterable[tuple[Content, FileResult]]],
    *,
    retry_failed: bool = False,
) -> Watched:
    """Run a study on each new file of a place; ``run_all`` gives results as they come, in any order."""
    from warehouse import Warehouse

    start = time.monotonic()
    ledger, files = Ledger.of(home), files_of(place)
    new = ledger.unseen(study, files, retry_failed)
    results: list[FileResult] = []
    for content, result in run_all(study, new, home):
        results.append(result)
        if content.sha256 and (not result.error or result.exit_code == InputError.exit_code):
            ledger.note(study, content, "refused" if result.error else "done", result.run_id)
        spent = time.monotonic() - start
        left = spent / len(results) * (len(new) - len(results))
        tell(Progress("files", len(results) / len(new), left, f"{len(results)} of {len(new)}, {result.path.name}"))
    if new:
        Warehouse(home.path).publish()
    return Watched(tuple(results), len(files), len(files) - len(new), time.monotonic() - start)


def run_file(study: Study, path: Path, home: Home, command: str = "", leash: Path | None = None) -> FileResult:
    """Run the study on one file; training stops soon after the file ``leash`` is gone."""
    start = time.monotonic()
    with held_by(leash):
        outcome = carry_out(with_source(study, [str(path)]), home, command=command, publish=False, report=False)
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
            yield content, run_file(study, content.path, home)
        except InfoseddError as error:
            yield content, failed_file(content.path, error)
