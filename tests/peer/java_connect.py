"""Java's Kafka Connect 4.3.1 in standalone mode: the peer that Hearth is compared with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from hearth.broker.process import QUICK_START, JavaProcess, JavaProgram
from hearth.foundation.java import find_java
from hearth.maven.ivy import Progress
from hearth.maven.jar import fetch_jars
from tests.peer.worker import GRACE, Worker

LOCK = Path(__file__).with_name("jars.txt")
_FILE_PLUGIN = "connect-file-"
# The options that the start scripts of Kafka's distribution pass to every Java, and to a Connect worker.
PERFORMANCE_OPTIONS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
SMALL_OPTIONS = ("-Xmx512m", *QUICK_START)
DISTRIBUTION_OPTIONS = ("-Xms256M", "-Xmx2G", *PERFORMANCE_OPTIONS)


@cache
def connect_jars() -> tuple[Path, ...]:
    """Return the class path of Java Connect with its tools, without the file connectors."""
    return tuple(jar for jar in _all_jars() if _FILE_PLUGIN not in jar.name)


@cache
def _all_jars() -> tuple[Path, ...]:
    return tuple(fetch_jars(LOCK, progress=Progress(title="Java Connect's jars")))


def link_file_plugin(plugin_path: Path) -> Path:
    """Put the file connectors into a plugin.path as one plugin, and return the plugin's folder."""
    folder = plugin_path / "connect-file"
    folder.mkdir(parents=True, exist_ok=True)
    for jar in _all_jars():
        target = folder / jar.name
        if _FILE_PLUGIN in jar.name and not target.exists():
            os.symlink(jar, target)
    return folder


class JavaConnect(Worker):
    """`connect-standalone` of Kafka, with the file connectors on its plugin.path."""

    side = "java"
    main_class = "org.apache.kafka.connect.cli.ConnectStandalone"

    def __init__(
        self,
        folder: Path,
        bootstrap_servers: str,
        settings: Mapping[str, str] | None = None,
        connectors: Sequence[Mapping[str, str]] = (),
        jvm_options: Sequence[str] = SMALL_OPTIONS,
    ) -> None:
        super().__init__(folder, bootstrap_servers, settings, connectors)
        self._options = jvm_options
        self._process: JavaProcess | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_running

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, grace: float = GRACE) -> None:
        if self._process:
            self._process.stop(grace)
        self._process = None

    def kill(self) -> None:
        if self._process:
            self._process.kill()
        self._process = None

    def last_words(self) -> str:
        return self._process.last_words() if self._process else "it was never started"

    def _plugin_path(self) -> str:
        link_file_plugin(self.folder / "plugins")
        return str(self.folder / "plugins")

    def _launch(self, files: Sequence[Path]) -> None:
        program = JavaProgram(
            name="connect",
            java=find_java().executable,
            main_class=self.main_class,
            arguments=[str(file) for file in files],
            class_path=connect_jars(),
            folder=self.folder,
            options=self._options,
        )
        self._process = JavaProcess(program)
