"""The embedded Prefect server: one process beside ours, with its database in the home."""

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from flows.home import Home
from flows.settings import settings
from infosedd.errors import InfoseddError, SurroundingsError

START_SECONDS = 600.0  # a fresh home makes its database first: half a minute, many times that on a busy machine
STOP_SECONDS = 8.0
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # logs go to the server; the terminal shows progress
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}
PRIVATE = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}


def prepare(home: Home) -> None:
    """Set Prefect's environment: quiet, and with its home in ours unless PREFECT_API_URL names a server.

    Prefect reads its environment when it is imported, so this comes first.
    """
    if "prefect" in sys.modules:
        return
    heartbeat = settings().heartbeat
    beats = {} if heartbeat is None else {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(heartbeat)}
    for name, value in {**QUIET, **beats}.items():
        os.environ.setdefault(name, value)
    if "PREFECT_API_URL" not in os.environ:
        os.environ["PREFECT_HOME"] = str(home.prefect)


def api_url() -> str | None:
    """Address of the Prefect server in force, if there is one."""
    if "prefect" in sys.modules:
        from prefect.settings import PREFECT_API_URL

        return PREFECT_API_URL.value()
    return os.environ.get("PREFECT_API_URL")


class EmbeddedServer:
    """A Prefect server on this machine (port 0: a free one), which stops with this process.

    It has a session of its own, so that Ctrl-C reaches the flow and not the server.
    """

    def __init__(self, home: Home, environment: Mapping[str, str] = PRIVATE, port: int = 0) -> None:
        self.folder, self.environment = home.prefect, environment
        self.log = self.folder / "server.log"
        try:
            self.socket = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise SurroundingsError(
                f"can't listen on port {port} ({error.strerror})",
                where="on this machine",
                remedy="name another: --port",
            ) from error
        self.port: int = self.socket.getsockname()[1]
        self.api_url = f"http://127.0.0.1:{self.port}/api"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; ``wait`` for it before use, other imports may come between."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.socket, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "flows.server_process", str(self.socket.fileno())],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[self.socket.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **self.environment},
            )
        os.environ["PREFECT_API_URL"] = self.api_url
        atexit.register(self.stop)  # before Prefect is imported: its last logs are sent first

    def wait(self) -> None:
        """Return when the server answers; a server that stops or stays silent is a SurroundingsError."""
        import httpx

        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(timeout=5.0, trust_env=False) as client:
            while time.monotonic() < deadline:
                if self.process is None or self.process.poll() is not None:
                    raise self._failed("stopped")
                try:
                    if client.get(f"{self.api_url}/health").is_success:
                        return
                except httpx.TransportError:
                    pass  # not yet
                time.sleep(0.1)
        raise self._failed(f"did not answer within {START_SECONDS:.0f} s")

    def stop(self) -> None:
        """Ask the server to stop, and end it if it does not."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _failed(self, what: str) -> SurroundingsError:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        last = f" ({lines[-1]})" if lines else ""
        return SurroundingsError(
            f"the Prefect server {what}{last}",
            where=f"see {self.log}",
            remedy="run the command again; if it stays, move that folder away (it holds no results)",
        )


@contextmanager
def server_for(home: Home) -> Iterator[None]:
    """The server that flows report to: the one that PREFECT_API_URL names, or one of our own for the while."""
    if api_url() is not None:
        with surroundings():
            _say_hello()
            yield
        return
    from filelock import FileLock, Timeout

    server = EmbeddedServer(home)
    lock = FileLock(home.locks / "prefect-start.lock", timeout=START_SECONDS)
    try:
        with lock:  # one at a time makes the database
            server.start()
            import prefect  # noqa: F401  while the server starts

            server.wait()
    except Timeout as error:
        raise SurroundingsError(
            "another command takes too long to start Prefect", where=str(lock.lock_file), remedy="end it and try again"
        ) from error
    with surroundings():
        yield


@contextmanager
def surroundings() -> Iterator[None]:
    """Turn what Prefect raises about its server into a SurroundingsError; all else passes."""
    import httpx
    from prefect.exceptions import PrefectException

    try:
        yield
    except InfoseddError:
        raise
    except (PrefectException, httpx.HTTPError) as error:
        raise SurroundingsError(
            f"the Prefect server failed ({type(error).__name__}: {error})",
            where=str(api_url()),
            remedy="check that server, or unset PREFECT_API_URL to use the embedded one",
        ) from error


def _say_hello() -> None:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        client.hello().raise_for_status()
