"""The folder that holds everything a user's runs make: data, models, results, reports."""

import os
from dataclasses import dataclass
from pathlib import Path

from flows.files import written_whole
from infosedd.errors import InputError, SurroundingsError


@dataclass(frozen=True)
class Home:
    """The layout of ``--home``."""

    path: Path

    @property
    def corpora(self) -> Path:
        return self.path / "corpora"

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def reports(self) -> Path:
        return self.path / "reports"

    @property
    def prefect(self) -> Path:
        """Home of the embedded Prefect server."""
        return self.path / "prefect"

    @property
    def warehouse(self) -> Path:
        """The published copy of the warehouse, which everyone reads."""
        return self.path / "warehouse.duckdb"

    @property
    def locks(self) -> Path:
        return self.path / "locks"

    @property
    def runs(self) -> Path:
        """The study of each run, as it ran: RUN_ID.json."""
        return self.path / "runs"

    def study_of(self, run_id: str) -> Path:
        """The file of a run's study."""
        return self.runs / f"{run_id}.json"

    def keep_study(self, run_id: str, text: str) -> None:
        """Keep the study of a run, as JSON, whole or not at all."""
        try:
            with written_whole(self.study_of(run_id)) as partial:
                partial.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SurroundingsError(
                f"could not keep the study of the run ({error.strerror})",
                where=str(self.runs),
                remedy="free space or check rights",
            ) from error

    def corpus(self, corpus_id: str) -> Path:
        return self.corpora / corpus_id

    @classmethod
    def at(cls, path: Path | str) -> "Home":
        """The home at a path, made absolute; nothing is created."""
        return cls(Path(path).expanduser().absolute())

    @classmethod
    def create(cls, path: Path | str) -> "Home":
        """The home at a path, made if it is not there; an error where it can't be written."""
        home = cls.at(path)
        if home.path.exists() and not home.path.is_dir():
            raise InputError("the home is not a folder", where=str(home.path), remedy="name a folder with --home")
        try:
            for folder in (home.path, home.locks, home.runs):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SurroundingsError(
                f"can't make the home ({error.strerror})",
                where=str(home.path),
                remedy="name another folder with --home",
            ) from error
        if not os.access(home.path, os.W_OK | os.X_OK):
            raise SurroundingsError(
                "the home can't be written",
                where=str(home.path),
                remedy="change its rights or name another with --home",
            )
        return home

    def existing(self) -> "Home":
        """This home, if something has run in it; otherwise an error that says what to run."""
        if not self.warehouse.exists():
            raise InputError(
                "there are no results yet",
                where=str(self.path),
                remedy="run `infosedd run lac-promoter` first, or name another folder with --home",
            )
        return self
