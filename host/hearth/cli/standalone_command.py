"""`hearth standalone`: run a single host, as `connect-standalone` does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hearth.cli.host_run import run_host
from hearth.cli.log_option import begin, log_options
from hearth.cli.prepared_spark import preparing_launcher
from hearth.cli.signal_end import interrupt_on_signals
from hearth.cli.worker_file import Mode, read_worker
from hearth.client.connector_file import read_connector_file
from hearth.config import StandaloneConfig

STANDALONE = Mode(
    StandaloneConfig,
    logging.getLogger("hearth.standalone"),
    foreign=(
        "group.id", "config.storage.", "offset.storage.topic", "offset.storage.partitions", "status.storage.",
        "offset.storage.replication.factor", "inter.worker.", "connect.protocol", "exactly.once.source.support",
        "scheduled.rebalance.", "worker.sync.", "worker.unsync.",
    ),
    other="these are keys of connect-distributed and have no effect on a standalone host",
    hint="this is a file for connect-distributed: use `hearth distributed`, or write one for a standalone host",
)  # fmt: skip


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path))
@click.argument(
    "connectors", metavar="[CONNECTOR.properties|CONNECTOR.json ...]", nargs=-1, type=click.Path(path_type=Path)
)
@click.option("--free-port", is_flag=True, help="If a listener's port is in use, use the next free one.")
@log_options
def standalone(worker: Path, connectors: Sequence[Path], free_port: bool, **log_as: Any) -> None:
    """Run a standalone host until a signal stops it.

    WORKER.properties holds the host's settings: those of Kafka Connect's standalone worker, and any spark.* key.
    Each further file is a connector to create: Java properties, or JSON in the REST API's format.
    """
    interrupt_on_signals()
    begin(**log_as)
    config = read_worker(worker, STANDALONE)
    files = [read_connector_file(path) for path in connectors]
    launcher = preparing_launcher(config)
    try:
        from hearth.cli.host import StandaloneHost  # its import takes a third as long as the start of Spark's JVM

        run_host(StandaloneHost(config, click.echo, free_port, launcher), files)
    finally:
        launcher.stop()
