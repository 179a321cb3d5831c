"""Restores the case of option names: Spark passes all of them to a data source in lower case.

The case is taken from declared keys and from the lists of aliases. Undeclared names stay in lower case; use
``hearth.config`` for those.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping

from hearth.config import SinkConnectorConfig, SourceConnectorConfig
from hearth.config.connector_key import CONVERTER_KEYS, VERSION_SUFFIX
from hearth.datasource.option import CONFIG, Options
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.validation.config_warning import OWN_KEYS
from hearth.herder.validation.framework_definition import type_of
from hearth_api import ConfigDef, ConfigError, ConfigType, NotFoundError
from hearth_api.java import parse_type

_FRAMEWORK = {PluginType.SOURCE: SourceConnectorConfig, PluginType.SINK: SinkConnectorConfig}
_OF_STEP = ("type", "predicate", "negate", VERSION_SUFFIX.removeprefix("."))


def in_own_case(
    options: Options, directory: PluginDirectory, definition_of: Callable[[Plugin], ConfigDef]
) -> dict[str, str]:
    """Return a connector's configuration with names in their declared case.

    ``definition_of`` returns the keys that a plugin declares. Raises PluginNotFound if the connector is missing, and
    ConfigError if two keys of a plugin differ only in case.
    """
    config = options.config
    connector = directory.connector(config)
    names = [*_FRAMEWORK[connector.type].definition().keys, *OWN_KEYS, *definition_of(connector).keys]
    for listed in ("transforms", "predicates"):
        for alias in parse_type(listed, config.get(listed), ConfigType.LIST) or ():
            prefix = f"{listed}.{alias}."
            name = _value(config, f"{prefix}type")
            names += [prefix + own for own in (*_OF_STEP, *_declared(name, prefix[:-1], directory, definition_of))]
    for role in CONVERTER_KEYS:
        names += [f"{role}.{own}" for own in _declared(config.get(role), role, directory, definition_of)]
    return _renamed(config, options.exact, names)


def _declared(
    name: str | None, role: str, directory: PluginDirectory, definition_of: Callable[[Plugin], ConfigDef]
) -> Iterable[str]:
    """Return the keys of a plugin by name; none for a missing plugin, which planning reports."""
    with contextlib.suppress(NotFoundError):
        if name:
            return definition_of(directory.plugin(name.strip(), None, type_of(role))).keys
    return ()


def _value(config: Mapping[str, str], name: str) -> str | None:
    return config.get(name, config.get(name.lower()))


def _renamed(config: Mapping[str, str], exact: frozenset[str], names: Iterable[str]) -> dict[str, str]:
    spellings: dict[str, set[str]] = {}
    for name in names:
        spellings.setdefault(name.lower(), set()).add(name)
    renamed = {}
    for name, value in config.items():
        known = spellings.get(name, {name})
        if name in exact:
            renamed[name] = value
        elif len(known) == 1:
            renamed[next(iter(known))] = value
        else:
            raise ConfigError(
                f"{name} may be {' or '.join(sorted(known))}: Spark passes option names in lower case",
                hint=f"set it in {CONFIG}, as JSON text",
            )
    return renamed
