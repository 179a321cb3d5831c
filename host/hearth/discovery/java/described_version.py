"""The versions that a bundle's plugins return from ``version()``, which only a JVM can say.

A stage asks each plugin once; what it answers is kept under the hash of the bundle's files.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from hearth.discovery.declaration import is_name
from hearth.foundation.user_file import cache_directory, replace_text
from hearth_api import UNDEFINED_VERSION


def versions_of(key: str) -> dict[str, str]:
    """Return the versions by class name that were kept for a bundle's key; empty before it was described."""
    try:
        found = json.loads(_place(key).read_text(encoding="utf-8"))
        return {str(name): version for name, version in found.items() if isinstance(version, str) and is_name(version)}
    except (OSError, ValueError, AttributeError):
        return {}


def remember_versions(key: str, versions: Mapping[str, str]) -> None:
    """Keep the versions by class name that a bundle's plugins returned, with those that are known already."""
    shown = {name: version if is_name(version) else UNDEFINED_VERSION for name, version in versions.items()}
    with contextlib.suppress(OSError):
        replace_text(_place(key), json.dumps(versions_of(key) | shown))


def _place(key: str) -> Path:
    return cache_directory("java-bundles", f"{key}.versions.json")
