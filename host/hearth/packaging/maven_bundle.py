"""Packs a Maven artifact as a bundle: its jars under the names and coordinates of their repository."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.discovery.bundle import Bundle
from hearth.discovery.catalogue import read
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.declaration import is_name
from hearth.discovery.java.hub_manifest import HubManifest
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.java.java_package import maven_url
from hearth.discovery.refusal import BundleError, Rejected
from hearth.maven.ivy import Coordinates
from hearth.packaging.java_pack import write_java

Files = Sequence[tuple[Coordinates, Path]]
"""The file of an artifact, followed by those that it needs."""
Licences = Callable[[Sequence[Coordinates]], Mapping[Coordinates, Sequence[str]]]
_LIBRARIES = "lib"


def maven_bundle(files: Files, folder: Path, licences: Licences) -> Path:
    """Write a zip file into a folder with the jars of an artifact; raise ``BundleError`` if none has a plugin.

    ``licences`` returns those of artifacts whose jars do not state any.
    """
    wanted, main = files[0]
    found = read(main if wanted.ending != "jar" else _gathered(files, folder / wanted.artifact))
    if not isinstance(found, JavaBundle):
        reason, hint = (found.reason, found.hint) if isinstance(found, Rejected) else ("it is no bundle", "")
        raise BundleError(f"{wanted}: {reason}", hint=hint)
    parts = _licensed(list(_parts(found, files)), licences)
    main_url = _url(wanted)
    own = next((each for each in parts if each.purl == main_url), None)
    own = own or _licensed([_alone(wanted)], licences)[0]
    hub = found.hub or HubManifest(wanted.artifact, wanted.version, "", wanted.group, own.licence)
    return write_java(found, folder, hub, own, parts)


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


def _licensed(parts: Sequence[CoreMetadata], licences: Licences) -> list[CoreMetadata]:
    """Return the parts with the licences of their poms where their jars state none."""
    silent = {each.purl: Coordinates.parse(f"{each.name}:{each.version}") for each in parts if _is_silent(each)}
    found = licences([*silent.values()]) if silent else {}
    named = {url: " AND ".join(filter(is_name, found.get(one, ()))) for url, one in silent.items()}
    return [replace(each, licence=each.licence or named.get(each.purl, "")) for each in parts]


def _is_silent(part: CoreMetadata) -> bool:
    return not part.licence and part.purl.startswith("pkg:maven/")


def _alone(one: Coordinates) -> CoreMetadata:
    return CoreMetadata("", f"{one.group}:{one.artifact}", one.version, purl=_url(one))


def _url(one: Coordinates) -> str:
    return maven_url(one.group, one.artifact, one.version)
