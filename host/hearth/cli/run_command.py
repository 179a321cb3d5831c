"""`hearth run`: run a connector from its project's source, and restart it at each change."""

from __future__ import annotations

import filecmp
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from hearth.broker import KafkaBroker
from hearth.cli.local import LocalHost
from hearth.cli.signal_end import terminate_as_interrupt
from hearth.cli.written_records import WrittenRecords
from hearth.client.connector_file import ConnectorFile, read_connector_file
from hearth.foundation.terminal import Terminal, printable
from hearth_api import ConnectError

REST_PORT = 8083
LOOK_EVERY = 0.5
"""Seconds between two checks of the project's files and the host's log."""
FOLDER = ".hearth"
_SKIPPED = ("__pycache__", "build", "dist", "venv", "node_modules")
_FILE = re.compile(r'(?<=File ")[^"\n]+(?=", line )')
"""The file name in a frame of a traceback."""
_JSON = "org.apache.kafka.connect.json.JsonConverter"


@click.command()
@click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="The connector's configuration, properties or JSON.",
)
@click.option(
    "--bootstrap-servers", metavar="HOST:PORT", help="Kafka cluster to use; default: start a broker for this run."
)
def run(project: Path, config_file: Path, bootstrap_servers: str | None) -> None:
    """Run the connector of PROJECT from its source, and restart it at each change, until Ctrl-C.

    At each change the project is packed again, and the connector continues where it stopped. Its log, the first
    records that a source writes, and the reason for a failure are shown. Files are kept in .hearth of the project:
    delete that directory to start over.
    """
    folder = project.absolute() / FOLDER
    folder.mkdir(exist_ok=True)
    loop = _Loop(project.absolute(), config_file, folder, Terminal())
    with terminate_as_interrupt(), ExitStack() as running:
        loop.start(running, bootstrap_servers)
        try:
            while True:
                loop.look()
                time.sleep(LOOK_EVERY)
        except KeyboardInterrupt:
            loop.terminal.say()


