"""`hearth plugins`: list and describe the plugins on plugin.path without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.discovery import Plugin, PluginType, Rejected, default_plugin_path, discover, split_plugin_path
from hearth.discovery.refusal import by_reason, first_of
from hearth.foundation.terminal import printable, table
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.discovery import Bundle
    from hearth.packaging.description import Description

_TYPES = [type_.value for type_ in PluginType]

_plugin_path = click.option(
    "--plugin-path",
    metavar="DIR,…",
    help="Directories and archives, separated by commas; default: the directory of a worker without plugin.path.",
)
_worker_config = click.option(
    "--worker-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read plugin.path from a worker's properties file.",
)
_type = click.option("--type", "type_", type=click.Choice(_TYPES), help="Show only plugins of this type.")


@click.group()
def plugins() -> None:
    """List and describe plugins, of this machine or of a running cluster."""


@plugins.command(name="list")
@_plugin_path
@_worker_config
@_type
@json_option
@click.option("--rejected", is_flag=True, help="Print only the rejected candidates, with their reasons.")
@click.option("--strict", is_flag=True, help="Exit with code 2 if any candidate is rejected.")
@click.option("--remote", is_flag=True, help="List the plugins of the running cluster of the current context.")
@click.option("--context", "context_name", metavar="NAME", help="List those of the cluster of this context.")
@click.option("--url", metavar="URL,…", help="List those of the worker at this address.")
def list_(
    plugin_path: str | None,
    worker_config: Path | None,
    type_: str | None,
    as_json: bool,
    rejected: bool,
    strict: bool,
    **where: Any,
) -> int:
    """Print every plugin, and rejected candidates by their reasons; --rejected names all of them.

    A bundle also counts as rejected if another bundle has the same class in the same version and is used instead.

    With --json, standard output is one array of objects with class, type, version, aliases, location, reference
    and bundle; rejected candidates go to standard error as text. With --json --rejected, it is an array of
    objects with location, reason and hint instead. No plugin code runs. Of a running cluster, class, type and
    version are known.

    Exit code 2 means that an element of the path does not exist, or with --strict that a candidate is rejected.
    """
    if any(where.values()):
        return _list_remote(type_, as_json, where["context_name"], where["url"])
    elements = _elements(plugin_path, worker_config)
    catalogue = discover(elements, admit=_trusted(worker_config))
    found = catalogue.of_type(*_types(type_))
    reasons = (*catalogue.rejected, *catalogue.shadowed)
    if rejected:
        _echo_rejected(reasons, as_json)
    elif as_json:
        _echo_json([_row(each) for each in found])
        _echo_reasons(reasons, to_stderr=True)
    else:
        _echo_plugins(found)
        _echo_reasons(reasons)
    is_well = all(element.exists() for element in elements) and not (strict and reasons)
    return ExitCode.OK if is_well else ExitCode.BAD_INPUT


@plugins.command()
@click.argument("name")
@_plugin_path
@_worker_config
@_type
@json_option
def describe(name: str, plugin_path: str | None, worker_config: Path | None, type_: str | None, as_json: bool) -> None:
    """Print one plugin with its configuration keys.

    NAME is a class name or an alias. A packed bundle contains the keys; the plugin of any other bundle is asked for
    them, in a separate process and environment.
    """
    catalogue = discover(_elements(plugin_path, worker_config), admit=_trusted(worker_config))
    plugin = catalogue.find(name, *_types(type_))
    description = _describe(plugin)
    if as_json:
        row = {**_row(plugin), "version": description.version, "config": list(description.config)}
        _echo_json(row)
    else:
        _echo_plugin(plugin, description)


def _list_remote(type_: str | None, as_json: bool, context_name: str | None, url: str | None) -> int:
    """Print what a worker answers."""
    from hearth.cli.client_option import echo_table, open_cluster

    cluster = open_cluster(context_name, url)
    with closing(cluster.client):
        found = [each for each in cluster.plugins() if type_ in (None, each["type"])]
    if as_json:
        _echo_json(found)
    else:
        rows = [(each["class"], each["type"], each.get("version") or "-") for each in found]
        echo_table(("CLASS", "TYPE", "VERSION"), rows, "no plugins")
    return ExitCode.OK


def _elements(plugin_path: str | None, worker_config: Path | None) -> list[Path]:
    if plugin_path is None and worker_config is None:
        return [own] if (own := default_plugin_path()).is_dir() else []
    found = split_plugin_path(plugin_path or "")
    if worker_config is not None:
        from hearth.foundation.properties import load

        value = load(worker_config).get("plugin.path", "")
        if not value.strip():
            raise ConfigError(f"{worker_config} has no plugin.path", hint="add it, or use --plugin-path")
        found += split_plugin_path(value)
    return found


def _trusted(worker_config: Path | None) -> Callable[[Bundle], None] | None:
    """Return the check that rejects bundles which the worker does not trust; None without a worker's file."""
    if worker_config is None:
        return None
    from hearth.discovery.trust import trust_of
    from hearth.foundation.properties import load

    return trust_of(load(worker_config)).admit


