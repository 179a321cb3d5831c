"""The bill of materials of a bundle: CycloneDX 1.6 in JSON, which scanners of licences and weaknesses read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.utils import canonicalize_name

from hearth.packaging.core_metadata import CoreMetadata

BILL_OF_MATERIALS = "sbom.cdx.json"
"""Its name in a bundle."""


def bill_of_materials(root: str, parts: Sequence[CoreMetadata], hashes: Mapping[str, str]) -> str:
    """Return the bill of what a bundle holds; ``root`` is the distribution that declares the plugins.

    ``hashes`` has the SHA-256 of each part by its path. Neither a time nor a number of its own stands in it, so equal
    bundles have equal bills.
    """
    own = canonicalize_name(root)
    components = {canonicalize_name(part.name): _component(part, hashes) for part in parts}
    references: dict[str, str] = {name: component["bom-ref"] for name, component in components.items()}
    main = components.pop(own)
    members = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**main, "type": "application"}},
        "components": list(components.values()),
        "dependencies": [_dependency(part, references) for part in parts],
    }
    return json.dumps(members, indent=1, ensure_ascii=False) + "\n"


def _component(part: CoreMetadata, hashes: Mapping[str, str]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _package_url(part),
        "name": part.name,
        "version": part.version,
        "purl": _package_url(part),
        "hashes": [{"alg": "SHA-256", "content": hashes[part.path]}],
    }
    if part.summary:
        component["description"] = part.summary
    if part.licence:
        named = {"expression": part.licence} if part.has_expression else {"license": {"name": part.licence}}
        component["licenses"] = [named]
    return component


def _dependency(part: CoreMetadata, references: Mapping[str, str]) -> dict[str, Any]:
    """Return what a part needs of what else is there; what the host provides is not."""
    needed = {canonicalize_name(each.name) for each in part.requires}
    found = sorted(references[name] for name in needed & references.keys() - {canonicalize_name(part.name)})
    return {"ref": _package_url(part), "dependsOn": found}


def _package_url(part: CoreMetadata) -> str:
    return f"pkg:pypi/{canonicalize_name(part.name)}@{part.version}"
