"""The embedded Prefect server's own process; it leaves when the process that started it does.

    python -m flows.server_process FD

serves on the listening socket FD. Standard input is a pipe from the parent: its end, however the
parent died, is the sign to stop.
"""

import os
import signal
import socket
import sys
import threading
import time

GRACE_SECONDS = 5.0


def main() -> None:
    """Serve until the parent is gone or asks to stop."""
    import uvicorn

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    listening = socket.socket(fileno=int(sys.argv[1]))
    config = uvicorn.Config(
        "prefect.server.api.server:create_app",
        factory=True,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
