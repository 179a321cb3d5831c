"""The list of bundles in a directory, ``hearth-index.json``, which lets any web server of files be an index.

Format 1 is one JSON object: ``format``, and ``bundles`` with ``name``, ``version``, ``file`` (a path relative to the
list), ``sha256``, ``plugins`` (class names) and ``requires`` (requirements on ``hearth-api``). A reader refuses a
format it does not know and ignores members it does not know. A list read over https protects every bundle in it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

from packaging.requirements import InvalidRequirement, Requirement

from hearth.discovery.bundle import Bundle
from hearth.discovery.refusal import BundleError
from hearth.discovery.tree import check_path
from hearth.foundation.digest import sha256_of
from hearth.foundation.user_file import replace_text
from hearth.packaging.download import download
from hearth.packaging.index_entry import IndexEntry, api_needs
from hearth_api import ConfigError

INDEX = "hearth-index.json"
FORMAT = 1
MOST_BYTES = 64 << 20
"""Largest list in bytes."""


def write_index(folder: Path, bundles: Iterable[Bundle]) -> Path:
    """Write the list of a directory's bundle files and return its path.

    Equal bundles give equal bytes.
    """
    rows = [_row(folder, each) for each in bundles if each.location.is_file()]
    replace_text(folder / INDEX, json.dumps({"format": FORMAT, "bundles": rows}, indent=1) + "\n")
    return folder / INDEX


def _row(folder: Path, bundle: Bundle) -> dict[str, Any]:
    return {
        "name": bundle.name,
        "version": bundle.version,
        "file": bundle.location.relative_to(folder).as_posix(),
        "sha256": sha256_of(bundle.location),
        "plugins": [each.class_name for each in bundle.declarations],
        "requires": sorted({str(each) for each in api_needs(bundle)}),
    }


def read_index(address: str) -> list[IndexEntry]:
    """Read the list at an address, of the directory or of the list itself; raise ``ConfigError`` if it is invalid."""
    base = address if address.endswith(".json") else f"{address.rstrip('/')}/{INDEX}"
    with tempfile.TemporaryDirectory(prefix="hearth-index-") as folder:
        text = download(base, Path(folder, INDEX), False, MOST_BYTES).read_text(encoding="utf-8", errors="replace")
    try:
        members = json.loads(text)
        if members["format"] == FORMAT:
            return [_entry(base, each) for each in members["bundles"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, InvalidRequirement) as error:
        hint = "name the address of a directory with a list written by `hearth bundle index`"
        raise ConfigError(f"{base} is no list of bundles ({type(error).__name__})", hint=hint) from error
    except BundleError as error:
        raise ConfigError(f"{base}: {error}", hint=error.hint) from error
    raise ConfigError(f"{base} has a format that is not read here", hint="install a newer Hearth")


def _entry(base: str, row: dict[str, Any]) -> IndexEntry:
    name, version, file, sha256 = (row[each] for each in ("name", "version", "file", "sha256"))
    plugins, needs = row["plugins"], [Requirement(each) for each in row["requires"]]
    if not all(isinstance(each, str) for each in (name, version, file, sha256, *plugins)):
        raise ValueError("the fields of a bundle are not strings")
    location = urljoin(base, quote(check_path(file)))
    return IndexEntry(name, version, tuple(plugins), location, lambda: iter(needs), sha256.lower())
