"""Plugin descriptions, obtained by running the plugin in a separate process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.discovery.bundle import Bundle
from hearth.discovery.declaration import PluginType
from hearth.foundation.user_file import replace_text
from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage
from hearth_api import UNDEFINED_VERSION, ConnectError
from hearth_execution.failure import RemoteError
from hearth_stage.plugin_call import Describe, Described

SECONDS = 60
"""Longest time a plugin may take to be imported and described."""


@dataclass(frozen=True)
class Description:
    """A plugin's version, its configuration keys (``ConfigKeyInfo`` objects) and the side effects of loading it."""

    version: str
    config: tuple[Mapping[str, Any], ...]
    changes: tuple[str, ...] = ()


def describe(environment: Environment, reference: str, type_: PluginType, name: str) -> Description:
    """Describe a plugin in a separate stage process; raise ``PluginError`` with the plugin's traceback."""
    stage = Stage.start(environment, f"describe {name}")
    try:
        return ask(stage, reference, type_)
    finally:
        stage.close()


def ask(stage: Stage, reference: str, type_: PluginType) -> Description:
    """Describe a plugin in a running stage."""
    answer = stage.call(Describe(reference, type_.value), SECONDS)
    return Description(
        UNDEFINED_VERSION if answer.version is None else answer.version, tuple(answer.config), tuple(answer.changes)
    )


def describe_versions(bundle: Bundle, ask: Callable[[Describe], Described]) -> None:
    """Ask the plugins whose version only they can say, and keep what they answer.

    A plugin that raises has no version. If the process fails, the others are asked the next time.
    """
    found: dict[str, str] = {}
    with contextlib.suppress(ConnectError):
        for each in bundle.undescribed:
            found[each.class_name] = UNDEFINED_VERSION
            with contextlib.suppress(RemoteError):
                found[each.class_name] = ask(Describe(each.reference, each.type.value)).version or UNDEFINED_VERSION
    if found:
        bundle.remember(found)


def keep_versions(bundle: Bundle, environment: Environment) -> None:
    """Ask for such versions in a process of their own; raise ``ConnectError`` if it does not start."""
    if bundle.undescribed:
        with contextlib.closing(Stage.start(environment, f"describe {bundle.name}")) as stage:
            describe_versions(bundle, lambda call: stage.call(call, SECONDS))


class DescriptionStore:
    """Cached descriptions, one file for each environment, plugin and type."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def of(self, environment: Environment, reference: str, type_: PluginType, name: str) -> Description:
        """Return the cached description, or create and cache it in a separate process."""
        path = self._root / environment.key / f"{type_.value}-{reference.replace(':', '-')}.json"
        found = _read(path)
        if found is None:
            found = describe(environment, reference, type_, name)
            replace_text(path, json.dumps({"version": found.version, "config": list(found.config)}))
        return found


def _read(path: Path) -> Description | None:
    """Return a cached description; ``None`` if it is missing or damaged."""
    try:
        members = json.loads(path.read_text(encoding="utf-8"))
        return Description(members["version"], tuple(members["config"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
