"""`hearth environments`: list the environments built for bundles on this machine, and remove unused ones."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable, table

if TYPE_CHECKING:
    from hearth.isolation.environment_inventory import EnvironmentInventory, KnownEnvironment

UNUSED_DAYS = 7.0
_UNITS = ("B", "kB", "MB", "GB")


@click.group()
def environments() -> None:
    """List the environments of bundles, or remove unused ones."""


@environments.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """Print every environment: its size, the bundles it was built for, and its state.

    Bundles with equal locks share an environment. The state is "running" while a process of this machine uses it,
    "needed" while one of its bundles is still where it was, and otherwise "unused".
    """
    _echo(_inventory().all(), as_json)


@environments.command()
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    default=UNUSED_DAYS,
    show_default=True,
    help="Keep environments that a bundle used within this number of days.",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@json_option
def prune(days: float, dry_run: bool, as_json: bool) -> None:
    """Remove environments that no process uses and whose bundles are gone or use another one.

    An environment that is needed later is built again. Prints what was removed. If executors of other machines use
    this directory on a shared disk, set --days higher than the age of their oldest task.
    """
    found = _inventory().prune(days, dry_run)
    _echo(found, as_json)
    if not as_json:
        what = "would be freed" if dry_run else "freed"
        click.echo(f"{_shown(sum(each.size for each in found))} {what}")


def _inventory() -> EnvironmentInventory:
    from hearth.isolation.environment_store import user_environments

    return user_environments().inventory


def _echo(found: list[KnownEnvironment], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_row(each) for each in found], indent=1))
        return
    rows = [
        (
            each.key,
            _shown(each.size),
            _state(each),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(each.last_used)),
            ", ".join(dict.fromkeys(use.bundle for use in each.uses)) or "-",
        )
        for each in found
    ]
    if rows:
        click.echo(printable(table(("ENVIRONMENT", "SIZE", "STATE", "LAST USED", "OF"), rows)))
    click.echo(f"{'' if not rows else chr(10)}{len(rows)} environment{'s' if len(rows) != 1 else ''}")


def _row(each: KnownEnvironment) -> dict[str, Any]:
    return {
        "key": each.key,
        "path": str(each.path),
        "size": each.size,
        "running": each.is_running,
        "needed": each.is_needed,
        "last_used": int(each.last_used * 1000),
        "uses": [{"bundle": use.bundle, "location": use.location} for use in each.uses],
    }


def _state(each: KnownEnvironment) -> str:
    return "running" if each.is_running else "needed" if each.is_needed else "unused"


def _shown(size: float) -> str:
    """Format a number of bytes with its unit."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"
