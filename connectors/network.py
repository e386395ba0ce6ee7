"""Whether the Hugging Face hub can be reached, told within three seconds."""

import os
import socket
import threading
from urllib.parse import urlsplit

from infosedd.errors import InfoseddError, SurroundingsError

_TIMEOUT_SECONDS = 2.5
_OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def require_network(error: type[InfoseddError], wanted: str) -> None:
    """Nothing where the hub answers; else an error at once that says how to do without it.

    ``error`` is raised where the user switched the hub off, ``SurroundingsError`` where it can't be reached.
    """
    switched_off = [
        name for name in _OFFLINE_VARIABLES if os.environ.get(name, "").lower() in ("1", "true", "yes", "on")
    ]
    remedy = "fetch it on a connected machine (save_to_disk) and give the path of its folder"
    if switched_off:
        raise error(f"the hub is switched off by {switched_off[0]}", where=wanted, remedy=f"unset it, or {remedy}")
    address = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    proxy = next((os.environ[n] for n in ("HTTPS_PROXY", "https_proxy") if os.environ.get(n)), "")
    target = urlsplit(proxy) if proxy else address
    host, port = target.hostname or "", target.port or (80 if target.scheme == "http" else 443)
    failure = _connection_failure(host, port)
    if failure is not None:
        raise SurroundingsError(f"the hub at {host} can't be reached ({failure})", where=wanted, remedy=remedy)


def _connection_failure(host: str, port: int) -> str | None:
    """Why no connection was made, None where one was; a thread, since looking up a name knows no timeout."""
    outcome: list[str | None] = []

    def connect() -> None:
        try:
            with socket.create_connection((host, port), timeout=_TIMEOUT_SECONDS):
                outcome.append(None)
        except OSError as cause:
            outcome.append(str(cause))

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_TIMEOUT_SECONDS)
    return outcome[0] if outcome else f"no answer in {_TIMEOUT_SECONDS:g} seconds"
