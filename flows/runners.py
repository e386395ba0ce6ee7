"""Where tasks run: threads of one process, several processes, or a Dask cluster."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from flows.settings import settings
from infosedd.blocks import near_names
from infosedd.errors import InputError, SurroundingsError

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

KINDS = ("threads", "processes", "dask")


@dataclass(frozen=True)
class Runner:
    """``threads``, ``processes``, ``dask`` (a cluster on this machine) or ``dask=ADDRESS``."""

    kind: str
    workers: int
    address: str = ""

    @classmethod
    def parse(cls, text: str, workers: int) -> "Runner":
        """Read ``--runner``; an unknown kind, or Dask where it is not installed, is an InputError."""
        kind, _, address = text.partition("=")
        if kind not in KINDS:
            raise InputError(f"there is no runner {kind!r}", where="in --runner", remedy=near_names(kind, KINDS))
        if address and kind != "dask":
            raise InputError(f"the runner {kind!r} takes no address", where="in --runner", remedy="write dask=ADDRESS")
        if kind == "dask" and find_spec("prefect_dask") is None:
            raise InputError(
                "Dask is not installed", where="in --runner", remedy="install it: pip install 'infosedd[dask]'"
            )
        return cls(kind, workers, address)

    @classmethod
    def chosen(cls, text: str | None, workers: int | None) -> "Runner":
        """The runner that the options, or else the settings, name."""
        limits = settings(runner=text, workers=workers)
        return cls.parse(limits.runner, limits.workers)

    def __str__(self) -> str:
        return f"{self.kind}={self.address}" if self.address else self.kind

    def task_runner(self) -> "TaskRunner[Any]":
        """Prefect's runner of this kind."""
        if self.kind == "threads":
            from prefect.task_runners import ThreadPoolTaskRunner

            return ThreadPoolTaskRunner(max_workers=self.workers)
        if self.kind == "processes":
            from prefect.task_runners import ProcessPoolTaskRunner

            return ProcessPoolTaskRunner(max_workers=self.workers)
        return self._dask()

    def _dask(self) -> "TaskRunner[Any]":
        from prefect_dask import DaskTaskRunner  # pyright: ignore[reportMissingImports]

        if not self.address:
            options = {"n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": None}
            return DaskTaskRunner(cluster_kwargs=options)
        from distributed import Client  # pyright: ignore[reportMissingImports]

        try:
            Client(self.address, timeout=10).close()
        except OSError as error:
            raise SurroundingsError(
                f"no Dask cluster answers ({error})", where=self.address, remedy="start it or check the address"
            ) from error
        return DaskTaskRunner(address=self.address)
