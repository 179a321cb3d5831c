"""`hearth doctor`: what would keep a worker from running here, or what a running cluster lacks, with remedies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.client_option import context_options, echo_items, open_cluster
from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable

if TYPE_CHECKING:
    from hearth.cli.doctor_finding import DoctorFinding

_WORST = (ExitCode.ENVIRONMENT, ExitCode.BAD_INPUT, ExitCode.RUNTIME)
"""Exit codes of failures, the one that has to be mended first in front."""


@click.command()
@click.argument("worker", metavar="[WORKER.properties]", required=False, type=click.Path(path_type=Path))
@context_options
@json_option
def doctor(worker: Path | None, context_name: str | None, url: str | None, as_json: bool) -> int:
    """Check a worker's file, this machine and Kafka; without a file, a running cluster.

    With a file: Java, disk, open files, ports, plugins, logins, internal topics, members of the group. Of a cluster:
    whether workers answer, are healthy and reach the leader, and what its connectors lack.

    Starts, creates and changes nothing. The exit code is that of the worst failure: 3 for machines and Kafka, 2 for
    settings, 1 for connectors; warnings do not count.
    """
    from hearth.cli.doctor_finding import FAIL, PASS

    found = list(_findings(worker, context_name, url))
    if as_json:
        echo_items(each.to_json() for each in found)
    else:
        for each in found:
            click.echo(printable(f"{each.level}  {each.check:<10} {each.fact}"))
            if each.level != PASS and each.remedy:
                click.echo(printable(f"                 what to do: {each.remedy}"))
    failures = {each.code for each in found if each.level == FAIL}
    return next((code for code in _WORST if code in failures), ExitCode.OK)


def _findings(worker: Path | None, context_name: str | None, url: str | None) -> Iterator[DoctorFinding]:
    if worker is not None:
        from hearth.cli.doctor_check import findings_of
        from hearth.cli.worker_option import read_any_worker

        yield from findings_of(read_any_worker(worker))
    if worker is None or context_name or url:
        from hearth.cli.cluster_check import cluster_findings

        cluster = open_cluster(context_name, url)
        with closing(cluster.client):
            yield from cluster_findings(cluster)
