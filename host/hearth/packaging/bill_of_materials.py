"""The bill of materials of a bundle: CycloneDX 1.6 in JSON, for licence and vulnerability scanners."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from packaging.utils import canonicalize_name

from hearth.discovery.core_metadata import CoreMetadata


def bill_of_materials(own: CoreMetadata, parts: Sequence[CoreMetadata], hashes: Mapping[str, str]) -> str:
    """Return the bill of materials of a bundle; ``own`` is what declares the plugins, one of the parts or all of them.

    ``hashes`` maps the path of each part to its SHA-256. The result has no timestamp or serial number, so equal
    bundles have equal bills.
    """
    references = _references(parts if own in parts else [own, *parts])
    members = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(own, references, hashes), "type": "application"}},
        "components": [_component(part, references, hashes) for part in parts if part is not own],
        "dependencies": [_dependency(part, parts, references) for part in parts],
    }
    return json.dumps(members, indent=1, ensure_ascii=False) + "\n"


def _references(parts: Sequence[CoreMetadata]) -> dict[str, str]:
    """Map each part's path to its reference: a package URL, with the file name if a package has several files."""
    urls = [part.purl or f"pkg:pypi/{canonicalize_name(part.name)}@{part.version}" for part in parts]
    files = [part.path.rpartition("/")[2] for part in parts]
    return {
        part.path: url if urls.count(url) == 1 else f"{url}?file_name={quote(file)}"
        for part, url, file in zip(parts, urls, files)
    }


def _component(part: CoreMetadata, references: Mapping[str, str], hashes: Mapping[str, str]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": references[part.path],
        "name": part.name,
        "version": part.version,
        "purl": references[part.path],
    }
    if part.path in hashes:
        component["hashes"] = [{"alg": "SHA-256", "content": hashes[part.path]}]
    if part.summary:
        component["description"] = part.summary
    if part.licence:
        named = {"expression": part.licence} if part.has_expression else {"license": {"name": part.licence}}
        component["licenses"] = [named]
    return component


def _dependency(part: CoreMetadata, parts: Sequence[CoreMetadata], references: Mapping[str, str]) -> dict[str, Any]:
    """Return a part's dependencies within the bundle; packages that the host provides are not in it."""
    needed = {canonicalize_name(each.name) for each in part.requires} - {canonicalize_name(part.name)}
    found = sorted(references[each.path] for each in parts if canonicalize_name(each.name) in needed)
    return {"ref": references[part.path], "dependsOn": found}
