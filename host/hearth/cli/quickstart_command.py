"""`hearth quickstart`: copy lines from one file through Kafka to another, starting everything needed."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
from filelock import FileLock, Timeout

import hearth
from hearth.broker import KafkaBroker
from hearth.broker.apicurio import REGISTRY_LOCK, REGISTRY_TITLE, ApicurioRegistry
from hearth.broker.broker import broker_jars
from hearth.broker.unpacked import fetch_unpacked
from hearth.cli.example import AVRO, DATABASE, LAKE, LINES, Example, place_of, placed
from hearth.cli.local import LocalHost
from hearth.cli.round_trip import RoundTrip
from hearth.cli.signal_end import terminate_as_interrupt
from hearth.foundation.java import find_java
from hearth.foundation.port import next_free
from hearth.foundation.terminal import Terminal
from hearth.foundation.user_file import state_directory
from hearth_api import ConflictError, ConnectError

if TYPE_CHECKING:
    from hearth.cli.local_hosts import LocalHosts

OFFSETS = "connect.offsets"
REST_PORT = 8083
SPARK_PORT = 4040
_TAIL = 0.2
_SHOWN = 3

AnyHost: TypeAlias = "LocalHost | LocalHosts"
"""One host, or several used like one."""


@click.command()
@click.option("--once", is_flag=True, help="Verify one round trip and exit; exit code 0 on success.")
@click.option("--lines", type=click.IntRange(1, 1_000_000), default=10, show_default=True, help="Lines to send.")
@click.option("--avro", is_flag=True, help="Send lines as Avro, with a schema registry (downloads 109 MB once).")
@click.option("--database", is_flag=True, help="Send rows of a database as Avro, with the same registry.")
@click.option("--lake", is_flag=True, help="Send rows of a database as Avro to Parquet files, which Spark then reads.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for files, offsets and Kafka's data; default .hearth/quickstart in a checkout, or quickstart in "
    "the user's state directory if Hearth is installed.",
)
@click.option(
    "--hosts",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="How many hosts to start. Several hosts form a cluster, on a Spark cluster with two workers.",
)
def quickstart(
    once: bool, lines: int, avro: bool, database: bool, lake: bool, directory: Path | None, hosts: int
) -> None:
    """Start Kafka and Hearth and copy lines from test.txt through Kafka to test.sink.txt, until Ctrl-C.

    With --avro, lines go from test.avro.txt to test.avro.sink.txt as Avro records, with their schema in a registry.
    With --database, they are rows of a table in test.db, and go to test.db.sink.txt. With --lake, they are rows of a
    table in test.lake.db, and go to Parquet files in test.lake.

    Everything is kept in one directory: the next start continues where the last one stopped. Delete the directory to
    start over.
    """
    checkout = _checkout()
    name = "quickstart" if hosts == 1 else "quickstart-hosts"  # a cluster keeps its state differently
    own = state_directory(name) if checkout is None else checkout / ".hearth" / name
    folder = (directory or own).absolute()
    example = LAKE if lake else DATABASE if database else AVRO if avro else LINES
    terminal = Terminal()
    with terminate_as_interrupt(), ExitStack() as running:
        running.enter_context(_alone(folder))
        trip = RoundTrip(example.origin(folder), example.written(folder))
        trip.source.prepare()
        parts = _start(terminal, running, checkout, folder, example, hosts)
        _carry(terminal, parts, trip, lines, example)
        if not once:
            _stay(terminal, parts, trip, example, _plugin_path(checkout, folder))
        with terminal.step("stop in order"):
            running.close()
        if once:
            trip.verify()
            terminal.say(f"{lines} lines arrived, in order, exactly once")


@dataclass(frozen=True)
class _Running:
    """The started parts."""

    broker: KafkaBroker
    registry: ApicurioRegistry | None
    host: AnyHost

    def ended(self) -> ConnectError | None:
        """Return the error if a part has exited, else None."""
        if not self.host.is_running:
            return self.host.failure("exited")
        others = {"Kafka broker": self.broker, "schema registry": self.registry}
        for name, part in others.items():
            if part is not None and not part.is_running:
                return ConnectError(f"the {name} exited", hint=f"see {part.log}")
        return None


def _start(
    terminal: Terminal, running: ExitStack, checkout: Path | None, folder: Path, example: Example, hosts: int
) -> _Running:
    """Start the parts one by one; `running` stops them in reverse order."""
    terminal.title(f"Hearth {hearth.__version__}: Kafka Connect in Python, on Spark")
    with _named("Java"):
        find_java()
    with _named("Kafka's program"):
        broker_jars()  # shows its own progress
    broker = KafkaBroker(folder / "broker")
    with _part(terminal, "the Kafka broker") as done:
        running.callback(broker.stop)
        broker.start()
        done(f"listens on {broker.bootstrap_servers}")
    registry = _start_registry(terminal, running, folder) if example.is_avro else None
    plugin_path = _plugin_path(checkout, folder)
    for name in example.bundles:
        with _part(terminal, f"the {name} bundle") as done:
            project = None if checkout is None else checkout / "plugins" / name
            done(_fetch(f"hearth-{name}", plugin_path) if project is None else _pack(project, plugin_path, folder))
    converters = example.converters(None if registry is None else registry.url)
    host = _new_host(folder, {**converters, **_worker(broker, plugin_path)}, hosts)
    with _part(terminal, "the host" if hosts == 1 else f"Spark's cluster and {hosts} hosts") as done:
        running.callback(host.stop)
        host.start()
        taken = "" if host.url.endswith(f":{REST_PORT}") else f" ({REST_PORT} is taken)"
        done(f"answers on {host.url}{taken}")
    for name, given in example.connectors.items():
        with _part(terminal, f"the connector {name}") as done:
            config = given if hosts == 1 else placed(given, folder)  # executors run elsewhere
            host.request("PUT", f"/connectors/{name}/config", config)  # PUT: a cluster still has it from the last run
            done(f"{config['connector.class']}, {place_of(config)}")
    return _Running(broker, registry, host)


def _new_host(folder: Path, worker: dict[str, str], hosts: int) -> AnyHost:
    if hosts == 1:
        return LocalHost(folder, REST_PORT, {**worker, "offset.storage.file.filename": str(folder / OFFSETS)})
    from hearth.cli.local_hosts import LocalHosts

    return LocalHosts(folder, REST_PORT, worker, hosts)


def _start_registry(terminal: Terminal, running: ExitStack, folder: Path) -> ApicurioRegistry:
    with _named("the registry's program"):
        fetch_unpacked(REGISTRY_LOCK, REGISTRY_TITLE)  # shows its own progress
    registry = ApicurioRegistry(folder / "registry")
    with _part(terminal, "the schema registry") as done:
        running.callback(registry.stop)
        registry.start()
        done(f"answers on {registry.url}")
    return registry


def _carry(terminal: Terminal, parts: _Running, trip: RoundTrip, lines: int, example: Example) -> None:
    """Append lines to the source's file and wait until the sink has written them."""
    with _part(terminal, f"a round trip of {lines} lines") as done:
        trip.send(lines)
        for missing in trip.wait():
            _raise_if_failed(parts.host, missing, example)
        done(f"{trip.source.path.name} -> topic {example.topic} -> {trip.sink.name}")
    shown = trip.newly_arrived()
    for line in shown[-_SHOWN:]:
        terminal.note(f"{trip.sink.name}: {line}")
    if example.is_lake:
        _read_lake(terminal, trip)