class _Loop:
    """Watches the project and the host that runs it."""

    def __init__(self, project: Path, config_file: Path, folder: Path, terminal: Terminal) -> None:
        self.terminal = terminal
        self._project = project
        self._config_file = config_file
        self._folder = folder
        self._host: LocalHost
        self._records: WrittenRecords
        self._connector: ConnectorFile
        self._accepted: ConnectorFile | None = None
        """The configuration that the host runs."""
        self._seen: dict[Path, int] = {}
        self._shown = 0
        self._states: dict[str, str] = {}

    def start(self, running: ExitStack, bootstrap_servers: str | None) -> None:
        """Pack the project, start the broker and the host, and create the connector; ``running`` stops them."""
        self._seen = self._files()
        self._connector = read_connector_file(self._config_file)
        with self.terminal.step("pack"):
            self._pack()
        if bootstrap_servers is None:
            broker = KafkaBroker(self._folder / "broker")
            running.callback(broker.stop)
            with self.terminal.step("start a Kafka broker") as done:
                broker.start()
                done(broker.bootstrap_servers)
            bootstrap_servers = broker.bootstrap_servers
        self._records = WrittenRecords(bootstrap_servers, lambda text: self.terminal.say(printable(text)))
        running.callback(self._records.close)
        self._host = LocalHost(self._folder, REST_PORT, self._worker(bootstrap_servers))
        running.callback(self._host.stop)
        with self.terminal.step("start the host") as done:
            self._host.start(lambda line: self.terminal.note(printable(line)))
            done(self._host.url)
        with self._faults_shown(), self.terminal.step(f"start {self._connector.name}"):
            self._put()
        self.terminal.say(f"edit {self._project}: each change restarts the connector; Ctrl-C stops")

    def look(self) -> None:
        """Show new log lines, states and records, and restart the connector if its project has changed."""
        if not self._host.is_running:
            raise self._host.failure("exited")
        for line in self._lines():
            self.terminal.note(printable(self._named(line)))
        self._show_states_and_records()
        files = self._files()
        if files == self._seen:
            return
        changed = sorted(path.name for path in {*files, *self._seen} if files.get(path) != self._seen.get(path))
        self._seen = files
        with self._faults_shown(), self.terminal.step(f"{', '.join(changed[:3])} changed: restart"):
            self._connector = read_connector_file(self._config_file)
            self._pack()  # the host notices the new bundle and restarts the connector
            if self._connector != self._accepted:
                self._put()

    @contextmanager
    def _faults_shown(self) -> Iterator[None]:
        """Print an error instead of raising it: the next edit may mend it."""
        try:
            yield
        except ConnectError as error:
            text = f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")
            self.terminal.say(printable(self._named(text)))

    def _pack(self) -> None:
        from hearth.isolation.environment_store import user_environments
        from hearth.packaging.installed import InstalledBundles
        from hearth.packaging.pack import pack

        environments = user_environments()
        bundle = pack(self._project, self._folder / "bundle.zip", environments)
        InstalledBundles(self._folder / "plugins", environments).upgrade(bundle)

    def _put(self) -> None:
        self._request("PUT", "config", self._connector.config)
        self._accepted = self._connector

    def _request(self, method: str, path: str, body: object = None) -> Any:
        named = f"/hearth/connectors/{path}?name={quote(self._connector.name, safe='')}"  # a name may contain anything
        return self._host.request(method, named, body)

    def _worker(self, bootstrap_servers: str) -> Mapping[str, str]:
        return {
            "bootstrap.servers": bootstrap_servers,
            "key.converter": _JSON,
            "value.converter": _JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": str(self._folder / "connect.offsets"),
            "offset.flush.interval.ms": "1000",
            "plugin.path": str(self._folder / "plugins"),
        }

    def _files(self) -> dict[Path, int]:
        """Return the modification time of each file of the project and of the configuration."""
        found = {path: path.stat().st_mtime_ns for path in _sources(self._project)}
        if self._config_file.is_file():
            found[self._config_file.absolute()] = self._config_file.stat().st_mtime_ns
        return found

    def _lines(self) -> Iterator[str]:
        """Yield the new complete lines about the connector from the host's log."""
        with self._host.log.open("rb") as file:
            file.seek(self._shown)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._shown += len(whole)
        about = (f"[{self._connector.name}|", f"[{self._connector.name}]")
        yield from (
            line for line in whole.decode("utf-8", "replace").splitlines() if any(map(line.__contains__, about))
        )

    def _named(self, text: str) -> str:
        """Replace the paths of installed copies in tracebacks with the project's files."""
        return _FILE.sub(lambda found: self._original(Path(found[0])), text)

    def _original(self, copy: Path) -> str:
        """Return the project's file of the same name and content; the copy if that file has changed since."""
        equal = [each for each in self._seen if each.name == copy.name and _are_same(each, copy)]
        return str(max(equal, key=lambda each: _shared_end(each, copy), default=copy))

    def _show_states_and_records(self) -> None:
        """Print each part of the connector whose state has changed, with the trace of a failure, and new records."""
        try:
            status = self._request("GET", "status")
        except ConnectError:
            return  # it is being created
        parts = {"the connector": status["connector"], **{f"task {each['id']}": each for each in status["tasks"]}}
        for name, part in parts.items():
            if self._states.get(name) != part["state"]:
                trace = f"\n{self._named(part['trace'])}" if part.get("trace") else ""
                self.terminal.say(printable(f"{name} is {part['state']}{trace}"))
                self._records.restart()
        self._states = {name: part["state"] for name, part in parts.items()}
        if status.get("type") == "source":
            self._records.look(self._request("GET", "topics")[self._connector.name]["topics"])


def _shared_end(one: Path, other: Path) -> int:
    """Return the number of trailing parts that two paths share."""
    pairs = enumerate(zip(one.parts[::-1], other.parts[::-1]))
    return next((count for count, (own, others) in pairs if own != others), 0)


def _are_same(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:  # one of them no longer exists
        return False


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the source files of a project."""
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _SKIPPED or path.name.endswith((".egg-info", ".pyc")):
            continue
        if path.is_dir():
            yield from _sources(path)
        elif path.is_file():
            yield path
