"""Reproducible zip files: equal content gives equal bytes."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from hearth.discovery.bundle import Bundle
from hearth.discovery.manifest import MANIFEST
from hearth.discovery.tree import Source, blocks

_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest date that a zip file can store."""

Member = tuple[str, Callable[[], Source]]
"""A name in the archive and a function that opens its content."""


def write_zip(target: Path, members: Iterable[Member]) -> None:
    """Write the members to a zip file in order."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, opened in members:
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            with contextlib.closing(opened()) as source, archive.open(entry, "w") as packed:
                for block in blocks(source):
                    packed.write(block)


def zip_bundle(bundle: Bundle, target: Path, more: Mapping[str, Callable[[], Source]] | None = None) -> None:
    """Write a bundle of any format as a zip file: its manifest first, if any, then its files by name.

    ``more`` are files to add or replace.
    """
    with bundle.opener() as tree:
        top = f"{bundle.top}/" if bundle.top else ""
        members: dict[str, Callable[[], Source]] = {
            path[len(top) :]: partial(tree.open, path) for path in tree.walk(bundle.top)
        }
        members.update(more or {})
        write_zip(target, sorted(members.items(), key=lambda each: (each[0] != MANIFEST, each[0])))
