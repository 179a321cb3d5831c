"""`hearth doctor`: what would keep a worker from running here, with what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from hearth.cli.client_option import echo_items
from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable

_WORST = (ExitCode.ENVIRONMENT, ExitCode.BAD_INPUT, ExitCode.RUNTIME)
"""Exit codes of failures, the one that has to be mended first in front."""


@click.command()
@click.argument("worker", metavar="WORKER.properties", type=click.Path(path_type=Path))
@json_option
def doctor(worker: Path, as_json: bool) -> int:
    """Check a worker's file, this machine and Kafka: Java, disk, open files, ports, plugins, logins, internal topics.

    Starts and creates nothing. The exit code is that of the worst failure: 3 for this machine and Kafka, 2 for the
    file; warnings do not count.
    """
    from hearth.cli.doctor_check import FAIL, PASS, findings_of
    from hearth.cli.worker_option import read_any_worker

    found = list(findings_of(read_any_worker(worker)))
    if as_json:
        echo_items(each.to_json() for each in found)
    else:
        for each in found:
            click.echo(printable(f"{each.level}  {each.check:<10} {each.fact}"))
            if each.level != PASS and each.remedy:
                click.echo(printable(f"                 what to do: {each.remedy}"))
    failures = {each.code for each in found if each.level == FAIL}
    return next((code for code in _WORST if code in failures), ExitCode.OK)
