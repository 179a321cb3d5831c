"""Core metadata of the distributions in a bundle: name, licence and requirements from METADATA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement

from hearth.discovery.tree import Tree

_CLASSIFIER = "License ::"
_SHORT = 100
"""Longest licence name; some packages put the whole text of their licence in that field."""


@dataclass(frozen=True)
class CoreMetadata:
    """The metadata of one distribution that bundle checks use."""

    path: str
    """Path in the bundle of the wheel or ``.dist-info`` folder that it was read from."""
    name: str
    version: str
    summary: str = ""
    licence: str = ""
    """The SPDX expression if there is one, else the licence's name; empty if none is stated."""
    has_expression: bool = False
    requires: tuple[Requirement, ...] = ()
    purl: str = ""
    """Its package URL; empty for a package of PyPI, whose name and version make it."""


def read_metadata(tree: Tree, folder: str, path: str) -> CoreMetadata:
    """Read METADATA in a ``.dist-info`` folder of a tree; ``path`` is the distribution's path in the bundle."""
    found, _ = parse_email(tree.read_text(f"{folder}/METADATA"))
    expression = found.get("license_expression", "")
    return CoreMetadata(
        path,
        found.get("name", ""),
        found.get("version", ""),
        found.get("summary", ""),
        expression or _named(found.get("license", ""), found.get("classifiers", [])),
        bool(expression),
        tuple(_requirements(found.get("requires_dist", []))),
    )


def _named(text: str, classifiers: list[str]) -> str:
    """Return the licence from the fields that precede SPDX expressions."""
    first = text.strip().partition("\n")[0]
    if first and first == text.strip() and len(first) <= _SHORT:
        return first
    return " AND ".join(each.rpartition("::")[2].strip() for each in classifiers if each.startswith(_CLASSIFIER))


def _requirements(texts: list[str]) -> Iterator[Requirement]:
    for text in texts:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue
