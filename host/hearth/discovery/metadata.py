"""Reads metadata of distributions from ``.dist-info`` folders without importing the packages."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from hearth.discovery.bundle_limits import MAX_NAME, MAX_PLUGINS
from hearth.discovery.declaration import TYPE_OF_GROUP, Declaration
from hearth.discovery.refusal import REPACK, BundleError, quoted
from hearth.discovery.tree import Tree
from hearth.foundation.nearest import did_you_mean
from hearth_stage.preload import PRELOADS

VERSION_GROUP = "hearth.plugin_versions"
"""Group of entry points ``version = package`` for plugins whose version differs from their distribution's.

The value may also be a module or ``module:Class``; the longest match of a plugin's reference is used.
"""

_OURS = "hearth."
"""Prefix of all group names; an unknown group with this prefix is reported as a mistake."""
_FILES = ("METADATA", "entry_points.txt")
_INSTALLED = (".dist-info", ".egg-info")
"""Suffixes of folders with the metadata of installed distributions."""
_EGG = ".egg"
_OURS_IN_BRACKETS = "[hearth"
_ORIGIN = "direct_url.json"
_EDITABLE = re.compile(r'"editable"\s*:\s*true')
_HOST = re.compile(r"(^|/)hearth_connect-[^/]*$")
_REQUIRED = re.compile(r"^Requires-Dist: *([A-Za-z0-9._-]+)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_SPECIFIERS = re.compile(r"[A-Za-z0-9.,!+*_=<>~ -]*")


class EntryPoint(NamedTuple):
    """One line of ``entry_points.txt``."""

    group: str
    name: str
    value: str


@dataclass(frozen=True, eq=False)
class Facts:
    """The metadata of one distribution, and the errors in its entry points."""

    name: str
    version: str
    requires_python: str
    declarations: tuple[Declaration, ...]
    faults: tuple[str, ...] = ()
    wheel: str = ""
    """Path of the wheel in the bundle, empty for unpacked packages."""


def read_facts(tree: Tree, folder: str, wheel: str = "") -> Facts:
    """Read the distribution whose ``.dist-info`` folder is ``folder``, in a wheel or next to its packages."""
    files = tree.children(folder)[0]
    texts = {name: tree.read_text(f"{folder}/{name}") for name in _FILES if f"{folder}/{name}" in files}
    headers = _headers(texts.get("METADATA", ""))
    name, version = headers.get("name"), headers.get("version")
    if not name or not version:
        raise BundleError(f"{folder} has no METADATA with a name and a version")
    requires_python = headers.get("requires-python", "")
    check_identity(name, version, requires_python)
    declarations, faults = declared(texts.get("entry_points.txt", ""), version)
    if declarations and f"{folder}/{_ORIGIN}" in files and _EDITABLE.search(tree.read_text(f"{folder}/{_ORIGIN}")):
        declarations, faults = [], ["it is installed as editable, so its code is elsewhere: install it without -e"]
    return Facts(name, version, requires_python, tuple(declarations), tuple(faults), wheel)


def check_identity(name: str, version: str, requires_python: str) -> None:
    """Raise unless a distribution's name, version and Python requirement are valid, because they are passed to uv."""
    for text, pattern, what in (
        (name, _NAME, "name"),
        (version, _VERSION, "version"),
        (requires_python, _SPECIFIERS, "Requires-Python"),
    ):
        if len(text) > MAX_NAME or not pattern.fullmatch(text):
            raise BundleError(f"its {what} is {quoted(text)}, which is not valid", hint=REPACK)


