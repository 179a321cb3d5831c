"""The ``manifest.json`` of a Confluent Hub archive: title, owner and licence; it names no classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.discovery.declaration import is_name
from hearth.discovery.refusal import BundleError

HUB_MANIFEST = "manifest.json"
_HINT = "download the archive again"


@dataclass(frozen=True)
class HubManifest:
    """What a Confluent Hub archive says about itself; texts may be empty except for name and version."""

    name: str
    version: str
    title: str
    owner: str
    licence: str


def read_hub_manifest(text: str) -> HubManifest:
    """Read the file's content; raise ``BundleError`` for one without a valid name and version."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        raise BundleError(f"{HUB_MANIFEST} is not JSON", hint=_HINT) from None
    if not isinstance(members, dict):
        raise BundleError(f"{HUB_MANIFEST} is no object", hint=_HINT)
    name, version = _line(members, "name"), _line(members, "version")
    if not name or not version:
        raise BundleError(f"{HUB_MANIFEST} has no valid name and version", hint=_HINT)
    owner = members.get("owner")
    licences = members.get("license")
    named = (_line(each, "name") for each in (licences if isinstance(licences, list) else ()))
    return HubManifest(name, version, _line(members, "title"), _line(owner, "name"), " AND ".join(filter(None, named)))


def hub_manifest_text(manifest: HubManifest) -> str:
    """Return the file's content for a bundle that has none of its own."""
    members = {
        "name": manifest.name,
        "version": manifest.version,
        "title": manifest.title,
        "owner": {"name": manifest.owner},
        "license": [{"name": manifest.licence}] if manifest.licence else [],
    }
    return json.dumps(members, indent=1) + "\n"


def _line(members: object, name: str) -> str:
    """Return a member that can be shown on one line, else an empty string."""
    value: Any = members.get(name) if isinstance(members, Mapping) else None
    return value.strip() if isinstance(value, str) and is_name(value.strip()) else ""