def _types(type_: str | None) -> list[PluginType]:
    return [PluginType(type_)] if type_ else []


def _describe(plugin: Plugin) -> Description:
    from hearth.packaging.description import Description, DescriptionStore

    if plugin.definitions is not None:
        return Description(plugin.version, plugin.definitions)
    from hearth.foundation.user_file import cache_directory
    from hearth.isolation.environment_store import host_environment, user_environments

    environment = host_environment()
    if plugin.bundle is not None:
        environment = user_environments().ensure(plugin.bundle)
    store = DescriptionStore(cache_directory("descriptions"))
    return store.of(environment, plugin.reference, plugin.type, plugin.class_name)


def _row(plugin: Plugin) -> dict[str, Any]:
    return {
        "class": plugin.class_name,
        "type": plugin.type.value,
        "version": plugin.version,
        "aliases": list(plugin.aliases),
        "location": plugin.location,
        "reference": plugin.reference,
        "bundle": None if plugin.bundle is None else f"{plugin.bundle.name} {plugin.bundle.version}",
    }


def _echo_plugins(found: list[Plugin]) -> None:
    rows = [
        (each.class_name, each.type.value, each.version, ", ".join(each.aliases) or "-", each.location)
        for each in found
    ]
    if rows:
        click.echo(table(("CLASS", "TYPE", "VERSION", "ALIASES", "LOCATION"), rows))
    click.echo(f"{'' if not rows else chr(10)}{len(rows)} plugin{'s' if len(rows) != 1 else ''}")


def _echo_rejected(rejected: tuple[Rejected, ...], as_json: bool) -> None:
    if as_json:
        _echo_json([vars(each) for each in rejected])
    else:
        _echo_reasons(rejected, list)


def _echo_reasons(
    rejected: tuple[Rejected, ...], shown: Callable[[list[str]], list[str]] = first_of, to_stderr: bool = False
) -> None:
    for (reason, hint), locations in by_reason(rejected).items():
        lines = "\n          ".join(printable(each, keep="") for each in shown(locations))
        click.echo(printable(f"\nrejected: {lines}\n  reason: {reason}\n  hint:   {hint}"), err=to_stderr)


def _echo_json(value: object) -> None:
    click.echo(json.dumps(value, indent=1))  # ASCII only: file names may contain anything


def _echo_plugin(plugin: Plugin, description: Description) -> None:
    facts = {
        "class": plugin.class_name,
        "type": plugin.type.value,
        "version": description.version,
        "aliases": ", ".join(plugin.aliases) or "-",
        "location": plugin.location,
        "reference": plugin.reference,
    }
    for name, value in facts.items():
        click.echo(f"{name + ':':<11}{printable(value, keep='')}")
    click.echo()
    if not description.config:
        click.echo("no configuration keys")
        return
    rows = [
        (
            str(key["name"]),
            str(key["type"]),
            "(required)" if key.get("required") else _default(key.get("default_value")),
            str(key["importance"]),
            " ".join(str(key.get("documentation") or "").split()),
        )
        for key in description.config
    ]
    click.echo(table(("KEY", "TYPE", "DEFAULT", "IMPORTANCE", "WHAT IT IS"), rows))


def _default(value: object) -> str:
    if value is None:
        return "null"
    text = str(value)
    return text if text and text == text.strip() else repr(text)
