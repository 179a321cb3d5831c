"""`hearth standalone`: a host that works alone, as `connect-standalone` does."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import click

from hearth.cli.connector_file import ConnectorFile, read_connector_file
from hearth.cli.host import StandaloneHost, plugin_path
from hearth.cli.log_option import begin, log_options
from hearth.config import StandaloneConfig
from hearth.config.confinement_key import PASSED, withheld_credentials
from hearth.config.variable import Resolved, has_variable
from hearth.discovery import Catalogue, discover
from hearth.discovery.trust import trust_of
from hearth.foundation.nearest import did_you_mean
from hearth.foundation.properties import load
from hearth.herder.cluster_lookup import client_config
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.provider_stage import PROVIDERS, open_variables
from hearth.isolation.environment_store import user_environments
from hearth.kafka.client import consumer_config, producer_config
from hearth.kafka.client.key import RULES
from hearth_api import ConfigError, ConfigType, ConnectError
from hearth_api.java import parse_type

log = logging.getLogger("hearth.standalone")

IGNORED = {
    "metric.reporters": "metrics are not reported",
    "plugin.discovery": "plugins are always found by their metadata",
}
"""Keys that have no effect here, with the reason."""
DISTRIBUTED = (
    "group.id", "config.storage.", "offset.storage.topic", "offset.storage.partitions", "status.storage.",
    "offset.storage.replication.factor", "inter.worker.", "connect.protocol", "exactly.once.source.support",
    "scheduled.rebalance.", "worker.sync.", "worker.unsync.",
)  # fmt: skip
"""What keys begin with that only workers of a cluster have."""
INTERRUPTED = 130


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path))
@click.argument(
    "connectors", metavar="[CONNECTOR.properties|CONNECTOR.json ...]", nargs=-1, type=click.Path(path_type=Path)
)
@click.option("--free-port", is_flag=True, help="Where a port of the listeners is taken, use the next free one.")
@log_options
def standalone(worker: Path, connectors: Sequence[Path], free_port: bool, **log_as: Any) -> None:
    """Run a host that works alone until it is told to stop.

    WORKER.properties holds the settings of the host: those of Kafka Connect's standalone worker, and any spark.*
    key. Each further file is a connector to create: Java properties, or JSON as the REST API takes it.
    """
    begin(**log_as)
    config = read_worker(worker)
    files = [read_connector_file(path) for path in connectors]
    run(config, files, free_port)


def run(config: StandaloneConfig, files: Sequence[ConnectorFile], free_port: bool) -> None:
    """Start the host, create the connectors of the files, and stop everything in order at the end."""
    host = StandaloneHost(config, click.echo, free_port)
    _interrupt_on_signals()
    try:
        host.start()
        for file in files:
            _create(host, file)
        host.health.ready.set_result(None)
        with contextlib.suppress(KeyboardInterrupt):
            host.wait()
    finally:
        host.stop()


def read_worker(path: Path) -> StandaloneConfig:
    """Return a worker's settings; warns of keys without effect, raises ConfigError for wrong ones."""
    props = load(path)
    settings = Resolved(props, props)
    try:
        settings = _looked_up(props)
        config = StandaloneConfig(settings.config)
        told = warnings(config)
    except ConfigError as error:
        hint = error.hint or _hint(props)
        raise ConfigError(settings.hidden(f"{path}: {error}"), code=error.code, hint=hint) from error
    for warning in told:
        log.warning("%s: %s", path, warning)
    withheld = withheld_credentials(os.environ)
    if config.plugin_environment is None and withheld:
        log.info("plugins do not see %s of this host, %s passes variables on", ", ".join(withheld), PASSED)
    return config


def _hint(props: Mapping[str, str]) -> str:
    """Return what may be wrong with a worker's file that lacks a key, or has a wrong value."""
    known = StandaloneConfig.definition().names
    if any(key.startswith(DISTRIBUTED) for key in props):
        return "this is a file of connect-distributed, and this host works alone: see connect-standalone.properties"
    slips = [(key, did_you_mean(key, known)) for key in props if key not in (*known, *RULES["admin"])]
    return "; ".join(f"unknown key {key!r}{near}" for key, near in slips if near) or "correct that key in the file"


def _looked_up(props: Mapping[str, str]) -> Resolved:
    """Return a worker's settings with the values of variables, from providers that are opened for this alone."""
    if not any(map(has_variable, props.values())):
        return Resolved(props, props)
    listed = parse_type("plugin.path", props.get("plugin.path"), ConfigType.LIST)
    trust = trust_of(props)  # which no variable may decide: providers are plugins, too
    catalogue = discover(plugin_path(listed), admit=trust.admit) if PROVIDERS in props else Catalogue([])
    directory = PluginDirectory(lambda: catalogue, user_environments(trust))
    with closing(open_variables(props, directory)) as variables:
        settings = variables.resolve(props)
        for key, left in variables.left(settings):
            log.warning("%s: %s", key, left)
        return settings


def warnings(config: StandaloneConfig) -> list[str]:
    """Return what is said of keys that nobody knows or that have no effect."""
    found = [f"{key} has no effect: {reason}" for key, reason in IGNORED.items() if key in config.originals]
    known = list(config.definition().names)
    unknown = config.unknown_keys()
    if clustered := [key for key in unknown if key.startswith(DISTRIBUTED)]:
        found.append(f"{', '.join(clustered)}: keys of connect-distributed, and this host works alone")
    for key in unknown:
        if key in RULES["admin"] or key in clustered:
            continue
        found.append(f"unknown key {key!r} has no effect{did_you_mean(key, known)}")
    found += _idle_providers(config)
    clients = (
        producer_config(config.originals, {}),
        consumer_config(config.originals, {}, "any"),
        client_config(config.originals),
    )
    return found + [warning for client in clients for warning in client.warnings]


def _idle_providers(config: StandaloneConfig) -> Iterator[str]:
    """Yield what is said of config providers that are listed without a class, or set up and not listed."""
    listed = config.config_providers
    for name in listed:
        if f"{PROVIDERS}.{name}.class" not in config.originals:
            yield f"{PROVIDERS}: {name!r} has no effect without {PROVIDERS}.{name}.class"
    for key in config.originals:
        _, is_below, below = key.partition(f"{PROVIDERS}.")
        name = below.partition(".")[0]
        if is_below and name not in listed:
            yield f"{key} has no effect: {name!r} is not in {PROVIDERS}{did_you_mean(name, listed)}"


def _create(host: StandaloneHost, file: ConnectorFile) -> None:
    """Create a connector; what is wrong with it ends the host, as in Kafka Connect."""
    try:
        host.herder.put(file.name, file.config, file.target, replace=False).result()
    except ConnectError as error:
        trace = getattr(error.__cause__, "trace", None)
        text = f"{file.path}: {error}" + (f"\n{trace.rstrip()}" if trace else "")
        kind = ConfigError if isinstance(error, ConfigError) else ConnectError
        raise kind(text, code=error.code, hint=error.hint) from error


def _interrupt_on_signals() -> None:
    """End in order at the first signal, at once at the second.

    A signal that who started this process had it ignore (``nohup``, a shell's background) stays ignored, as in Java.
    """
    seen: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if seen:
            os._exit(INTERRUPTED)
        seen.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
