"""A local single-node Kafka broker."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hearth.broker.java_server import JavaServer
from hearth.broker.probe import serving_cluster
from hearth.broker.process import QUICK_START, BrokerUnavailable, JavaProcess, JavaProgram, run_to_end
from hearth.broker.server_properties import broker_settings
from hearth.foundation.port import LOOPBACK, is_free, next_free
from hearth.foundation.properties import render
from hearth.maven.jar import fetch_jars

BROKER_LOCK = Path(__file__).with_name("jars.txt")
DEFAULT_PORT = 9092
_START_TIMEOUT = 90.0
_ATTEMPTS = 3


def broker_jars() -> list[Path]:
    """Return the paths of Kafka's jars, after downloading the missing ones."""
    return fetch_jars(BROKER_LOCK)


class KafkaBroker(JavaServer):
    """A real KRaft broker."""

    name, title, serving = "broker", "the Kafka broker", "Kafka"
    default_port = DEFAULT_PORT
    unavailable = BrokerUnavailable

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
        """Describe a broker, as `JavaServer` does; `settings` are further server properties."""
        super().__init__(data_dir, port, report)
        self._controller_port = 0
        self._options = [f"-Xmx{heap}", "-Xms64m", *jvm_options]
        self._retention_bytes = retention_bytes
        self._settings = dict(settings or {})

    @property
    def bootstrap_servers(self) -> str:
        """Return the address clients connect to; known after the start."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        """Return the address clients connect to."""
        return self.bootstrap_servers

    def _fetch(self) -> Sequence[Path]:
        return broker_jars()

    def _run(self, java: Path, class_path: Sequence[Path]) -> None:
        """Start the process; if another program has taken one of its ports in the meantime, choose other ports."""
        for attempt in range(1, _ATTEMPTS + 1):
            self._choose_ports()
            self._format(java, class_path)
            self._process = JavaProcess(self._program(java, class_path, "broker", "kafka.Kafka", []))
            if self._serves(self._is_itself, _START_TIMEOUT):
                return
            if attempt == _ATTEMPTS or self._process.is_running or self._has_its_ports():
                raise self._failure()

    def _choose_ports(self) -> None:
        """Choose the ports: the ones used before, the requested one, or free ones."""
        self._choose_port()
        if self._controller_port in (0, self.port) or not is_free(self._controller_port):
            self._controller_port = next_free(self.port + 1)

    def _has_its_ports(self) -> bool:
        """Return whether no other program listens on the ports of an ended broker."""
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
        """Return one of Kafka's programs, with the configuration as its last argument."""
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
        """Return the id in the data directory; None until that is formatted."""
        path = self.folder / "data" / "meta.properties"
        if not path.is_file():
            return None
        lines = path.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line).get("cluster.id")

    def _is_itself(self) -> bool:
        """Return whether this broker answers, and not another one on the same port."""
        cluster = serving_cluster(LOOPBACK, self.port)
        return cluster is not None and cluster == self.cluster_id


def _new_id() -> str:
    """Return a random cluster id in Kafka's format, which must not start with a hyphen."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text if not text.startswith("-") else _new_id()
