"""`hearth environments`: what was built for bundles on this machine, and what of it nobody needs."""

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
    """List the environments of bundles, or remove those that nobody needs."""


@environments.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """Print every environment: its size, for which bundles it was built, and whether it is in use.

    An environment is shared by bundles with equal locks. One that is needed is that of a bundle which lies where it
    did; one that runs is that of a process of this machine.
    """
    _echo(_inventory().all(), as_json)


@environments.command()
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    default=UNUSED_DAYS,
    show_default=True,
    help="Keep what a bundle was given within so many days.",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@json_option
def prune(days: float, dry_run: bool, as_json: bool) -> None:
    """Remove environments whose bundles are gone or have another one by now, and in which no process runs.

    What is needed after all is built again. Prints what was removed. Where executors of other machines run from this
    directory, on a disk they share, name more days than their tasks are old.
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
    """Return a number of bytes in few digits."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"
