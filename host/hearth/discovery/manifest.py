"""The manifest of a packed bundle: ``hearth-bundle.json``, written by ``hearth bundle pack``.

Format 1 is one JSON object: ``format``, ``name``, ``version``, ``requires_python``, ``files`` (``path``,
``sha256``, ``size``) and ``plugins`` (``class``, ``type``, ``version``, ``reference``, ``config``). Java's jars say
themselves which plugins they have, so their manifest has ``kind`` and ``files`` instead of ``requires_python`` and
``plugins``. A reader refuses a format it does not know and ignores members it does not know.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from hearth.discovery.bundle_limits import MAX_FILES, MAX_PLUGINS
from hearth.discovery.declaration import Declaration, PluginType, is_name
from hearth.discovery.metadata import check_identity, too_many_plugins
from hearth.discovery.refusal import COPY_AGAIN, BundleError, quoted
from hearth.discovery.tree import Tree, check_path, is_text, too_many_files
from hearth_api import ConfigType, Importance, Width

NoneType = type(None)
Choice = TypeVar("Choice", bound=Enum)

MANIFEST = "hearth-bundle.json"
SIGNATURE = "hearth-signature.json"
"""The file of signatures in a bundle, which the manifest does not list."""
BILL_OF_MATERIALS = "sbom.cdx.json"
FORMAT = 1
PYTHON, JAVA = "python", "java"
"""Kinds of plugins; a manifest without ``kind`` is one of Python packages."""


@dataclass(frozen=True)
class PackedFile:
    """A file of a bundle and its expected hash."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """The manifest of a packed bundle."""

    name: str
    version: str
    requires_python: str
    files: tuple[PackedFile, ...]
    plugins: tuple[Declaration, ...]
    kind: str = PYTHON

    def to_text(self) -> str:
        """Serialise the manifest; equal manifests give equal bytes."""
        members: dict[str, Any] = {"format": FORMAT, "name": self.name, "version": self.version}
        members |= {"requires_python": self.requires_python} if self.kind == PYTHON else {"kind": self.kind}
        members["files"] = [vars(file) for file in self.files]
        if self.kind == PYTHON:
            members["plugins"] = [_plugin_to_json(plugin) for plugin in self.plugins]
        return json.dumps(members, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Parse the file's content; raise ``BundleError`` that names the error."""
        members = _parsed(text)
        if member(members, "format", int) != FORMAT:
            raise BundleError(
                f"{MANIFEST} has format {quoted(members['format'])}, this Hearth reads format {FORMAT}",
                hint="install a newer Hearth, or pack the bundle with this one",
            )
        name, version, files = (member(members, each, kind) for each, kind in _MEMBERS.items())
        if len(files) > MAX_FILES:
            raise too_many_files()
        packed = tuple(_file_from_json(each) for each in files)
        kind = member(members, "kind", str) if "kind" in members else PYTHON
        if kind != PYTHON:
            if not is_name(name) or not is_name(version):
                raise _malformed(f"its name and version are {quoted(name)} and {quoted(version)}")
            return cls(name, version, "", packed, (), kind)
        requires_python = member(members, "requires_python", str)
        check_identity(name, version, requires_python)
        plugins = member(members, "plugins", list)
        if len(plugins) > MAX_PLUGINS:
            raise too_many_plugins()
        return cls(name, version, requires_python, packed, tuple(_plugin_from_json(each) for each in plugins))

    def check_presence(self, tree: Tree, top: str) -> None:
        """Raise ``BundleError`` if a file is not in the tree."""
        present = set(tree.walk(top))
        missing = [file.path for file in self.files if f"{top}/{file.path}".lstrip("/") not in present]
        if missing:
            raise BundleError(f"{missing[0]} is listed in {MANIFEST} but missing", hint=COPY_AGAIN)

    @property
    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file by path."""
        return {file.path: file.sha256 for file in self.files}


def _plugin_to_json(plugin: Declaration) -> dict[str, Any]:
    return {
        "class": plugin.class_name,
        "type": plugin.type.value,
        "version": plugin.version,
        "reference": plugin.reference,
        "config": None if plugin.definitions is None else list(plugin.definitions),
    }


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise _malformed("it is nested too deep") from None
    except ValueError as error:
        raise _malformed(f"{type(error).__name__}: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def member(members: object, name: str, *kinds: type) -> Any:
    """Return a required member of an object, checked to be of one of the given types.

    Every value of a manifest is read through this function, so that callers need no further checks.
    """
    if not isinstance(members, dict):
        raise _malformed(f"expected an object with {name!r}, found {quoted(members)}")
    if name not in members:
        raise _malformed(f"{name!r} is missing")
    value = members[name]
    if type(value) not in kinds:
        raise _malformed(f"{name!r} is {quoted(value)}")
    if isinstance(value, str) and not is_text(value):
        raise _malformed(f"{name!r} is {quoted(value)}, which is not valid text")
    return value


def _malformed(reason: str) -> BundleError:
    return BundleError(f"{MANIFEST} is malformed ({reason})")


def _file_from_json(members: object) -> PackedFile:
    path, size = member(members, "path", str), member(members, "size", int)
    return PackedFile(check_path(path), member(members, "sha256", str), size)


def _plugin_from_json(members: object) -> Declaration:
    config = member(members, "config", list, NoneType)
    found = Declaration(
        member(members, "class", str),
        _choice(members, "type", PluginType),
        member(members, "version", str),
        member(members, "reference", str),
        None if config is None else tuple(_key_from_json(each) for each in config),
    )
    if fault := found.fault():
        raise _malformed(f"the plugin {quoted(found.class_name)} {fault}")
    return found


def _key_from_json(members: object) -> dict[str, Any]:
    """Return the definition of a configuration key: a ``ConfigKeyInfo`` of Kafka Connect's REST API."""
    found = {name: member(members, name, *kinds) for name, kinds in _KEY.items()}
    for name, choices in _CHOICES.items():
        _choice(found, name, choices)
    if not all(type(each) is str and is_text(each) for each in found["dependents"]):
        raise _malformed("'dependents' holds values that are not names")
    return found


def _choice(members: object, name: str, choices: type[Choice]) -> Choice:
    value = member(members, name, str)
    try:
        return choices(value)
    except ValueError:
        raise _malformed(f"{name!r} is {quoted(value)}") from None


_MEMBERS: dict[str, type] = {"name": str, "version": str, "files": list}
_KEY: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "type": (str,),
    "required": (bool,),
    "default_value": (str, NoneType),
    "importance": (str,),
    "documentation": (str, NoneType),
    "group": (str, NoneType),
    "order_in_group": (int,),
    "width": (str,),
    "display_name": (str, NoneType),
    "dependents": (list,),
}
_CHOICES: dict[str, type[Enum]] = {"type": ConfigType, "importance": Importance, "width": Width}
