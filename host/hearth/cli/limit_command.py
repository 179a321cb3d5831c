"""`hearth limits`: which resource limits of plugins this machine can enforce, and how."""

from __future__ import annotations

import json

import click

from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable, table


@click.command()
@json_option
@click.option("--strict", is_flag=True, help="Exit with code 1 if a limit cannot be enforced.")
def limits(as_json: bool, strict: bool) -> int:
    """Print which limits of plugins this machine enforces, by which mechanism, and why it cannot enforce the others.

    Each limit is tried as the current user. Run this on every machine with executors, as the executors' user.
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
