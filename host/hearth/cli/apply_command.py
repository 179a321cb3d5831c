"""`hearth apply` and `hearth diff`: make a cluster's connectors those of files, and show what that would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, confirm, echo_items, error_json
from hearth.cli.duration import SECONDS
from hearth.cli.exit_code import ExitCode, exit_code
from hearth.cli.json_option import json_option
from hearth.cli.option_group import options
from hearth.foundation.terminal import printable
from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from hearth.client.change_plan import ChangePlan, ConnectorChange
    from hearth.client.remote_cluster import RemoteCluster


_plan_options = options(
    click.option("-f", "--file", "paths", metavar="PATH", multiple=True, required=True,
                 type=click.Path(path_type=Path),
                 help="File, folder (searched in depth for .json, .properties, .yaml), or - for standard input."),
    click.option("--owner", metavar="NAME", help="Own what the files have; needed to prune. Hearth only."),
    click.option("--prune", is_flag=False, flag_value="owned", type=click.Choice(["owned", "all"]),
                 help="Delete what the owner has and the files have not: at most half of it, or with =all more."),
    click.option("--adopt", is_flag=True, help="Take connectors over from another owner."),
    click.option("--resend", is_flag=True, help="Also send what only differs in passwords that a worker hides."),
)  # fmt: skip


@click.command()
@_plan_options
@cluster_option
@json_option
@click.option("--exit-code", "tells", is_flag=True, help="Exit with code 4 if anything differs.")
def diff(paths: Sequence[Path], cluster: RemoteCluster, as_json: bool, tells: bool, **options: Any) -> int:
    """Show what `hearth apply` would change, key by key, and the hash of that plan.

    Passwords are never shown. Exit code 2 means that a file or a configuration in it is invalid.
    """
    plan = _plan(cluster, paths, **options)
    if as_json:
        _echo_plan(plan)
    else:
        _show_plan(plan)
    if plan.errors:
        return ExitCode.BAD_INPUT
    return ExitCode.DIFFERENCES if tells and plan.work else ExitCode.OK


@click.command()
@_plan_options
@cluster_option
@json_option
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal, unless --plan is given.")
@click.option("--plan", "planned", metavar="HASH", help="Carry out this plan of `hearth diff`; refuse any other.")
@click.option("--wait", is_flag=True, help="Wait until what changed is in its state, running by default.")
@click.option("--timeout", type=SECONDS, default="60s", show_default=True, help="How long --wait waits.")
@click.option("--settle", type=SECONDS, default="2s", show_default=True, help="How long a state has to last.")
def apply(
    paths: Sequence[Path],
    cluster: RemoteCluster,
    as_json: bool,
    dry_run: bool,
    yes: bool,
    planned: str | None,
    **options: Any,
) -> int:
    """Create and update connectors so that they are as the files say.

    Every configuration is validated before anything is changed. A connector that fails to be applied does not keep
    the others from it, and makes the exit code 1.
    """
    waits = {key: options.pop(key) for key in ("wait", "timeout", "settle")}
    plan = _plan(cluster, paths, **options)
    if not as_json:
        _show_plan(plan)
    if planned is not None and planned != plan.hash:
        raise ConfigError(
            f"the plan is {plan.hash}, not {planned}", code="client.plan", hint="look at `hearth diff` again"
        )
    if dry_run or plan.errors or not plan.work:
        if as_json:
            _echo_plan(plan)
        return ExitCode.BAD_INPUT if plan.errors else ExitCode.OK
    if not yes and planned is None:
        confirm("Go on?", "the plan", f"--yes, or --plan {plan.hash}")
    return _carry_out(cluster, plan, as_json, waits)


def _plan(cluster: RemoteCluster, paths: Sequence[Path], **options: Any) -> ChangePlan:
    from hearth.client.change_plan import PlanOptions, make_plan
    from hearth.client.connector_file import read_connectors

    files = read_connectors(paths)
    if not files:
        raise ConfigError(
            f"{', '.join(map(str, paths))}: no connector in it",
            code="connector_file.none",
            hint="name files that end with .json, .properties or .yaml",
        )
    owners = {} if options["owner"] is None else cluster.owners()
    return make_plan(cluster, files, PlanOptions(owners=owners, **options))


def _carry_out(cluster: RemoteCluster, plan: ChangePlan, as_json: bool, waits: dict[str, Any]) -> int:
    from hearth.client.rollout import roll_out

    say: Callable[[str], None] = (lambda text: None) if as_json else (lambda text: click.echo(printable(text)))
    items, errors, done = [], [], []
    for outcome in roll_out(cluster, plan.work):
        name = outcome.change.name
        if outcome.error is not None:
            errors.append(error_json(name, outcome.error))
            click.echo(printable(f"error: {name}: {outcome.error}"), err=True)
        else:
            items.append({**outcome.change.to_json(), "done": outcome.done})
            done.append(outcome.change)
            say(f"{outcome.done} {name}")
    failure = _await(cluster, done, waits, say) if waits["wait"] else None
    if failure is not None:
        errors.append(error_json("", failure))
    if as_json:
        echo_items(items, errors, hash=plan.hash)
    if failure is not None and not as_json:
        raise failure
    if failure is not None:
        return exit_code(failure)
    return ExitCode.RUNTIME if errors else ExitCode.OK


def _await(
    cluster: RemoteCluster, done: Sequence[ConnectorChange], waits: dict[str, Any], say: Callable[[str], None]
) -> ConnectError | None:
    from hearth.client.waiting import Waiting

    goals = {each.name: each.goal for each in done}
    before = {each.name: each.present for each in done if each.present is not None}
    try:
        Waiting(cluster, waits["timeout"], waits["settle"]).wait(goals, before)
    except ConnectError as error:
        return error
    say(f"{len(goals)} connector{'s are' if len(goals) != 1 else ' is'} in the expected state")
    return None


def _show_plan(plan: ChangePlan) -> None:
    for change in plan.changes:
        if change.action != "keep" or change.notes:
            click.echo(printable("\n".join(change.lines())))
    for name, error in plan.errors:
        click.echo(printable(f"error: {name}: {error}" + (f"\nhint: {error.hint}" if error.hint else "")), err=True)
    same = len(plan.changes) - len(plan.work)
    click.echo(f"{len(plan.work)} to change, {same} unchanged; plan {plan.hash}")


def _echo_plan(plan: ChangePlan) -> None:
    items = [each.to_json() for each in plan.changes]
    echo_items(items, [error_json(*each) for each in plan.errors], hash=plan.hash)
