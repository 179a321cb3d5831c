"""A Kafka broker of one node, for one machine."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hearth.broker.data_directory import DataDirectory
from hearth.broker.jar import fetch_jars
from hearth.broker.probe import serving_cluster
from hearth.broker.process import QUICK_START, BrokerUnavailable, JavaProcess, JavaProgram, run_to_end
from hearth.broker.server_properties import broker_settings
from hearth.foundation.java import find_java
from hearth.foundation.port import LOOPBACK, PortTaken, is_free, next_free
from hearth.foundation.properties import render

DEFAULT_PORT = 9092
_START_TIMEOUT = 90.0
_ATTEMPTS = 3
_POLL = 0.05


class KafkaBroker:
    """A real KRaft broker that keeps its data in one directory and listens on 127.0.0.1 only.

    It ends with the process that started it. After `stop` or `kill` the same object starts again on the
    same port and the same data; a new object on the same directory continues that data as well.
    """

    def __init__(
        self,
        data_dir: Path | str,
        port: int | None = None,
        *,
        heap: str = "512m",
        retention_bytes: int = 1 << 30,
        jvm_options: Sequence[str] = QUICK_START,
        settings: Mapping[str, str] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Describe a broker; nothing is started and nothing is written.

        An explicit `port` is taken or refused; without one it is 9092 or the next free port. `report` is
        told in sentences what happens; `settings` are further server properties.
        """
        self._directory = DataDirectory(data_dir)
        self.port = port or 0
        self._controller_port = 0
        self._port_is_fixed = port is not None
        self._options = [f"-Xmx{heap}", "-Xms64m", *jvm_options]
        self._retention_bytes = retention_bytes
        self._settings = dict(settings or {})
        self._report = report or (lambda _sentence: None)
        self._process: JavaProcess | None = None

    @property
    def folder(self) -> Path:
        """Return the directory of its data."""
        return self._directory.path

    @property
    def bootstrap_servers(self) -> str:
        """Return the address clients connect to; known once the broker was started."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Return the process id of the broker, None while it is not running."""
        return self._process.pid if self._process and self._process.is_running else None

    @property
    def is_running(self) -> bool:
        """Return whether the broker's process is alive."""
        return self.pid is not None

    @property
    def log(self) -> Path:
        """Return the file the broker logs to."""
        return self.folder / "broker.log.0"

    def start(self) -> KafkaBroker:
        """Start the broker and return when it serves clients; do nothing when it already runs.

        Raises JavaMissing, JarsUnavailable, PortTaken, ConflictError (another broker uses the directory) or
        BrokerUnavailable.
        """
        if self.is_running:
            return self
        java = find_java().executable
        class_path = fetch_jars()
        self._directory.take("broker")
        try:
            self._start_on_a_free_port(java, class_path)
        except BaseException:
            self.kill()
            raise
        self._port_is_fixed = True
        self._report(f"Kafka serves on {self.bootstrap_servers}, its data is in {self.folder}")
        return self

    def stop(self) -> None:
        """Shut the broker down in order, and kill it if that takes too long."""
        if self._process:
            self._process.stop()
        self._forget()

    def kill(self) -> None:
        """End the broker as a power cut would."""
        if self._process:
            self._process.kill()
        self._forget()

    def wait(self) -> int:
        """Wait until the broker's process has ended, for whatever reason, and return its exit code."""
        if self._process is None:
            raise BrokerUnavailable("the broker is not running")
        return self._process.wait()

    def __enter__(self) -> KafkaBroker:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _forget(self) -> None:
        """Give the directory back."""
        self._process = None
        self._directory.give_back()

    def _start_on_a_free_port(self, java: Path, class_path: Sequence[Path]) -> None:
        """Start the process; when somebody else took one of its ports meanwhile, choose again what may be chosen."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._choose_ports()
            self._format(java, class_path)
            self._process = JavaProcess(self._program(java, class_path, "broker", "kafka.Kafka", []))
            if self._serves():
                return
            if attempt == _ATTEMPTS or self._process.is_running or self._has_its_ports():
                raise self._failure()

    def _choose_ports(self) -> None:
        """Settle on the ports: the ones used before, the one asked for, or free ones."""
        if self._port_is_fixed and not is_free(self.port):
            hint = "stop the other program, or leave the port out and the next free one is taken"
            raise PortTaken(f"port {self.port} is taken by another program", hint=hint)
        if not self._port_is_fixed:
            self.port = next_free(DEFAULT_PORT)
            if self.port != DEFAULT_PORT:
                self._report(f"port {DEFAULT_PORT} is taken, so Kafka listens on {self.port}")
        if self._controller_port in (0, self.port) or not is_free(self._controller_port):
            self._controller_port = next_free(self.port + 1)

    def _has_its_ports(self) -> bool:
        """Return whether nobody else listens on the ports of a broker that has ended."""
        return is_free(self.port) and is_free(self._controller_port)

    def _format(self, java: Path, class_path: Sequence[Path]) -> None:
        """Write the configuration, and prepare the data directory if it is new."""
        settings = broker_settings(
            self.folder, self.port, self._controller_port, self._retention_bytes, self._settings
        )
        (self.folder / "server.properties").write_text(render(settings), encoding="ascii")
        if self.cluster_id is None:
            self._report(f"preparing {self.folder} for Kafka")
            arguments = ["format", "--cluster-id", _new_id(), "--ignore-formatted", "--config"]
            run_to_end(self._program(java, class_path, "format", "kafka.tools.StorageTool", arguments))

    def _program(
        self, java: Path, class_path: Sequence[Path], name: str, main_class: str, arguments: Sequence[str]
    ) -> JavaProgram:
        """Return one of Kafka's programs, its last argument being the configuration."""
        return JavaProgram(
            name=name,
            java=java,
            main_class=main_class,
            arguments=[*arguments, str(self.folder / "server.properties")],
            class_path=class_path,
            folder=self.folder,
            options=self._options,
            pass_fds=[self._directory.fileno()],
        )

    @property
    def cluster_id(self) -> str | None:
        """Return the id in the data directory, None while that is not prepared."""
        path = self.folder / "data" / "meta.properties"
        if not path.is_file():
            return None
        lines = path.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line).get("cluster.id")

    def _serves(self) -> bool:
        """Wait until this very broker answers; return False when its process ends first."""
        assert self._process is not None
        deadline = time.monotonic() + _START_TIMEOUT
        while self._process.is_running and time.monotonic() < deadline:
            cluster = serving_cluster(LOOPBACK, self.port)
            if cluster is not None and cluster == self.cluster_id:
                return True
            time.sleep(_POLL)
        return False

    def _failure(self) -> BrokerUnavailable:
        """Return the error that tells why the process does not serve."""
        assert self._process is not None
        words = self._process.last_words()
        fact = "did not answer in time" if self._process.is_running else f"ended with code {self._process.wait()}"
        return BrokerUnavailable(f"the Kafka broker {fact}; its last words:\n{words}", hint=f"see {self.log}")


def _new_id() -> str:
    """Return a random cluster id in Kafka's form, which may not begin with a hyphen."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text if not text.startswith("-") else _new_id()
