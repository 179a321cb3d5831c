"""`hearth limits`: which limits of plugins can be kept on this machine, and how."""

from __future__ import annotations

import json

import click

from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable, table


@click.command()
@json_option
@click.option("--strict", is_flag=True, help="Fail where one cannot be kept.")
def limits(as_json: bool, strict: bool) -> int:
    """Print which limits of plugins this machine keeps, by what, and why it does not keep the others.

    Each is tried, as the user who calls this. Run it on every machine that has executors, as the user of those.
    """
    from hearth.isolation.limit_probe import kept_limits

    found = list(kept_limits())
    if as_json:
        rows = [{"key": each.key, "by": each.by, "kept": not each.refusal, "reason": each.refusal} for each in found]
        click.echo(json.dumps(rows, indent=1))
    else:
        shown = [(each.key, "no" if each.refusal else "yes", each.refusal or each.by) for each in found]
        click.echo(printable(table(("LIMIT", "KEPT", "HOW, OR WHY NOT"), shown)))
    return int(strict and any(each.refusal for each in found))
