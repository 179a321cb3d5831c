"""`hearth distributed`: a host that works with others in a cluster, as `connect-distributed` does."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from hearth.cli.distributed_host import DistributedHost
from hearth.cli.host_run import run_host
from hearth.cli.log_option import begin, log_options
from hearth.cli.signal_end import interrupt_on_signals
from hearth.cli.worker_file import Mode, read_worker
from hearth.config import DistributedConfig

DISTRIBUTED = Mode(
    DistributedConfig,
    logging.getLogger("hearth.distributed"),
    foreign=("offset.storage.file.filename",),
    other="a key of connect-standalone, and this host keeps offsets in a topic",
    hint="this is a file of connect-standalone, and this host is one of a cluster: `hearth standalone` takes it",
    idle=DistributedConfig.idle_keys,
)


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path))
@click.option("--free-port", is_flag=True, help="Where a port of the listeners is taken, use the next free one.")
@log_options
def distributed(worker: Path, free_port: bool, **log_as: Any) -> None:
    """Run a host of a cluster until it is told to stop.

    WORKER.properties holds the settings of the host: those of Kafka Connect's distributed worker, and any spark.*
    key. All hosts that name one group.id and one Kafka cluster stand in for each other; connectors are created over
    the REST API of any of them.
    """
    interrupt_on_signals()
    begin(**log_as)
    run_host(DistributedHost(read_worker(worker, DISTRIBUTED), click.echo, free_port))
