"""`hearth run`: a connector runs from its project's source, and again whenever that is changed."""

from __future__ import annotations

import filecmp
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from hearth.broker import KafkaBroker
from hearth.cli.connector_file import ConnectorFile, read_connector_file
from hearth.cli.local import LocalHost
from hearth.cli.signal_end import terminate_as_interrupt
from hearth.foundation.terminal import Terminal, printable
from hearth_api import ConnectError

REST_PORT = 8083
LOOK_EVERY = 0.5
"""Seconds between two looks at the project's files and at the host's log."""
FOLDER = ".hearth"
_PASSED_BY = ("__pycache__", "build", "dist", "venv", "node_modules")
_FILE = re.compile(r'(?<=File ")[^"\n]+(?=", line )')
"""Where a frame of a trace names its file."""
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
    "--bootstrap-servers", metavar="HOST:PORT", help="A Kafka of your own; without it a broker is started for this."
)
def run(project: Path, config_file: Path, bootstrap_servers: str | None) -> None:
    """Run the connector of PROJECT from its source, and again at each change, until Ctrl-C.

    Each time it is packed, takes the place of what ran before and goes on where that stopped. What it logs, and why it
    failed, is shown. Files are kept in .hearth of the project: delete it to start afresh.
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
    """The project, the host it runs on, and what of both was seen so far."""

    def __init__(self, project: Path, config_file: Path, folder: Path, terminal: Terminal) -> None:
        self.terminal = terminal
        self._project = project
        self._config_file = config_file
        self._folder = folder
        self._host: LocalHost
        self._connector: ConnectorFile
        self._seen: dict[Path, int] = {}
        self._shown = 0
        self._states: dict[str, str] = {}

    def start(self, running: ExitStack, bootstrap_servers: str | None) -> None:
        """Pack, start what is needed, and create the connector; what was started is stopped by ``running``."""
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
        self._host = LocalHost(self._folder, REST_PORT, self._worker(bootstrap_servers))
        running.callback(self._host.stop)
        with self.terminal.step("start the host") as done:
            self._host.start(lambda line: self.terminal.note(printable(line)))
            done(self._host.url)
        with self.terminal.step(f"start {self._connector.name}"):
            self._put()
        self.terminal.say(f"edit {self._project}: it runs again by itself; Ctrl-C ends")

    def look(self) -> None:
        """Show what is new in the log and the status, and run the connector again where its project was changed."""
        if not self._host.is_running:
            raise self._host.failure("ended by itself")
        for line in self._lines():
            self.terminal.note(printable(self._named(line)))
        self._show_states()
        files = self._files()
        if files == self._seen:
            return
        changed = sorted(path.name for path in {*files, *self._seen} if files.get(path) != self._seen.get(path))
        self._seen = files
        try:
            with self.terminal.step(f"{', '.join(changed[:3])} changed: run it again"):
                before, self._connector = self._connector, read_connector_file(self._config_file)
                self._pack()  # the host sees that, and lets the connector begin anew
                if self._connector != before:
                    self._put()
        except ConnectError as error:  # of somebody who is in the middle of an edit
            self.terminal.say(printable(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")))

    def _pack(self) -> None:
        from hearth.isolation.environment_store import user_environments
        from hearth.packaging.installed import InstalledBundles
        from hearth.packaging.pack import pack

        environments = user_environments()
        bundle = pack(self._project, self._folder / "bundle.zip", environments)
        InstalledBundles(self._folder / "plugins", environments).upgrade(bundle)

    def _put(self) -> None:
        self._request("PUT", "config", self._connector.config)

    def _request(self, method: str, path: str, body: object = None) -> Any:
        named = f"/hearth/connectors/{path}?name={quote(self._connector.name, safe='')}"  # whatever the name holds
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
        """Return when each file of the project, and the configuration, was last changed."""
        found = {path: path.stat().st_mtime_ns for path in _sources(self._project)}
        if self._config_file.is_file():
            found[self._config_file.absolute()] = self._config_file.stat().st_mtime_ns
        return found

    def _lines(self) -> Iterator[str]:
        """Yield the whole lines about the connector that are new in the host's log."""
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
        """Return a text whose traces name the project's files, in place of the copies that run."""
        return _FILE.sub(lambda found: self._original(Path(found[0])), text)

    def _original(self, copy: Path) -> str:
        """Return the project's file of the same name and content; the copy where that was changed since."""
        alike = [each for each in self._seen if each.name == copy.name and _are_same(each, copy)]
        return str(max(alike, key=lambda each: _shared_end(each, copy), default=copy))

    def _show_states(self) -> None:
        """Say which part of the connector has another state than before, and of one that failed why."""
        try:
            status = self._request("GET", "status")
        except ConnectError:
            return  # it is being put there just now
        parts = {"the connector": status["connector"], **{f"task {each['id']}": each for each in status["tasks"]}}
        for name, part in parts.items():
            if self._states.get(name) != part["state"]:
                trace = f"\n{self._named(part['trace'])}" if part.get("trace") else ""
                self.terminal.say(printable(f"{name} is {part['state']}{trace}"))
        self._states = {name: part["state"] for name, part in parts.items()}


def _shared_end(one: Path, other: Path) -> int:
    """Return how many of their last parts two paths share."""
    pairs = enumerate(zip(one.parts[::-1], other.parts[::-1]))
    return next((count for count, (own, others) in pairs if own != others), 0)


def _are_same(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:  # one of them is gone
        return False


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the files below a project that an author writes."""
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _PASSED_BY or path.name.endswith((".egg-info", ".pyc")):
            continue
        if path.is_dir():
            yield from _sources(path)
        elif path.is_file():
            yield path
