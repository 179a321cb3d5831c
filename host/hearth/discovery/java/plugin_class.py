"""Decides which classes of a bundle are plugins, as Kafka Connect's scanners do.

A connector, converter, transformation or predicate is a public concrete class with a public constructor without
parameters, below the type's interface. Config providers, REST extensions and override policies also have to be
named in a service manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hearth.discovery.declaration import PluginType
from hearth.discovery.java.class_file import ClassHeader
from hearth.discovery.java.connect_class import INTERFACES
from hearth.discovery.java.java_archive import SERVICES
from hearth.discovery.refusal import quoted

_NAME = re.compile(r"[^\W\d][\w$]*(\.[^\W\d][\w$]*)*|[$\w.]+")


class Service(NamedTuple):
    """One line of a service manifest: a type, and the class that provides it."""

    type: PluginType
    class_name: str


def services_in(name: str, text: str) -> Iterator[Service | str]:
    """Yield what a service manifest names for Connect, and a message for each malformed line."""
    type_ = INTERFACES.get(name[len(SERVICES) :])
    if type_ is None:
        return
    for line in text.splitlines():
        named = line.partition("#")[0].strip()
        if named and _NAME.fullmatch(named):
            yield Service(type_, named)
        elif named:
            yield f"{name} names {quoted(named)}, which is no class"


def types_of(
    classes: Mapping[str, ClassHeader], known: Mapping[str, Iterable[PluginType]]
) -> dict[str, set[PluginType]]:
    """Return the plugin types of each class that is below a class with known types.

    Each class is visited once for each type, so that a hierarchy which contains itself ends, too.
    """
    below: dict[str, list[str]] = {}
    for name, header in classes.items():
        for parent in header.parents:
            below.setdefault(parent, []).append(name)
    found: dict[str, set[PluginType]] = {}
    for name, types in known.items():
        for type_ in types:
            _mark(name.replace(".", "/"), type_, below, found)
    return found


def _mark(root: str, type_: PluginType, below: Mapping[str, Sequence[str]], found: dict[str, set[PluginType]]) -> None:
    """Give a type to everything below a class."""
    waiting = [root]
    while waiting:
        for name in below.get(waiting.pop(), ()):
            types = found.setdefault(name, set())
            if type_ not in types:
                types.add(type_)
                waiting.append(name)