def _read_lake(terminal: Terminal, trip: RoundTrip) -> None:
    """Let Spark read what the sink has written; raise if it finds less than Arrow does."""
    from hearth.spark.parquet_count import count_rows

    with _part(terminal, "Spark reads the Parquet files") as done:
        least = trip.written.end()
        found = count_rows(trip.sink)
        if found < least:
            raise ConnectError(f"Spark finds {found} rows below {trip.sink}, Arrow finds {least}")
        done(f"{found} rows")


def _stay(terminal: Terminal, parts: _Running, trip: RoundTrip, example: Example, plugin_path: Path) -> None:
    """Print what to try next, then the arriving lines until Ctrl-C or until a part exits."""
    try:
        for text in _next_steps(parts, trip, example, plugin_path):
            terminal.say(text)
        while (error := parts.ended()) is None:
            for line in trip.newly_arrived():
                terminal.note(f"{trip.sink.name}: {line}")
            for text in parts.host.news(example.sink_name):
                terminal.note(text)
            time.sleep(_TAIL)
    except KeyboardInterrupt:
        terminal.say()
        return
    raise error


def _next_steps(parts: _Running, trip: RoundTrip, example: Example, plugin_path: Path) -> list[str]:
    host, registry = parts.host, parts.registry
    hearth_command = Path(sys.executable).with_name("hearth")
    page = host.await_sparks_page()
    return [
        "",
        "Try next, in another terminal:",
        f"  {trip.source.command('Hello, Hearth')}",
        f"  {trip.written.command()}",
        f"  curl '{host.url}/connectors?expand=status'",
        f"  curl {host.url}/connector-plugins",
        f"  curl -X PUT {host.url}/connectors/{example.sink_name}/pause",
        *([f"  curl {registry.url}/subjects/{example.topic}-value/versions/1"] if registry else []),
        *([f"  open {page}, Spark's UI: one job per task"] if page else []),
        *(f"  kill -9 {pid}  # {name}: others take over" for name, pid in host.processes()),
        f"  {hearth_command} plugins list --plugin-path {plugin_path}",
        "",
        f"Logs and data are in {host.folder}. Ctrl-C stops everything.",
    ]


