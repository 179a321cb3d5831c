"""`hearth standalone`: run a single host, as `connect-standalone` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hearth.cli.host_run import run_host
from hearth.cli.log_option import begin, log_options
from hearth.cli.prepared_spark import preparing_launcher
from hearth.cli.signal_end import interrupt_on_signals
from hearth.cli.worker_file import read_worker
from hearth.cli.worker_mode import STANDALONE
from hearth.client.connector_file import read_connector_file


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path))
@click.argument(
    "connectors", metavar="[CONNECTOR.properties|CONNECTOR.json ...]", nargs=-1, type=click.Path(path_type=Path)
)
@click.option("--free-port", is_flag=True, help="If a listener's port is in use, use the next free one.")
@click.option("--check", is_flag=True, help="Check the files, the connectors and the plugins, and start nothing.")
@log_options
def standalone(worker: Path, connectors: Sequence[Path], free_port: bool, check: bool, **log_as: Any) -> int | None:
    """Run a standalone host until a signal stops it.

    WORKER.properties holds the host's settings: those of Kafka Connect's standalone worker, and any spark.* key.
    Each further file is a connector to create: Java properties, or JSON in the REST API's format.
    """
    interrupt_on_signals()
    begin(**log_as)
    config = read_worker(worker, STANDALONE)
    files = [read_connector_file(path) for path in connectors]
    if check:
        from hearth.cli.worker_check import check_worker

        return check_worker(config, files, click.echo)
    launcher = preparing_launcher(config)
    try:
        from hearth.cli.host import StandaloneHost  # its import takes a third as long as the start of Spark's JVM

        run_host(StandaloneHost(config, click.echo, free_port, launcher), files)
    finally:
        launcher.stop()
    return None
