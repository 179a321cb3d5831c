"""The class path of a Java bundle: its archives in Java Connect's order, and what must not extend it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hearth.discovery.bundle_limits import MAX_JARS
from hearth.discovery.refusal import BundleError, quoted
from hearth.discovery.tree import Tree

_ARCHIVES = (".jar", ".zip")
_CLASS_PATH = re.compile(r"^Class-Path: *(.*)$", re.MULTILINE | re.IGNORECASE)
_FOLDED = re.compile(r"\r?\n ")
_DRIVE_OR_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_archive(path: str) -> bool:
    """Return whether Java Connect takes a file for an archive, which its name decides."""
    return path.lower().endswith(_ARCHIVES)


def archives_of(location: Path, tree: Tree, top: str) -> list[str]:
    """Return the archives below ``top`` in the order of the class path.

    That is the order of their absolute paths, with links replaced by what they lead to.
    """
    found = [path for path in tree.walk(top) if is_archive(path)]
    if len(found) > MAX_JARS:
        raise BundleError(f"it holds more than {MAX_JARS} Java archives", hint="split it into several bundles")
    if not location.is_dir():
        return sorted(found, key=os.fsencode)
    real = {path: os.path.realpath(location / path) for path in found}
    return sorted(
        {target: path for path, target in reversed(real.items())}.values(), key=lambda path: os.fsencode(real[path])
    )


def refuse_outside(jar: str, manifest: str) -> None:
    """Raise ``BundleError`` if a jar's manifest adds files outside the bundle to the class path."""
    found = _CLASS_PATH.search(_FOLDED.sub("", manifest))
    folder = jar.split("/")[:-1]
    for entry in found[1].split() if found else ():
        depth = len(folder)
        parts = entry.split("/")
        for part in parts:
            depth += -1 if part == ".." else 0 if part in ("", ".") else 1
            if depth < 0 or entry.startswith("/") or _DRIVE_OR_SCHEME.match(entry):
                reason = f"the Class-Path of {jar} names {quoted(entry)}, which is outside the bundle"
                raise BundleError(reason, hint="do not install it, or remove that line from the jar's manifest")
