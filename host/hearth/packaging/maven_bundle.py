"""Makes a bundle of a Maven artifact: its jars, a manifest with name and version, and a bill of materials."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.discovery.bundle import Bundle, hash_of
from hearth.discovery.catalogue import read
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.java.hub_manifest import HUB_MANIFEST, HubManifest, hub_manifest_text
from hearth.discovery.java.java_package import maven_url
from hearth.discovery.refusal import BundleError, Rejected
from hearth.discovery.tree import Source
from hearth.maven.ivy import Coordinates
from hearth.packaging.bill_of_materials import BILL_OF_MATERIALS, bill_of_materials
from hearth.packaging.zip_file import zip_bundle

Files = Sequence[tuple[Coordinates, Path]]
"""The file of an artifact, followed by those that it needs."""
_LIBRARIES = "lib"


def maven_bundle(files: Files, folder: Path) -> Path:
    """Write a zip file into a folder with the jars of an artifact; raise ``BundleError`` if none has a plugin.

    The manifest has the form of Confluent Hub's, so every reader of those knows name, version and licence.
    """
    wanted, main = files[0]
    found = read(main if wanted.ending != "jar" else _gathered(files, folder / wanted.artifact))
    if not isinstance(found, Bundle):
        reason, hint = (found.reason, found.hint) if isinstance(found, Rejected) else ("it is no bundle", "")
        raise BundleError(f"{wanted}: {reason}", hint=hint)
    parts = list(_parts(found, files))
    own = next((each for each in parts if each.purl == _url(wanted)), _alone(wanted))
    hub = HubManifest(wanted.artifact, wanted.version, "", wanted.group, own.licence)
    with found.opener() as tree:
        hashes = {each.path: hash_of(tree, f"{found.top}/{each.path}".lstrip("/")) for each in parts}
    texts = {HUB_MANIFEST: hub_manifest_text(hub), BILL_OF_MATERIALS: bill_of_materials(own, parts, hashes)}
    target = folder / f"{wanted.artifact}-{wanted.version}.zip"
    zip_bundle(found, target, {name: _opener(text) for name, text in texts.items()})
    return target


def _opener(text: str) -> Callable[[], Source]:
    return lambda: io.BytesIO(text.encode())


def _gathered(files: Files, folder: Path) -> Path:
    """Return a directory with all jars, under the names that their repository gives them."""
    (folder / _LIBRARIES).mkdir(parents=True)
    for coordinates, file in files:
        shutil.copyfile(file, folder / _LIBRARIES / coordinates.file_name)
    return folder


def _parts(bundle: Bundle, files: Files) -> Iterator[CoreMetadata]:
    """Yield the jars of a bundle, with the coordinates by which they were fetched if they were."""
    known = {f"{_LIBRARIES}/{each.file_name}": each for each, _ in files}
    for part in bundle.packages():
        one = known.get(part.path)
        yield part if one is None else replace(_alone(one), path=part.path, licence=part.licence)


def _alone(one: Coordinates) -> CoreMetadata:
    return CoreMetadata("", f"{one.group}:{one.artifact}", one.version, purl=_url(one))


def _url(one: Coordinates) -> str:
    return maven_url(one.group, one.artifact, one.version)
