"""Checks that a bundle is as packed: it can be read and every file matches its manifest."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from hearth.discovery import Bundle, Rejected, read
from hearth.discovery.refusal import COPY_AGAIN, BundleError
from hearth.discovery.tree import blocks


def usable(location: Path) -> Bundle:
    """Return the bundle at a location; raise ``BundleError`` with the reason if it is not as packed."""
    found = read(location)
    if isinstance(found, Rejected):
        raise BundleError(f"{location}: {found.reason}", hint=found.hint)
    assert found is not None, "a named location is read or rejected"
    if found.faults and not found.tolerates_faults:
        raise BundleError(f"{location}: {'; '.join(found.faults)}")
    for path in altered_files(found):
        raise BundleError(f"{location}: {path} is not the file that was packed", hint=COPY_AGAIN)
    return found


def altered_files(bundle: Bundle) -> Iterator[str]:
    """Yield the files that do not match the manifest; nothing without a manifest."""
    with bundle.opener() as tree:
        for path, wanted in (bundle.hashes or {}).items():
            digest = hashlib.sha256()
            with contextlib.closing(tree.open(f"{bundle.top}/{path}".lstrip("/"))) as file:
                for block in blocks(file):
                    digest.update(block)
            if digest.hexdigest() != wanted:
                yield path
