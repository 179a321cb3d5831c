"""`hearth bundle install` and related commands: change and inspect the bundles of a plugin.path directory."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.discovery import Bundle, default_plugin_path
from hearth.foundation.terminal import Step, Terminal, printable, table
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.packaging.installed import Change, InstalledBundles

F = TypeVar("F", bound=Callable[..., Any])

_folder = click.option(
    "--plugin-path",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The plugin.path directory to use; default: the one of a worker without plugin.path.",
)
_index = click.option(
    "--index",
    "indexes",
    metavar="DIR|URL",
    multiple=True,
    help="A local directory or URL of bundles to look up names in; may be given several times; default: HEARTH_INDEX.",
)
_DONE = {
    "install": "installed {name} {after} in {location}",
    "upgrade": "upgraded {name} from {before} to {after} in {location}",
    "keep": "{name} {after} is installed already, in {location}",
    "remove": "removed {name} {before} from {location}",
    "rollback": "rolled {name} back from {before} to {after} in {location}",
}


def _changing(command: F) -> F:
    """Add the options of commands that change a directory."""
    dry_run = click.option("--dry-run", is_flag=True, help="Check everything and print the change without making it.")
    return _folder(dry_run(json_option(command)))


def _sourced(command: F) -> F:
    """Add the argument that names a bundle, and the options for where to get it."""
    links = click.option(
        "--find-links",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A directory of wheels to use in addition to the package index; may be given several times.",
    )
    offline = click.option("--offline", is_flag=True, help="Do not use the package index.")
    sha256 = click.option("--sha256", metavar="HEX", help="Expected SHA-256 of the file.")
    return click.argument("text", metavar="FILE|URL|NAME|maven:...")(_index(links(offline(sha256(command)))))


@click.command()
@_sourced
@click.option("--beside", is_flag=True, help="Keep other versions of the bundle, for connectors that name them.")
@_changing
def install(beside: bool, folder: Path | None, dry_run: bool, as_json: bool, **source: Any) -> None:
    """Install a bundle into plugin.path from a FILE or directory, a URL, or by NAME.

    NAME may have a version, such as orders==1.2 or orders>=1. It is looked up in the directories of --index; without
    any, it is a package of the package index, which is packed with its dependencies. The environment is built first,
    so a bundle that cannot run here is not installed.

    maven:GROUP:ARTIFACT:VERSION is a jar with what it needs, maven:GROUP:ARTIFACT:VERSION:plugin@tar.gz a file that
    has all. Each is fetched once; HEARTH_MAVEN_MIRROR names another Maven repository.
    """
    _act(folder, dry_run, as_json, source, lambda installed, path: installed.install(path, beside))


@click.command()
@_sourced
@click.option("--version", "old", metavar="VERSION", help="The version to replace, if several are installed.")
@_changing
def upgrade(old: str | None, folder: Path | None, dry_run: bool, as_json: bool, **source: Any) -> None:
    """Replace a bundle of plugin.path with another version in one step; `rollback` undoes it.

    `install --help` explains the argument. Running tasks keep the old version until they restart.
    """
    _act(folder, dry_run, as_json, source, lambda installed, path: installed.upgrade(path, old))


@click.command()
@click.argument("name", metavar="NAME[==VERSION]")
@_changing
def remove(name: str, folder: Path | None, dry_run: bool, as_json: bool) -> None:
    """Remove a bundle from plugin.path; `rollback` restores it."""
    plain, _, version = name.partition("==")
    _echo(_installed(folder, dry_run).remove(plain, version or None), dry_run, as_json)


@click.command()
@click.argument("name")
@_changing
def rollback(name: str, folder: Path | None, dry_run: bool, as_json: bool) -> None:
    """Restore the previous version of a bundle; repeat the command to go back further."""
    _echo(_installed(folder, dry_run).rollback(name), dry_run, as_json)


@click.command(name="list")
@_folder
@json_option
def list_(folder: Path | None, as_json: bool) -> None:
    """Print the bundles of plugin.path, and the earlier versions kept for a rollback."""
    installed = _installed(folder)
    rows = [
        {**_row(each), "earlier": [old.version for old in installed.earlier(each.name)]} for each in installed.all()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    else:
        _echo_bundles(rows, ("name", "version", "plugins", "location", "earlier"))


@click.command()
@click.argument("text", default="")
@_index
@json_option
def search(text: str, indexes: tuple[str, ...], as_json: bool) -> None:
    """Print the bundles of an index whose name or plugin class contains TEXT.

    A package index is not searched: it lists a million names without telling which are plugins.
    """
    from hearth.packaging.bundle_index import VARIABLE, named_indexes
    from hearth.packaging.bundle_index import search as find

    if not (named := named_indexes(indexes)):
        hint = f"pass a directory of bundles or its URL with --index, or set {VARIABLE}"
        raise ConfigError("no index is given", hint=hint)
    names = ("name", "version", "plugins", "location")
    rows = [{each: getattr(offer, each) for each in names} for offer in find(text, named)]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    else:
        _echo_bundles(rows, names)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
def index(folder: Path) -> None:
    """Write a list of the bundles of DIR into DIR, so that a web server of its files serves as an index.

    Prints the path of the list. The list has the SHA-256 of each bundle, so only the list needs https.
    """
    from hearth.packaging.bundle_index import bundles_in
    from hearth.packaging.index_file import write_index

    click.echo(write_index(folder.absolute(), bundles_in(folder.absolute())))


@click.command()
@click.argument("bundle", metavar="FILE|NAME")
@_folder
@json_option
def describe(bundle: str, folder: Path | None, as_json: bool) -> None:
    """Print the contents of a bundle: its plugins, and its packages with their licences. None of its code runs.

    Signers are printed as the bundle names them, unchecked; `bundle verify --signature` checks a signature.
    """
    from hearth.discovery.signature import signatures_of

    found = _named(bundle, folder)
    signers = [each["key"] for each in signatures_of(found)]
    parts = [{"name": each.name, "version": each.version, "licence": each.licence} for each in found.packages()]
    plugins = [
        {"class": each.class_name, "type": str(each.type), "version": each.version} for each in found.declarations
    ]
    if as_json:
        facts = {**_row(found), f"requires_{found.kind}": found.requires, "plugins": plugins, "packages": parts}
        facts["notes"] = list(found.notes)
        facts["signed_by"] = signers
        click.echo(json.dumps(facts, indent=1))
        return
    needs = f"{found.kind.capitalize()} {found.requires or 'any'}"
    click.echo(printable(f"{found.name} {found.version}, {found.form}, {needs}"))
    click.echo(printable(str(found.location)))
    for each in (*found.notes, *(f"signed by {each} (not checked)" for each in signers)):
        click.echo(printable(each, keep=""))
    click.echo()
    click.echo(table(("PLUGIN", "TYPE", "VERSION"), [list(each.values()) for each in plugins]))
    click.echo()
    click.echo(table(("PACKAGE", "VERSION", "LICENCE"), [[cell or "-" for cell in each.values()] for each in parts]))


@click.command()
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@_folder
@json_option
def diff(old: str, new: str, folder: Path | None, as_json: bool) -> None:
    """Print what changes when B replaces A; each is a FILE or the NAME of an installed bundle.

    Compares packages, plugins, and configuration keys, as far as the bundles describe them.
    """
    from hearth.packaging.difference import differences

    found = differences(_named(old, folder), _named(new, folder))
    if as_json:
        click.echo(json.dumps([vars(each) for each in found], indent=1))
    elif found:
        rows = [(each.kind, each.name, _cell(each.before), _cell(each.after)) for each in found]
        click.echo(table(("WHAT", "NAME", "A", "B"), rows))
    else:
        click.echo("no difference")


@click.command()
@_folder
@click.option(
    "--revoked",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A list of revoked bundles and packages: lines such as orders<1.2 or sha256:..., with the reason after #.",
)
@click.option("--yanked", is_flag=True, help="Ask the package index which of their packages are yanked.")
@json_option
def audit(folder: Path | None, revoked: Path | None, yanked: bool, as_json: bool) -> int:
    """Check that the bundles of plugin.path are unchanged since packing and that none of their packages is revoked.

    Exit code 2 means that something was found.
    """
    from hearth.discovery.revocation import read_revocations
    from hearth.packaging.audit import audit as look
    from hearth.packaging.audit import read_yanked

    plugin_path = [(folder or default_plugin_path()).absolute()]
    unwanted = [*(read_revocations(revoked) if revoked else ()), *(read_yanked(plugin_path) if yanked else ())]
    found = look(plugin_path, unwanted)
    if as_json:
        click.echo(json.dumps([vars(each) for each in found], indent=1))
    elif found:
        click.echo(table(("BUNDLE", "WHAT", "DETAIL"), [(each.location, each.kind, each.detail) for each in found]))
    else:
        click.echo("nothing found")
    return ExitCode.BAD_INPUT if found else ExitCode.OK


COMMANDS = (install, upgrade, remove, rollback, list_, search, index, describe, diff, audit)


def _installed(folder: Path | None, is_dry_run: bool = False, is_offline: bool = False) -> InstalledBundles:
    from hearth.isolation.environment_store import user_environments
    from hearth.packaging.installed import InstalledBundles

    return InstalledBundles(
        folder or default_plugin_path(), user_environments(is_offline=is_offline), is_dry_run, _step()
    )


def _step() -> Step:
    return Terminal(sys.stderr).live_step


def _act(
    folder: Path | None,
    is_dry_run: bool,
    as_json: bool,
    source: Mapping[str, Any],
    act: Callable[[InstalledBundles, Path], Change],
) -> None:
    """Fetch a bundle, apply a change to the directory, and print the change."""
    from hearth.isolation.environment_store import user_environments
    from hearth.packaging.bundle_index import named_indexes
    from hearth.packaging.bundle_source import BundleSource

    links, offline, sha256 = (source[each] for each in ("find_links", "offline", "sha256"))
    wanted = BundleSource(source["text"], named_indexes(source["indexes"]), links, offline, sha256, _step())
    with wanted.obtained(user_environments()) as path:
        _echo(act(_installed(folder, is_dry_run, offline), path), is_dry_run, as_json)


def _named(text: str, folder: Path | None) -> Bundle:
    """Return the bundle at a path, or the installed one of that name."""
    from hearth.packaging.integrity import usable

    path = Path(text)
    if path.exists():
        return usable(path.absolute())
    name, _, version = text.partition("==")
    return _installed(folder).one(name, version or None)


def _row(bundle: Bundle) -> dict[str, Any]:
    plugins = [each.class_name for each in bundle.declarations]
    return {"name": bundle.name, "version": bundle.version, "plugins": plugins, "location": str(bundle.location)}


def _echo(change: Change, is_dry_run: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**vars(change), "location": str(change.location), "dry_run": is_dry_run}, indent=1))
        return
    text = _DONE[change.action].format(**vars(change))
    click.echo(printable(f"would have: {text}" if is_dry_run and change.action != "keep" else text))


def _echo_bundles(rows: list[dict[str, Any]], names: tuple[str, ...]) -> None:
    cells = [[_cell(row[name]) for name in names] for row in rows]
    if cells:
        click.echo(table([name.upper() for name in names], cells))
    click.echo(f"{chr(10) if cells else ''}{len(cells)} bundle{'s' if len(cells) != 1 else ''}")


def _cell(value: object) -> str:
    """Format a value for a table; more than two plugins are shown as their number."""
    if isinstance(value, (list, tuple)):
        return ", ".join(value) if 0 < len(value) <= 2 else str(len(value)) if value else "-"
    return str(value) if value else "-"
