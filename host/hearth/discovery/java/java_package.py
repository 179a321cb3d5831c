"""The Maven coordinates and the licence of a jar, from what Maven and others put into it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

from hearth.discovery.bundle_limits import MAX_TEXT
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.declaration import is_name
from hearth.discovery.java.java_archive import MANIFEST_FILE, ClassRoot
from hearth.discovery.refusal import REPACK, BundleError

_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_FILE = re.compile(r"(?P<name>.+?)-(?P<version>\d[^/]*)")
_LICENCE = re.compile(r"^Bundle-License: *([^;,\r\n]+)", re.MULTILINE)
_FOLDED = re.compile(r"\r?\n ")


def maven_url(group: str, artifact: str, version: str) -> str:
    """Return the package URL of a Maven artifact."""
    return f"pkg:maven/{group}/{artifact}@{version}"


def package_of(root: ClassRoot) -> CoreMetadata:
    """Return the coordinates of a jar; without its own ``pom.properties``, what its file name says.

    A jar with several is made of other projects' jars, so none of them is its own.
    """
    poms = [name for name in root.names if _POM.fullmatch(name)]
    found = properties_in(root.read(poms[0], MAX_TEXT).decode("latin-1")) if len(poms) == 1 else {}
    group, artifact, version = (found.get(each, "") for each in ("groupId", "artifactId", "version"))
    licence = " AND ".join(_licences(root, poms[0].replace(".properties", ".xml") if len(poms) == 1 else ""))
    if all(map(is_name, (group, artifact, version))):
        url = maven_url(group, artifact, version)
        return CoreMetadata(root.path, f"{group}:{artifact}", version, licence=licence, purl=url)
    stem = root.path.rpartition("/")[2].rpartition(".")[0]
    named = _FILE.fullmatch(stem)
    name, version = (named["name"], named["version"]) if named else (stem, "")
    url = f"pkg:generic/{quote(name)}" + (f"@{quote(version)}" if version else "")
    return CoreMetadata(root.path, name, version, licence=licence, purl=url)


def packages_in(bill: str) -> dict[str, CoreMetadata]:
    """Return the packages in a bill of materials by the SHA-256 of their files; raise ``BundleError`` for another."""
    found = {}
    try:
        members = json.loads(bill)
        subject = members.get("metadata", {}).get("component", {})
        for each in [subject, *members.get("components", ())]:
            licence = " AND ".join(one["license"]["name"] for one in each.get("licenses", ()))
            for one in each.get("hashes", ()):
                name, version, purl = (str(each[member]) for member in ("name", "version", "purl"))
                found[str(one["content"])] = CoreMetadata("", name, version, licence=licence, purl=purl)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(f"its bill of materials is malformed ({type(error).__name__})", hint=REPACK) from error
    return found


def _licences(root: ClassRoot, pom: str) -> Iterator[str]:
    """Yield the licences that the project's pom names, else the one of the jar's manifest."""
    text = root.read(pom, MAX_TEXT).decode("utf-8", "replace") if pom in root.names else ""
    listed = text.partition("<licenses>")[2].partition("</licenses>")[0]
    names = [each.partition("<name>")[2].partition("</name>")[0] for each in listed.split("<license>")[1:]]
    shown = [name for name in (unescape(each).strip() for each in names) if is_name(name)]
    if not shown and MANIFEST_FILE in root.names:
        manifest = _FOLDED.sub("", root.read(MANIFEST_FILE, MAX_TEXT).decode("utf-8", "replace"))
        shown = [name for name in (each.strip().strip('"') for each in _LICENCE.findall(manifest)) if is_name(name)]
    yield from dict.fromkeys(shown)


def properties_in(text: str) -> dict[str, str]:
    """Return the settings of a small properties file."""
    rows = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in rows}
