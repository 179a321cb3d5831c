"""A schema registry for one machine: Apicurio Registry, by the API that Confluent's clients speak."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from hearth.broker.data_directory import DataDirectory
from hearth.broker.process import QUICK_START, JavaProcess, JavaProgram
from hearth.broker.unpacked import fetch_unpacked
from hearth.foundation.java import find_java
from hearth.foundation.port import LOOPBACK, PortTaken, is_free, next_free
from hearth_api import ConnectError

DEFAULT_PORT = 8081
COMPATIBILITY = "BACKWARD"
REGISTRY_LOCK = Path(__file__).with_name("registry.txt")
REGISTRY_TITLE = "the schema registry"
_API = "/apis/ccompat/v7"
_START_TIMEOUT = 120.0
_ANSWER_TIMEOUT = 10.0
_POLL = 0.05
_LOG_SIZE = "5M"
_PREPARED = "prepared"


class RegistryUnavailable(ConnectError):
    """The registry did not start, or ended by itself."""

    code = "environment.registry"


class ApicurioRegistry:
    """A real schema registry that keeps its data in one directory and listens on 127.0.0.1 only.

    It ends with the process that started it. A new object on the same directory continues its data. Where Apicurio
    has no rule of compatibility, Confluent's has BACKWARD: so it is told that when its directory is new.
    """

    def __init__(
        self,
        data_dir: Path | str,
        port: int | None = None,
        *,
        heap: str = "400m",
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Describe a registry; nothing is started. Without `port` it is 8081 or the next free one."""
        self._directory = DataDirectory(data_dir)
        self.port = port or 0
        self._port_is_fixed = port is not None
        self._heap = heap
        self._report = report or (lambda _sentence: None)
        self._process: JavaProcess | None = None

    @property
    def folder(self) -> Path:
        """Return the directory of its data."""
        return self._directory.path

    @property
    def url(self) -> str:
        """Return the address for `schema.registry.url`; known once it was started."""
        return f"http://{LOOPBACK}:{self.port}{_API}"

    @property
    def pid(self) -> int | None:
        """Return the process id of the registry, None while it is not running."""
        return self._process.pid if self._process and self._process.is_running else None

    @property
    def is_running(self) -> bool:
        """Return whether the registry's process is alive."""
        return self.pid is not None

    @property
    def log(self) -> Path:
        """Return the file the registry logs to."""
        return self.folder / "registry.log.0"

    def start(self) -> ApicurioRegistry:
        """Start the registry and return when it answers; do nothing when it already runs.

        Raises JavaMissing, JarsUnavailable, PortTaken, ConflictError (another registry uses the directory) or
        RegistryUnavailable.
        """
        if self.is_running:
            return self
        java = find_java().executable
        program = fetch_unpacked(REGISTRY_LOCK, REGISTRY_TITLE)
        self._directory.take("registry")
        try:
            self._choose_port()
            self._process = JavaProcess(self._program(java, program))
            self._await()
            self._prepare()
        except BaseException:
            self.kill()
            raise
        self._port_is_fixed = True
        self._report(f"the schema registry serves on {self.url}, its data is in {self.folder}")
        return self

    def stop(self) -> None:
        """Shut the registry down in order, and kill it if that takes too long."""
        if self._process:
            self._process.stop()
        self._forget()

    def kill(self) -> None:
        """End the registry as a power cut would."""
        if self._process:
            self._process.kill()
        self._forget()

    def wait(self) -> int:
        """Wait until the registry's process has ended, for whatever reason, and return its exit code."""
        if self._process is None:
            raise RegistryUnavailable("the schema registry is not running")
        return self._process.wait()

    def __enter__(self) -> ApicurioRegistry:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _forget(self) -> None:
        self._process = None
        self._directory.give_back()

    def _choose_port(self) -> None:
        if self._port_is_fixed:
            if not is_free(self.port):
                hint = "stop the other program, or leave the port out and the next free one is taken"
                raise PortTaken(f"port {self.port} is taken by another program", hint=hint)
            return
        self.port = next_free(DEFAULT_PORT)
        if self.port != DEFAULT_PORT:
            self._report(f"port {DEFAULT_PORT} is taken, so the schema registry listens on {self.port}")

    def _program(self, java: Path, program: Path) -> JavaProgram:
        (jar,) = program.glob("apicurio-registry-app-*-runner.jar")
        settings = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": self.port,
            "quarkus.management.enabled": "false",  # it would listen on another port, and everywhere
            "quarkus.log.level": "WARN",
            "quarkus.log.console.enable": "false",
            "quarkus.log.file.enable": "true",
            "quarkus.log.file.json": "false",
            "quarkus.log.file.path": self.log,
            "quarkus.log.file.rotation.max-file-size": _LOG_SIZE,
            "quarkus.log.file.rotation.max-backup-index": 1,
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
            "apicurio.datasource.url": f"jdbc:h2:file:{self.folder / 'registry'};WRITE_DELAY=0",
        }
        options = [f"-Xmx{self._heap}", *QUICK_START, *(f"-D{name}={value}" for name, value in settings.items())]
        return JavaProgram(
            name="registry",
            java=java,
            main_class="io.quarkus.runner.GeneratedMain",
            arguments=[],
            class_path=[jar],
            folder=self.folder,
            options=options,
            pass_fds=[self._directory.fileno()],
        )

    def _await(self) -> None:
        """Wait until the registry answers; raises when its process ends first, or time is over."""
        assert self._process is not None
        deadline = time.monotonic() + _START_TIMEOUT
        while self._process.is_running and time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(_POLL)
        fact = "did not answer in time" if self._process.is_running else f"ended with code {self._process.wait()}"
        words = self._process.last_words()
        raise RegistryUnavailable(f"the schema registry {fact}; its last words:\n{words}", hint=f"see {self.log}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=_ANSWER_TIMEOUT) as answer:  # noqa: S310
                return isinstance(json.load(answer), list)
        except (OSError, ValueError):
            return False

    def _prepare(self) -> None:
        """Set the compatibility of a new registry; one that somebody has changed since stays as it is."""
        mark = self.folder / _PREPARED
        if mark.exists():
            return
        request = urllib.request.Request(  # noqa: S310
            f"{self.url}/config",
            json.dumps({"compatibility": COMPATIBILITY}).encode(),
            {"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_TIMEOUT):  # noqa: S310
                mark.touch()
        except urllib.error.URLError as error:
            raise RegistryUnavailable(f"the schema registry does not do as it is told: {error}") from error
