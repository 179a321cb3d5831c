"""Classes that configurations name, and their counterparts here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from hearth_api import ConfigError, Lambda

_JAVA = re.compile(r"(?:io\.confluent\.connect\.[\w.]*[.$])?(\w+)")


def counterpart(name: str, value: str, known: Mapping[str, str], base: str) -> Any:
    """Return the class for a key's value: Confluent's name of it, its last word, or one's own as `module.Class`.

    `known` maps Confluent's simple names to `module:Class`, `base` is the class that one's own derives from, written
    the same way. Raises a `ConfigError` with the nearest names for an unknown class.
    """
    match = _JAVA.fullmatch(value)
    if match and match[1] in known:
        return _loaded(known[match[1]])
    module, _, simple = value.rpartition(".")
    if module and not value.startswith("io.confluent."):
        try:
            found = getattr(import_module(module), simple)
        except (ImportError, AttributeError) as error:
            raise ConfigError(name, value, f"is no class of this bundle: {error}{_nearest(simple, known)}") from error
        if not (isinstance(found, type) and issubclass(found, _loaded(base))):
            raise ConfigError(name, value, f"does not derive from {base.replace(':', '.')}")
        return found
    raise ConfigError(name, value, f"is not known{_nearest(value.rpartition('.')[2], known)}")


def choice(known: Mapping[str, str], base: str) -> Lambda:
    """Return a check that a key's value names a class."""

    def check(name: str, value: Any) -> None:
        if value:
            counterpart(name, str(value), known, base)

    return Lambda(check, f"one of {', '.join(known)}, or a class of one's own")


def _loaded(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def _nearest(word: str, known: Mapping[str, str]) -> str:
    near = get_close_matches(word, known, 2, 0.4) or list(known)
    return f"; did you mean {' or '.join(near)}?"