def _worker(broker: KafkaBroker, plugin_path: Path) -> dict[str, str]:
    """Return the settings of Kafka's standalone sample, with our paths."""
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "offset.flush.interval.ms": "10000",
        "plugin.path": str(plugin_path),
        "spark.ui.port": str(next_free(SPARK_PORT)),
    }


def _pack(project: Path, plugin_path: Path, folder: Path) -> str:
    """Pack the project into plugin.path unless a readable bundle of the same files is there."""
    from hearth.discovery import Bundle, read
    from hearth.isolation.environment_store import user_environments
    from hearth.packaging.pack import pack

    record = folder / f"{project.name}.packed"
    sources = _fingerprint(project)
    if record.is_file():
        known, _, name = record.read_text(encoding="utf-8").partition(" ")
        if known == sources and isinstance(read(plugin_path / name), Bundle):
            return f"{name} is up to date"
    bundle = pack(project, plugin_path, user_environments())
    record.write_text(f"{sources} {bundle.name}", encoding="utf-8")
    return f"packed into {bundle.name}"


def _fetch(name: str, plugin_path: Path) -> str:
    """Install a bundle of this version from HEARTH_INDEX or from the package index."""
    from hearth.isolation.environment_store import user_environments
    from hearth.packaging.bundle_index import named_indexes
    from hearth.packaging.bundle_source import BundleSource
    from hearth.packaging.installed import InstalledBundles

    environments = user_environments()
    installed = InstalledBundles(plugin_path, environments)
    if any(each.version == hearth.__version__ for each in installed.named(name)):
        return f"{name} {hearth.__version__} is up to date"
    with BundleSource(f"{name}=={hearth.__version__}", named_indexes()).obtained(environments) as path:
        change = installed.upgrade(path)
    return f"{change.name} {change.after} is installed"


def _fingerprint(project: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(project.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(project)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _raise_if_failed(host: AnyHost, missing: int, example: Example) -> None:
    """Raise the reason why lines do not arrive if the host has exited or a task has failed."""
    if not host.is_running:
        raise host.failure(f"exited before {missing} lines arrived")
    for name in example.connectors:
        status = host.request("GET", f"/connectors/{name}/status")
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                raise ConnectError(f"{name} failed: {part.get('trace')}", hint=f"see {host.log}")


def _checkout() -> Path | None:
    """Return the checkout that this program runs from and packs the connectors of; None if it is installed."""
    root = Path(hearth.__file__).resolve().parents[2]
    return root if (root / "plugins" / "file" / "pyproject.toml").is_file() else None


def _plugin_path(checkout: Path | None, folder: Path) -> Path:
    return folder / "plugins" if checkout is None else checkout / "plugin_path"


@contextmanager
def _part(terminal: Terminal, name: str) -> Iterator[Callable[[str], None]]:
    """Show the start of a part, and name the part in the error if it fails."""
    with _named(name), terminal.step(name) as done:
        yield done


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Name the part in an error of its start."""
    try:
        yield
    except ConnectError as error:
        raise ConnectError(f"{name} did not start: {error}", code=error.code, hint=error.hint) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one quickstart at a time use the directory."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout as error:
        raise ConflictError(
            f"another quickstart uses {folder}", hint="stop it with Ctrl-C, or pass another --directory"
        ) from error
