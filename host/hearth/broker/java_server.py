"""A local server in Java with a data directory and a port."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from hearth.broker.data_directory import DataDirectory
from hearth.broker.process import JavaProcess
from hearth.foundation.java import find_java
from hearth.foundation.port import PortTaken, is_free, next_free
from hearth_api import ConnectError

_POLL = 0.05

Server = TypeVar("Server", bound="JavaServer")


class JavaServer(ABC):
    """A real server that keeps its data in one directory and listens only on 127.0.0.1.

    It ends with the process that started it. After `stop` or `kill` the same object can start again with the same
    port and data; a new object for the same directory continues with that data as well.
    """

    name: ClassVar[str]
    """The name of the program and of its log."""
    title: ClassVar[str]
    """Its name in errors."""
    serving: ClassVar[str]
    """Its name in messages about its address."""
    default_port: ClassVar[int]
    unavailable: ClassVar[type[ConnectError]]
    """The error if it does not start or exits unexpectedly."""

    def __init__(self, data_dir: Path | str, port: int | None, report: Callable[[str], None] | None) -> None:
        """Describe a server, without starting or writing anything.

        If an explicit `port` is in use, the start fails; the default is the usual port or the next free one. `report`
        is called with progress messages.
        """
        self._directory = DataDirectory(data_dir)
        self.port = port or 0
        self._port_is_fixed = port is not None
        self._report = report or (lambda _sentence: None)
        self._process: JavaProcess | None = None

    @property
    def folder(self) -> Path:
        """Return its data directory."""
        return self._directory.path

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the address for clients; known after the start."""

    @property
    def pid(self) -> int | None:
        """Return the process id of the server; None while it is not running."""
        return self._process.pid if self._process and self._process.is_running else None

    @property
    def is_running(self) -> bool:
        """Return whether the server's process is alive."""
        return self.pid is not None

    @property
    def log(self) -> Path:
        """Return the log file of the server."""
        return self.folder / f"{self.name}.log.0"

    def start(self: Server) -> Server:
        """Start the server and return when it serves clients; do nothing if it already runs.

        Raises JavaMissing, JarsUnavailable, PortTaken, ConflictError (another server uses the directory) or
        `unavailable`.
        """
        if self.is_running:
            return self
        java = find_java().executable
        class_path = self._fetch()
        self._directory.take(self.name)
        try:
            self._run(java, class_path)
        except BaseException:
            self.kill()
            raise
        self._port_is_fixed = True
        self._report(f"{self.serving} serves on {self.address}, its data is in {self.folder}")
        return self

    def stop(self) -> None:
        """Shut the server down in order, and kill it if that takes too long."""
        if self._process:
            self._process.stop()
        self._forget()

    def kill(self) -> None:
        """Kill the server, like a power failure."""
        if self._process:
            self._process.kill()
        self._forget()

    def wait(self) -> int:
        """Wait until the server's process ends for any reason, and return its exit code."""
        if self._process is None:
            raise self.unavailable(f"the {self.name} is not running")
        return self._process.wait()

    def __enter__(self: Server) -> Server:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @abstractmethod
    def _fetch(self) -> Sequence[Path]:
        """Return the class path of its program, downloaded if missing."""

    @abstractmethod
    def _run(self, java: Path, class_path: Sequence[Path]) -> None:
        """Start the process, and return when it serves clients."""

    def _choose_port(self) -> None:
        """Choose the port: the one used before, the requested one, or a free one."""
        if self._port_is_fixed:
            if not is_free(self.port):
                hint = "stop the other program, or omit the port to use the next free one"
                raise PortTaken(f"port {self.port} is taken by another program", hint=hint)
            return
        self.port = next_free(self.default_port)
        if self.port != self.default_port:
            self._report(f"port {self.default_port} is in use, so {self.serving} listens on {self.port}")

    def _serves(self, answers: Callable[[], bool], seconds: float) -> bool:
        """Wait until it answers; return False if its process ends first or the time is up."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while self._process.is_running and time.monotonic() < deadline:
            if answers():
                return True
            time.sleep(_POLL)
        return False

    def _failure(self) -> ConnectError:
        """Return the error with the reason why the process does not serve."""
        assert self._process is not None
        lines = self._process.last_words()
        fact = "did not answer in time" if self._process.is_running else f"exited with code {self._process.wait()}"
        return self.unavailable(f"{self.title} {fact}; the last lines of its log:\n{lines}", hint=f"see {self.log}")

    def _forget(self) -> None:
        """Forget the process and release the directory."""
        self._process = None
        self._directory.give_back()
