"""Reads a worker's properties file for either mode, with errors for wrong keys and warnings for idle ones."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from hearth.config import WorkerConfig
from hearth.config.confinement_key import PASSED, withheld_credentials
from hearth.config.variable import Resolved, has_variable
from hearth.discovery import Catalogue, default_plugin_path, discover, split_plugin_path
from hearth.discovery.trust import trust_of
from hearth.foundation.nearest import did_you_mean
from hearth.foundation.properties import load
from hearth.herder.cluster_lookup import client_config
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.provider_stage import PROVIDERS, open_variables
from hearth.isolation.environment_store import user_environments
from hearth.kafka.client import consumer_config, producer_config
from hearth.kafka.client.key import RULES
from hearth_api import ConfigError, ConfigType
from hearth_api.java import parse_type

C = TypeVar("C", bound=WorkerConfig)

IGNORED = {
    "metric.reporters": "GET /metrics has the metrics",
    "plugin.discovery": "plugins are always found by their metadata",
}
"""Keys that have no effect in any mode, with the reason."""
_REMOVED = ("internal.key.converter", "internal.value.converter")
"""Prefixes of keys that Kafka Connect once had, and that old files still have (KIP-738)."""


@dataclass(frozen=True)
class Mode(Generic[C]):
    """The mode of a host: standalone or distributed."""

    config: type[C]
    """The settings of its file."""
    log: logging.Logger
    foreign: tuple[str, ...]
    """Prefixes of the other mode's keys."""
    other: str
    """Why those keys have no effect, for the warning."""
    hint: str
    """The hint when a file of the other mode is wrong."""
    idle: Callable[[C], Mapping[str, str]] = lambda config: {}
    """Returns the keys of a file that have no effect in this mode, with the reason."""


def read_worker(path: Path, mode: Mode[C]) -> C:
    """Return the settings of a worker's file; warns of keys without effect and raises ConfigError for wrong ones."""
    return checked_worker(str(path), load(path), mode, "correct that key in the file")


def checked_worker(place: str, props: Mapping[str, str], mode: Mode[C], naming: str = "correct that key") -> C:
    """Return a worker's settings; ``place`` names where they are given, in warnings and errors.

    ``naming`` is the hint where nothing better is known.
    """
    settings = Resolved(props, props)
    try:
        settings = _looked_up(props, mode.log)
        config = mode.config(settings.config)
        warnings = _warnings(config, mode)
    except ConfigError as error:
        hint = error.hint or _hint(props, mode) or naming
        raise ConfigError(settings.hidden(f"{place}: {error}"), code=error.code, hint=hint) from error
    for warning in warnings:
        mode.log.warning("%s: %s", place, warning)
    withheld = withheld_credentials(os.environ)
    if config.plugin_environment is None and withheld:
        mode.log.info(
            "plugins do not see the environment variables %s; %s passes them on", ", ".join(withheld), PASSED
        )
    return config


def _hint(props: Mapping[str, str], mode: Mode[C]) -> str:
    """Return a hint for settings that lack a key or have a wrong value, empty if there is none."""
    known = mode.config.definition().names
    if any(key.startswith(mode.foreign) for key in props):
        return mode.hint
    unknown = (key for key in mode.config.unknown_among(props) if key not in RULES["admin"])
    slips = [(key, did_you_mean(key, known)) for key in unknown]
    return "; ".join(f"unknown key {key!r}{near}" for key, near in slips if near)


def _looked_up(props: Mapping[str, str], log: logging.Logger) -> Resolved:
    """Return a worker's settings with variables resolved, from providers that are opened only for this."""
    if not any(map(has_variable, props.values())):
        return Resolved(props, props)
    listed = parse_type("plugin.path", props.get("plugin.path"), ConfigType.LIST)
    trust = trust_of(props)  # not from variables: config providers are plugins, too
    catalogue = discover(plugin_path(listed), admit=trust.admit) if PROVIDERS in props else Catalogue([])
    directory = PluginDirectory(lambda: catalogue, user_environments(trust))
    with closing(open_variables(props, directory)) as variables:
        settings = variables.resolve(props)
        for key, left in variables.left(settings):
            log.warning("%s: %s", key, left)
        return settings


def _warnings(config: C, mode: Mode[C]) -> list[str]:
    """Return warnings of unknown keys and of keys without effect."""
    idle = {key: reason for key, reason in IGNORED.items() if key in config.originals}
    found = [f"{key} has no effect: {reason}" for key, reason in {**idle, **mode.idle(config)}.items()]
    known = list(config.definition().names)
    if foreign := [key for key in config.originals if key.startswith(mode.foreign)]:
        found.append(f"{', '.join(foreign)}: {mode.other}")
    for key in config.unknown_keys():
        if key.startswith(_REMOVED):
            found.append(f"{key} has no effect: Kafka Connect 3.0 removed it")
        elif key not in RULES["admin"] and key not in foreign:
            found.append(f"unknown key {key!r} has no effect{did_you_mean(key, known)}")
    found += _idle_providers(config)
    clients = (
        producer_config(config.originals, {}),
        consumer_config(config.originals, {}, "any"),
        client_config(config.originals),
    )
    return found + [warning for client in clients for warning in client.warnings]


def _idle_providers(config: WorkerConfig) -> Iterator[str]:
    """Yield warnings of config providers that are listed without a class, or configured but not listed."""
    listed = config.config_providers
    for name in listed:
        if f"{PROVIDERS}.{name}.class" not in config.originals:
            yield f"{PROVIDERS}: {name!r} has no effect without {PROVIDERS}.{name}.class"
    for key in config.originals:
        _, is_below, below = key.partition(f"{PROVIDERS}.")
        name = below.partition(".")[0]
        if is_below and name not in listed:
            yield f"{key} has no effect: {name!r} is not in {PROVIDERS}{did_you_mean(name, listed)}"


def plugin_path(given: Sequence[str] | None) -> list[Path]:
    """Return where a worker looks for plugins: its plugin.path, else the default directory."""
    if given is not None:
        return split_plugin_path(",".join(given))
    own = default_plugin_path()
    return [own] if own.is_dir() else []
