"""Metadata of distributions, read from their ``.dist-info`` folders without importing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike

import importlib_metadata

from hearth.discovery.failure import BundleError
from hearth.discovery.plugin import TYPE_OF_GROUP, Declaration
from hearth.discovery.tree import Tree

VERSION_GROUP = "hearth.plugin_versions"
"""Entry points ``class name = version`` (``*`` for all) where a plugin differs from its package."""

_PYTHON_PATH = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


class TreeDistribution(importlib_metadata.Distribution):
    """A distribution whose ``.dist-info`` folder lies anywhere in a tree."""

    def __init__(self, tree: Tree, folder: str) -> None:
        self._tree = tree
        self._folder = folder
        self._files = set(tree.children(folder)[0])

    def read_text(self, filename: str) -> str | None:
        """Return a file of the ``.dist-info`` folder, ``None`` when there is no such file."""
        path = f"{self._folder}/{filename}"
        return self._tree.read_text(path) if path in self._files else None

    def locate_file(self, path: str | PathLike[str]) -> importlib_metadata.SimplePath:
        """Refuse: the packages of a tree have no place on this machine yet."""
        raise BundleError(f"{path} is not unpacked")


@dataclass(frozen=True)
class Facts:
    """What the metadata of one distribution says, and which of its entry points make no sense."""

    name: str
    version: str
    requires_python: str
    declarations: tuple[Declaration, ...]
    faults: tuple[str, ...] = field(default=())


def read_facts(tree: Tree, folder: str) -> Facts:
    """Read the distribution whose ``.dist-info`` folder is ``folder``."""
    distribution = TreeDistribution(tree, folder)
    headers = _headers(distribution.read_text("METADATA"))
    name, version = headers.get("name"), headers.get("version")
    if not name or not version:
        raise BundleError(f"{folder} has no METADATA with a name and a version")
    declarations, faults = declared(read_entry_points(distribution, folder), version)
    return Facts(name, version, headers.get("requires-python", ""), tuple(declarations), tuple(faults))


def read_entry_points(
    distribution: importlib_metadata.Distribution, folder: str
) -> Sequence[importlib_metadata.EntryPoint]:
    """Return the entry points of a distribution; raises when their file is malformed."""
    try:
        return tuple(distribution.entry_points)
    except (ValueError, AttributeError, IndexError) as error:
        raise BundleError(f"{folder}/entry_points.txt cannot be read ({error})") from error


def declared(
    entry_points: Iterable[importlib_metadata.EntryPoint], version: str
) -> tuple[list[Declaration], list[str]]:
    """Return the plugins that entry points declare, and a sentence for each one that is malformed."""
    points = list(entry_points)
    versions = {point.name: point.value for point in points if point.group == VERSION_GROUP}
    declarations, faults = [], []
    for point in points:
        type_ = TYPE_OF_GROUP.get(point.group)
        if type_ is None:
            continue
        python = point.value.split("[")[0].replace(" ", "")
        if not _PYTHON_PATH.match(python):
            faults.append(f"entry point {point.name!r} of {point.group} is {point.value!r}, not module:Class")
            continue
        stated = versions.get(point.name, versions.get("*", version))
        declarations.append(Declaration(point.name, type_, stated, python))
    return declarations, faults


def distribution_folders(tree: Tree, folder: str = "") -> list[str]:
    """Return the ``.dist-info`` folders directly in ``folder``."""
    return [path for path in tree.children(folder)[1] if path.endswith(".dist-info")]


def _headers(text: str | None) -> dict[str, str]:
    """Return the headers that come first in METADATA, lower-cased.

    Only the few single-line headers are needed; the mail parser of the standard library takes ten times
    as long.
    """
    headers: dict[str, str] = {}
    for line in (text or "").splitlines():
        if not line:
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), value.strip())
    return headers
