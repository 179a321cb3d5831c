"""Compares two bundles for users: packages, plugins and configuration keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name

from hearth.discovery import Bundle

_SHOWN = ("type", "default_value", "required", "importance")
"""The members of a key's definition that users depend on."""


@dataclass(frozen=True)
class Difference:
    """One difference: kind, name, old and new value; ``None`` where it does not exist."""

    kind: str
    name: str
    before: str | None
    after: str | None


def differences(old: Bundle, new: Bundle) -> list[Difference]:
    """Return the differences between an old and a new bundle."""
    pairs = (
        ("bundle", {old.name: old.version}, {new.name: new.version}),
        (new.kind, _requirement(old), _requirement(new)),
        ("package", _packages(old), _packages(new)),
        ("plugin", _plugins(old), _plugins(new)),
        ("key", _keys(old), _keys(new)),
    )
    return [each for kind, before, after in pairs for each in _compared(kind, before, after)]


def _compared(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield Difference(kind, name, before.get(name), after.get(name))


def _requirement(bundle: Bundle) -> dict[str, str]:
    return {f"Requires-{bundle.kind.capitalize()}": bundle.requires}


def _packages(bundle: Bundle) -> dict[str, str]:
    return {canonicalize_name(part.name): part.version for part in bundle.packages()}


def _plugins(bundle: Bundle) -> dict[str, str]:
    return {f"{each.class_name} ({each.type})": each.version for each in bundle.declarations}


def _keys(bundle: Bundle) -> dict[str, str]:
    """Return the definition of each key as text; empty for plugins without a packed definition."""
    return {
        f"{each.class_name} {key['name']}": _definition_text(key)
        for each in bundle.declarations
        for key in each.definitions or ()
    }


def _definition_text(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.partition('_')[0]} {key.get(name)}" for name in _SHOWN)