def declared(entry_points: str, version: str) -> tuple[list[Declaration], list[str]]:
    """Return the plugins that the text of ``entry_points.txt`` declares, and a message for each malformed one."""
    ours = (point for point in parse_entry_points(entry_points) if point.group.startswith(_OURS))
    points = list(islice(ours, MAX_PLUGINS + 1))
    if len(points) > MAX_PLUGINS:
        raise too_many_plugins()
    versions = {point.value: point.name for point in points if point.group == VERSION_GROUP}
    declarations, faults = [], []
    for point in points:
        if point.group in (VERSION_GROUP, PRELOADS):
            continue
        if point.group not in TYPE_OF_GROUP:
            near = did_you_mean(point.group, TYPE_OF_GROUP)
            faults.append(f"entry point {quoted(point.name)} is of {quoted(point.group)}, no group of Hearth{near}")
            continue
        reference = point.value.split("[")[0].replace(" ", "")[: MAX_NAME + 1]  # a longer one is invalid anyway
        own = _version_of(reference, versions, version)
        found = Declaration(point.name, TYPE_OF_GROUP[point.group], own, reference)
        fault = found.fault()
        if fault is None:
            declarations.append(found)
        else:
            faults.append(f"entry point {quoted(point.name)} of {point.group} {fault}")
    return declarations, faults


def too_many_plugins() -> BundleError:
    """Return the error for a bundle that declares too many plugins."""
    return BundleError(f"it declares more than {MAX_PLUGINS} plugins", hint="split it into several bundles")


def parse_entry_points(text: str) -> Iterator[EntryPoint]:
    """Yield the entry points in the text of ``entry_points.txt``.

    ``importlib.metadata`` is not used: it imports the e-mail parser and differs between Python versions.
    """
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and line[0] not in "#;":
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.strip())


@lru_cache(maxsize=1)
def distributions_here() -> tuple[tuple[str, str], ...]:
    """Return version and entry points of each distribution on the host's ``sys.path`` that declares plugins.

    They are read once because they are loaded once. Directories are read here, without the e-mail parser; archives
    and eggs are left to ``importlib_metadata``.
    """
    found: list[tuple[str, str]] = []
    for entry in dict.fromkeys(each or os.curdir for each in sys.path):
        if entry.endswith(_EGG) or not os.path.isdir(entry):
            found += _in_archive(entry)
            continue
        with contextlib.suppress(OSError):
            names = sorted(name for name in os.listdir(entry) if name.endswith(_INSTALLED))
            found += [own for name in names if (own := _declaring(os.path.join(entry, name))) is not None]
    return tuple(found)


def _in_archive(entry: str) -> list[tuple[str, str]]:
    """Return version and entry points from an archive or egg on ``sys.path``; most such entries do not exist."""
    if not os.path.exists(entry):
        return []
    import importlib_metadata  # needed only for packages in archives

    distributions = importlib_metadata.distributions(path=[entry])
    found = ((each, each.read_text("entry_points.txt") or "") for each in distributions)
    return [(each.version, points) for each, points in found if _OURS_IN_BRACKETS in points]


def _declaring(folder: str) -> tuple[str, str] | None:
    """Return version and entry points from a metadata folder, if any declares a plugin."""
    points = _text_at(folder, "entry_points.txt")
    if _OURS_IN_BRACKETS not in points:
        return None
    headers = _headers(_text_at(folder, "METADATA") or _text_at(folder, "PKG-INFO"))
    return headers.get("version", ""), points


def _text_at(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def distribution_folders(tree: Tree, folder: str = "") -> list[str]:
    """Return the ``.dist-info`` folders directly in ``folder``."""
    return [path for path in tree.children(folder)[1] if path.endswith(".dist-info")]


def without_host(tree: Tree, folders: list[str]) -> list[str]:
    """Drop the ``.dist-info`` folders of a host and its requirements.

    A plugin author may have installed Hearth in the same virtual environment.
    """
    host = next(filter(_HOST.search, folders), None)
    if host is None:
        return folders
    names = {each.replace("-", "_") for each in _REQUIRED.findall(tree.read_text(f"{host}/METADATA"))}
    return [each for each in folders if each != host and each.rpartition("/")[2].partition("-")[0] not in names]


def _version_of(reference: str, versions: dict[str, str], version: str) -> str:
    """Return the version declared for a plugin, its module or a parent package, else ``version``."""
    while reference:
        if reference in versions:
            return versions[reference]
        reference = reference.rpartition(":" if ":" in reference else ".")[0]
    return version


def _headers(text: str) -> dict[str, str]:
    """Return the headers at the start of METADATA, lower-cased.

    Only single-line headers are needed; the e-mail parser of the standard library takes ten times as long.
    """
    headers: dict[str, str] = {}
    for line in text.splitlines():
        if not line:
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), value.strip())
    return headers
