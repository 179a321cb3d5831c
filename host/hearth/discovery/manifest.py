"""The manifest of a packed bundle: ``hearth-bundle.json``, written by ``hearth bundle pack``.

Format 1 is one JSON object: ``format``, ``name``, ``version``, ``requires_python``, ``files`` (``path``,
``sha256``, ``size``) and ``plugins`` (``class``, ``type``, ``version``, ``python``, ``config``). A reader
refuses a format it does not know and ignores members it does not know.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hearth.discovery.failure import BundleError
from hearth.discovery.plugin import Declaration, PluginType

MANIFEST = "hearth-bundle.json"
FORMAT = 1


@dataclass(frozen=True)
class PackedFile:
    """A file of a bundle and what it must hash to."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """What a packed bundle says of itself."""

    name: str
    version: str
    requires_python: str
    files: tuple[PackedFile, ...]
    plugins: tuple[Declaration, ...]

    def to_text(self) -> str:
        """Return the file's content; equal manifests give equal bytes."""
        members = {
            "format": FORMAT,
            "name": self.name,
            "version": self.version,
            "requires_python": self.requires_python,
            "files": [vars(file) for file in self.files],
            "plugins": [_plugin_to_json(plugin) for plugin in self.plugins],
        }
        return json.dumps(members, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Read the file's content; raises ``BundleError`` naming what is wrong with it."""
        try:
            members = json.loads(text)
            if members["format"] != FORMAT:
                raise BundleError(
                    f"{MANIFEST} has format {members['format']!r}, this Hearth reads format {FORMAT}",
                    hint="install a newer Hearth, or pack the bundle with this one",
                )
            return cls(
                str(members["name"]),
                str(members["version"]),
                str(members["requires_python"]),
                tuple(PackedFile(file["path"], file["sha256"], file["size"]) for file in members["files"]),
                tuple(_plugin_from_json(plugin) for plugin in members["plugins"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise BundleError(f"{MANIFEST} is malformed ({type(error).__name__}: {error})") from error


def _plugin_to_json(plugin: Declaration) -> dict[str, Any]:
    return {
        "class": plugin.class_name,
        "type": plugin.type.value,
        "version": plugin.version,
        "python": plugin.python,
        "config": None if plugin.definitions is None else list(plugin.definitions),
    }


def _plugin_from_json(members: dict[str, Any]) -> Declaration:
    config = members.get("config")
    return Declaration(
        members["class"],
        PluginType(members["type"]),
        str(members["version"]),
        members["python"],
        None if config is None else tuple(config),
    )
