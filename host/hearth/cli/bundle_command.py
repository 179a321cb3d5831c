"""`hearth bundle`: create, check, sign and install bundles."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from hearth.cli import install_command
from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.client.connector_file import read_connector_file
from hearth.foundation.terminal import Terminal, printable, table
from hearth.foundation.unwinding import unwind

if TYPE_CHECKING:
    from hearth.packaging.verify import Check

PLATFORMS = ("linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64", "windows-amd64")
SCAFFOLDS = ("source", "sink", "transformation", "converter")


@click.group()
def bundle() -> None:
    """Create, check, sign, install and remove bundles."""
    signal.signal(signal.SIGTERM, _leave)


for each in install_command.COMMANDS:
    bundle.add_command(each)


@bundle.command()
@click.argument("project", metavar="NAME", type=click.Path(path_type=Path))
@click.option("--type", "type_", type=click.Choice(SCAFFOLDS), required=True, help="Type of the plugin.")
@click.option("--package", default="com.example", show_default=True, help="Package prefix of the plugin's class name.")
@click.option(
    "--form",
    type=click.Choice(("records", "columns")),
    default="records",
    show_default=True,
    help="Whether a source or sink works on single records or on Arrow tables.",
)
def new(project: Path, type_: str, package: str, form: str) -> None:
    """Create a project in the directory NAME: a plugin that builds, passes its tests and runs, ready to edit.

    Prints the files; README.md has the next steps. Existing files are not overwritten.
    """
    from hearth.discovery import PluginType
    from hearth.packaging.scaffold import scaffold

    for path in scaffold(project, PluginType(type_), package, form == "columns"):
        click.echo(path)


@bundle.command()
@click.argument("project", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Directory to write to, created if missing; or the path of the bundle, ending with .zip.",
)
@click.option(
    "--find-links",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory of wheels to use as dependencies; may be given several times.",
)
@click.option("--offline", is_flag=True, help="Use only the directories of --find-links, not the package index.")
@click.option("--python", "pythons", metavar="3.X", multiple=True, help="Also include wheels for that Python.")
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice(PLATFORMS),
    help="Also include wheels for that platform; both may be given several times.",
)
def pack(
    project: Path,
    output: Path,
    find_links: tuple[Path, ...],
    offline: bool,
    pythons: tuple[str, ...],
    platforms: tuple[str, ...],
) -> None:
    """Pack PROJECT into a bundle: its wheel, the wheels it needs, their hashes and licences, in one zip file.

    PROJECT is the directory of a Python project, with any build backend, or a source distribution. A separate process
    describes the plugins, so that `plugins list` and `plugins describe` need not run them later. It may also be a
    directory or an archive of Java plugins, which get hashes, so that the bundle can be signed. Prints the path of the
    bundle. The same sources and dependencies give the same bytes.
    """
    from hearth.isolation.environment_store import user_environments
    from hearth.packaging.pack import pack as make
    from hearth.packaging.wheel_target import wheel_targets

    step, targets = Terminal(sys.stderr).live_step, wheel_targets(pythons, platforms)
    click.echo(make(project, output, user_environments(), find_links, offline, step, targets))


@bundle.command()
@click.argument("locations", metavar="BUNDLE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A connector's configuration, properties or JSON; also runs that connector in memory.",
)
@click.option(
    "--signature",
    "keys",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A public key, or a Sigstore identity in JSON; at least one of those given must have signed the bundle.",
)
@json_option
def verify(locations: tuple[Path, ...], config_file: Path | None, keys: tuple[Path, ...], as_json: bool) -> int:
    """Check each BUNDLE in a separate environment: structure, hashes, API, licences, imports, definitions, rules.

    The rules are those of hearth_api.testing. Without --config, only rules that need no settings are tested. With
    --json, standard output is one array with an object for each bundle.

    Exit code 0: all checks passed; 2: the bundle is bad; 3: this machine cannot run it.
    """
    from hearth.packaging.verify import verify as check

    config = None if config_file is None else read_connector_file(config_file).config
    found = {location: check(location, config, keys) for location in locations}
    checks = [each for of_bundle in found.values() for each in of_bundle]
    if as_json:
        click.echo(json.dumps([_row(location, of_bundle) for location, of_bundle in found.items()], indent=1))
    else:
        _echo_table(checks)
    failed = [each for each in checks if not each.is_ok]
    if not failed:
        return ExitCode.OK
    return ExitCode.ENVIRONMENT if all(each.is_environment for each in failed) else ExitCode.BAD_INPUT


@bundle.command()
@click.argument("path", metavar="KEY", type=click.Path(path_type=Path))
def key(path: Path) -> None:
    """Create a key pair for signing: the private KEY, and KEY.pub for those who verify."""
    from hearth.packaging.sign import new_key

    click.echo(new_key(path))


@bundle.command()
@click.argument("location", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--key", "key_file", metavar="KEY", type=click.Path(path_type=Path), help="A private key.")
@click.option("--sigstore", is_flag=True, help="Sign in at Sigstore instead, which needs hearth-connect[sigstore].")
@click.option(
    "--sigstore-bundle",
    "made",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Add a signature that another program has made of the file hearth-bundle.json of BUNDLE.",
)
@click.option(
    "--trust-config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The ClientTrustConfig of a Sigstore other than the public one.",
)
def sign(location: Path, key_file: Path | None, sigstore: bool, made: Path | None, config_file: Path | None) -> None:
    """Sign a packed BUNDLE with an Ed25519 key in PEM, or through Sigstore; keep its other signatures.

    The signature is stored in the bundle. `verify --signature KEY.pub` checks it.
    """
    from hearth.packaging.sign import sign as make
    from hearth.packaging.sign import sign_with_sigstore

    if (key_file is not None) + sigstore + (made is not None) != 1:
        raise click.UsageError("give exactly one of --key, --sigstore and --sigstore-bundle")
    if key_file is not None:
        click.echo(printable(f"{location} is signed by {make(location, key_file)}"))
        return
    identity, issuer = sign_with_sigstore(location, config_file, made)
    click.echo(printable(f"{location} is signed by {identity}, according to {issuer}"))


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit by raising an exception, so that temporary files of the command are removed."""
    unwind(frame, SystemExit, 128 + number)


def _row(location: Path, checks: list[Check]) -> dict[str, object]:
    rows = [
        {
            "check": each.name,
            "subject": each.subject,
            "ok": each.is_ok,
            "detail": each.detail,
            "hint": "" if each.is_ok else each.hint,
        }
        for each in checks
    ]
    ok = all(each.is_ok for each in checks)
    return {"bundle": str(location), "ok": ok, "checks": rows}


def _echo_table(checks: list[Check]) -> None:
    rows = [(each.name, "ok" if each.is_ok else "FAILED", each.subject, each.detail) for each in checks]
    click.echo(table(("CHECK", "RESULT", "OF", "DETAIL"), rows))
    for each in checks:
        if not each.is_ok and each.hint:
            click.echo(f"hint: {printable(each.hint)}", err=True)
