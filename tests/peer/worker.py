"""The common parts of Java Connect and Hearth processes: a folder, settings, a REST port."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from hearth.foundation.properties import render
from tests.peer.rest import RestClient
from tests.reservation import reserve_port
from tests.timeouts import eventually

_START_TIMEOUT = 90.0
_NOBODY_LEADS = "no known leader URL"
GRACE = 30.0
"""How many seconds a clean stop may take."""


class Worker(ABC):
    """A standalone Connect worker in its own process; all its files are below one folder."""

    side: str

    def __init__(
        self,
        folder: Path,
        bootstrap_servers: str,
        settings: Mapping[str, str] | None = None,
        connectors: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Describe a worker with Kafka's own sample settings, changed and extended by `settings`."""
        self.folder = folder
        self.port = reserve_port()
        self.rest = RestClient(self.port)
        self._connectors = connectors
        self._settings = {
            "bootstrap.servers": bootstrap_servers,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "key.converter.schemas.enable": "true",
            "value.converter.schemas.enable": "true",
            "offset.storage.file.filename": str(folder / "connect.offsets"),
            "offset.flush.interval.ms": "1000",
            "listeners": f"http://127.0.0.1:{self.port}",
            **(settings or {}),
        }

    def start(self, wait: bool = True) -> None:
        """Start the worker; with `wait` return when its REST API responds."""
        files = self._write()
        self._launch(files)
        if wait:
            self.wait_until_up()

    def wait_until_up(self) -> None:
        """Return when the REST API responds; raise with the worker's last output if it never does."""
        eventually(lambda: self.rest.is_up() or not self.is_running, _START_TIMEOUT)
        if not self.is_running or not self.rest.is_up():
            raise AssertionError(f"{self.side} Connect did not start:\n{self.last_words()}")

    def run(self, config: Mapping[str, str], timeout: float = 60.0) -> None:
        """Create a connector and wait until it and its tasks run."""
        refusals: list[str] = []
        assert eventually(lambda: self._creates(config, refusals), timeout), refusals[-1]
        self.wait_for_state(config["name"], "RUNNING", timeout)

    def _creates(self, config: Mapping[str, str], refusals: list[str]) -> bool:
        """Create a connector; return whether it succeeded, which needs a leader in the worker's cluster."""
        answer = self.rest.create(dict(config))
        refusals.append(answer.text)
        assert answer.status == 201 or _NOBODY_LEADS in answer.text, answer.text
        return answer.status == 201

    def wait_for_state(self, name: str, state: str, timeout: float = 60.0) -> None:
        """Wait until the connector's tasks, of which there is at least one, are in a state."""
        reached = eventually(lambda: set(self.rest.states(name)[1:]) == {state}, timeout)
        assert reached, f"{self.side}: {name} is not {state}: {self.rest.status(name)}\n{self.last_words()}"

    def delete(self, name: str, timeout: float = 60.0) -> None:
        """Delete a connector; it delivers and commits its records first."""
        answer = self.rest.call("DELETE", f"/connectors/{quote(name, safe='')}")
        assert answer.status == 204, answer.text
        eventually(lambda: name not in self.rest.call("GET", "/connectors").json, timeout)

    def __enter__(self) -> Worker:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Return whether the process is alive."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """Return the id of the started process; the worker's other processes are its descendants."""

    @abstractmethod
    def stop(self, grace: float = GRACE) -> None:
        """Stop the worker in order, by force after ``grace`` seconds."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the worker's own process."""

    @abstractmethod
    def last_words(self) -> str:
        """Return the end of the worker's output, for failure messages."""

    @abstractmethod
    def _launch(self, files: Sequence[Path]) -> None:
        """Start the process with a worker file and connector files."""

    @abstractmethod
    def _plugin_path(self) -> str:
        """Return the worker's plugin.path with the file connectors."""

    def _write(self) -> list[Path]:
        """Write the worker's and the connectors' properties files and return their paths."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {"plugin.path": self._plugin_path(), **self._settings}
        texts = {"worker": settings, **{config["name"]: config for config in self._connectors}}
        files = []
        for name, entries in texts.items():
            path = self.folder / f"{name}.properties"
            path.write_text(render(entries), encoding="latin-1")
            files.append(path)
        return files
