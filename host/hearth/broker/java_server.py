"""A server in Java for one machine, with one directory for its data and one port."""

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
    """A real server that keeps its data in one directory and listens on 127.0.0.1 only.

    It ends with the process that started it. After `stop` or `kill` the same object starts again on the
    same port and the same data; a new object on the same directory continues that data as well.
    """

    name: ClassVar[str]
    """What its program is called, and by that its log."""
    title: ClassVar[str]
    """What it is called where it fails."""
    serving: ClassVar[str]
    """What is said to serve and to listen."""
    default_port: ClassVar[int]
    unavailable: ClassVar[type[ConnectError]]
    """What is raised where it did not start, or ended by itself."""

    def __init__(self, data_dir: Path | str, port: int | None, report: Callable[[str], None] | None) -> None:
        """Describe a server; nothing is started and nothing is written.

        An explicit `port` is taken or refused; without one it is the usual one or the next free port. `report` is
        told in sentences what happens.
        """
        self._directory = DataDirectory(data_dir)
        self.port = port or 0
        self._port_is_fixed = port is not None
        self._report = report or (lambda _sentence: None)
        self._process: JavaProcess | None = None

    @property
    def folder(self) -> Path:
        """Return the directory of its data."""
        return self._directory.path

    @property
    @abstractmethod
    def address(self) -> str:
        """Return where clients find it; known once it was started."""

    @property
    def pid(self) -> int | None:
        """Return the process id of the server, None while it is not running."""
        return self._process.pid if self._process and self._process.is_running else None

    @property
    def is_running(self) -> bool:
        """Return whether the server's process is alive."""
        return self.pid is not None

    @property
    def log(self) -> Path:
        """Return the file the server logs to."""
        return self.folder / f"{self.name}.log.0"

    def start(self: Server) -> Server:
        """Start the server and return when it serves clients; do nothing when it already runs.

        Raises JavaMissing, JarsUnavailable, PortTaken, ConflictError (another one uses the directory) or what
        `unavailable` says.
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
        """End the server as a power cut would."""
        if self._process:
            self._process.kill()
        self._forget()

    def wait(self) -> int:
        """Wait until the server's process has ended, for whatever reason, and return its exit code."""
        if self._process is None:
            raise self.unavailable(f"the {self.name} is not running")
        return self._process.wait()

    def __enter__(self: Server) -> Server:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @abstractmethod
    def _fetch(self) -> Sequence[Path]:
        """Return the class path of its program, fetched where it is not there yet."""

    @abstractmethod
    def _run(self, java: Path, class_path: Sequence[Path]) -> None:
        """Start the process, and return when it serves clients."""

    def _choose_port(self) -> None:
        """Settle on the port: the one used before, the one asked for, or a free one."""
        if self._port_is_fixed:
            if not is_free(self.port):
                hint = "stop the other program, or leave the port out and the next free one is taken"
                raise PortTaken(f"port {self.port} is taken by another program", hint=hint)
            return
        self.port = next_free(self.default_port)
        if self.port != self.default_port:
            self._report(f"port {self.default_port} is taken, so {self.serving} listens on {self.port}")

    def _serves(self, answers: Callable[[], bool], seconds: float) -> bool:
        """Wait until it answers; return False when its process ends first, or time is over."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while self._process.is_running and time.monotonic() < deadline:
            if answers():
                return True
            time.sleep(_POLL)
        return False

    def _failure(self) -> ConnectError:
        """Return the error that tells why the process does not serve."""
        assert self._process is not None
        words = self._process.last_words()
        fact = "did not answer in time" if self._process.is_running else f"ended with code {self._process.wait()}"
        return self.unavailable(f"{self.title} {fact}; its last words:\n{words}", hint=f"see {self.log}")

    def _forget(self) -> None:
        """Give the directory back."""
        self._process = None
        self._directory.give_back()
