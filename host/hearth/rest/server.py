"""The server: HTTP on sockets that are open already, from a thread of its own."""

from __future__ import annotations

import socket
import threading
from typing import Any

import uvicorn

STOP_SECONDS = 10.0
IDLE_SECONDS = 90


class RestServer:
    """Serves one application."""

    def __init__(self, app: Any, sockets: list[socket.socket]) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            http="h11",
            ws="none",
            loop="asyncio",
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        # Off the main thread uvicorn leaves signals to the program it is part of.
        self._server = uvicorn.Server(config)
        self._sockets = sockets
        self._thread = threading.Thread(target=self._serve, name="rest", daemon=True)

    @property
    def port(self) -> int:
        """Return the port of the first listener."""
        return int(self._sockets[0].getsockname()[1])

    def start(self) -> None:
        """Begin to serve; connections are accepted from the moment the sockets were opened."""
        self._thread.start()

    def stop(self) -> None:
        """Answer what has been asked and stop."""
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS)
        for each in self._sockets:
            each.close()

    def _serve(self) -> None:
        self._server.run(self._sockets)
