"""`hearth distributed`: run a host of a cluster, as `connect-distributed` does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from hearth.cli.distributed_host import DistributedHost
from hearth.cli.environment_file import NAMING, PLACE, keys_of, log_levels_of
from hearth.cli.host_run import run_host
from hearth.cli.log_option import begin, log_options
from hearth.cli.signal_end import interrupt_on_signals
from hearth.cli.worker_file import checked_worker, read_worker
from hearth.cli.worker_mode import DISTRIBUTED


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path), required=False)
@click.option(
    "--from-environment", is_flag=True, help="Read the settings from variables such as CONNECT_BOOTSTRAP_SERVERS."
)
@click.option("--free-port", is_flag=True, help="If a listener's port is in use, use the next free one.")
@click.option("--check", is_flag=True, help="Check the file and the plugins, and start nothing.")
@log_options
def distributed(
    worker: Path | None, from_environment: bool, free_port: bool, check: bool, **log_as: Any
) -> int | None:
    """Run a host of a cluster until a signal stops it.

    WORKER.properties holds the host's settings: those of Kafka Connect's distributed worker, and any spark.* key.
    Hosts with the same group.id and the same Kafka cluster form one Connect cluster and take over from each other.
    Create connectors over the REST API of any of them.
    """
    if (worker is None) is not from_environment:
        raise click.UsageError("give either WORKER.properties or --from-environment")
    interrupt_on_signals()
    if worker is not None:
        begin(**log_as)
        config = read_worker(worker, DISTRIBUTED)
    else:
        begin(**{**log_as, "log_level": [*log_levels_of(os.environ), *log_as["log_level"]]})
        config = checked_worker(PLACE, keys_of(os.environ), DISTRIBUTED, NAMING)
    if check:
        from hearth.cli.worker_check import check_worker

        return check_worker(config, (), click.echo)
    run_host(DistributedHost(config, click.echo, free_port))
    return None
