"""The Maven coordinates of a jar, from the ``pom.properties`` that Maven puts into it."""

from __future__ import annotations

import re

from hearth.discovery.bundle_limits import MAX_TEXT
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.declaration import is_name
from hearth.discovery.java.java_archive import ClassRoot

_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_FILE = re.compile(r"(?P<name>.+?)-(?P<version>\d[^/]*)")


def package_of(root: ClassRoot) -> CoreMetadata:
    """Return the coordinates of a jar; without its own ``pom.properties``, what its file name says.

    A jar with several is made of other projects' jars, so none of them is its own.
    """
    poms = [name for name in root.names if _POM.fullmatch(name)]
    found = _properties(root.read(poms[0], MAX_TEXT).decode("latin-1")) if len(poms) == 1 else {}
    group, artifact, version = (found.get(each, "") for each in ("groupId", "artifactId", "version"))
    if all(map(is_name, (group, artifact, version))):
        return CoreMetadata(root.path, f"{group}:{artifact}", version)
    stem = root.path.rpartition("/")[2].rpartition(".")[0]
    named = _FILE.fullmatch(stem)
    return CoreMetadata(root.path, named["name"] if named else stem, named["version"] if named else "")


def _properties(text: str) -> dict[str, str]:
    rows = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in rows}
