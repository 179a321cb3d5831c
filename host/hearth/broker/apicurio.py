"""A local schema registry: Apicurio Registry with Confluent's API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from hearth.broker.java_server import JavaServer
from hearth.broker.process import QUICK_START, JavaProcess, JavaProgram
from hearth.broker.unpacked import fetch_unpacked
from hearth.foundation.port import LOOPBACK
from hearth_api import ConnectError

DEFAULT_PORT = 8081
COMPATIBILITY = "BACKWARD"
REGISTRY_LOCK = Path(__file__).with_name("registry.txt")
REGISTRY_TITLE = "the schema registry"
_ROOT_RULES = Path(__file__).with_name("registry_root")
"""Class path entry with rules for the web server inside Apicurio, which loads it as an extension.

They forward requests at the root, where Confluent's clients expect the API, to `/apis/ccompat/v7`. They set the URL as
it was sent: a rewrite would use its decoded path, in which `a%2Fb` and `x%3Fy` are no longer names.
"""
_START_TIMEOUT = 120.0
_ANSWER_TIMEOUT = 10.0
_LOG_SIZE = "5M"
_PREPARED = "prepared"


class RegistryUnavailable(ConnectError):
    """The registry did not start, or exited unexpectedly."""

    code = "environment.registry"


class ApicurioRegistry(JavaServer):
    """A real schema registry.

    Apicurio has no default compatibility where Confluent's has BACKWARD, so BACKWARD is set when its directory is new.
    """

    name, title, serving = "registry", REGISTRY_TITLE, REGISTRY_TITLE
    default_port = DEFAULT_PORT
    unavailable = RegistryUnavailable

    def __init__(
        self,
        data_dir: Path | str,
        port: int | None = None,
        *,
        heap: str = "400m",
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Describe a registry, as `JavaServer` does."""
        super().__init__(data_dir, port, report)
        self._heap = heap

    @property
    def url(self) -> str:
        """Return the address for `schema.registry.url`; known after the start."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        """Return the address for `schema.registry.url`."""
        return self.url

    def _fetch(self) -> Sequence[Path]:
        return [*fetch_unpacked(REGISTRY_LOCK, REGISTRY_TITLE).glob("apicurio-registry-app-*-runner.jar"), _ROOT_RULES]

    def _run(self, java: Path, class_path: Sequence[Path]) -> None:
        self._choose_port()
        self._process = JavaProcess(self._program(java, class_path))
        if not self._serves(self._answers, _START_TIMEOUT):
            raise self._failure()
        self._prepare()

    def _program(self, java: Path, class_path: Sequence[Path]) -> JavaProgram:
        settings = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": self.port,
            "quarkus.management.enabled": "false",  # it would listen on another port, on all interfaces
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
            name=self.name,
            java=java,
            main_class="io.quarkus.runner.GeneratedMain",
            arguments=[],
            class_path=class_path,
            folder=self.folder,
            options=options,
            pass_fds=[self._directory.fileno()],
        )

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=_ANSWER_TIMEOUT) as answer:  # noqa: S310
                return isinstance(json.load(answer), list)
        except (OSError, ValueError):
            return False

    def _prepare(self) -> None:
        """Set the compatibility of a new registry once, so that later changes are kept."""
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
            raise RegistryUnavailable(f"the compatibility of the schema registry could not be set: {error}") from error
