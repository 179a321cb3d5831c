"""Obtains a bundle to install from a file, an address, a Maven repository, a bundle index or a package index."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from hearth.discovery.bundle import plain_name
from hearth.discovery.refusal import BundleError
from hearth.foundation.digest import sha256_of
from hearth.foundation.terminal import Step
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging.integrity import usable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from hearth.packaging.index_entry import IndexEntry

MOST_BYTES = 4 << 30
"""Largest download in bytes."""
MAVEN = "maven:"
"""What the name of a Maven artifact starts with."""
_SHA256 = re.compile("[0-9a-f]{64}")
_BUILT = (".zip", ".whl")
_ENDINGS = (".zip", ".whl", ".gz", ".tgz", ".xz", ".bz2", ".tar")


@dataclass(frozen=True)
class BundleSource:
    """The source that a user named, and the indexes to look names up in.

    ``indexes`` are directories of bundles or addresses of bundle lists. Without any, a name is a package in the
    package index that uv and pip are configured for or in the folders of ``find_links``, and is packed with its
    requirements. Slow steps run inside ``step``, which may show progress.
    """

    text: str
    indexes: Sequence[str] = ()
    find_links: Sequence[Path] = ()
    is_offline: bool = False
    sha256: str | None = None
    step: Step = nullcontext

    @contextlib.contextmanager
    def obtained(self, environments: EnvironmentStore) -> Iterator[Path]:
        """Yield the file or directory; downloaded and packed files are deleted afterwards.

        A project, either a directory or a source distribution, is built and packed. Raises ``ConfigError`` for a
        source that cannot be a bundle, ``BundleError`` if ``sha256`` does not match.
        """
        wanted = None if self.sha256 is None else _digits(self.sha256)
        with tempfile.TemporaryDirectory(prefix="hearth-source-") as folder:
            found = self._found(Path(folder), environments)
            if wanted is not None and not self.text.startswith(MAVEN):
                _check(found, wanted)
            yield found if found.suffix in _BUILT else self._built(found, Path(folder), environments)

    def _found(self, folder: Path, environments: EnvironmentStore) -> Path:
        if self.text.startswith(MAVEN):
            return self._from_maven(folder)
        if urlsplit(self.text).scheme in ("http", "https"):
            with self.step(self.text):
                return _fetched(self.text, folder, self.sha256 is not None)
        path = Path(self.text)
        if path.exists() or path.is_symlink():
            return path.absolute()
        if "://" in self.text:
            raise ConfigError(f"{self.text} cannot be fetched", hint="name a file, or an address with https")
        if path.parent != Path() or path.suffix in _ENDINGS:
            raise ConfigError(f"{self.text} does not exist", hint="correct the path; a NAME has no / in it")
        from hearth.packaging.bundle_index import find, requirement  # most sources need no index

        if self.indexes:
            return self._from_index(find(self.text, self.indexes), folder)
        return self._packed(requirement(self.text), folder, environments)

    def _built(self, found: Path, folder: Path, environments: EnvironmentStore) -> Path:
        """Return the bundle itself, or pack one if a project was found."""
        from hearth.packaging.project import is_source

        return self._packed(found, folder, environments) if is_source(found) else found

    def _packed(self, project: Path | Requirement, folder: Path, environments: EnvironmentStore) -> Path:
        from hearth.packaging.pack import pack  # not needed for bundles

        return pack(project, folder / "packed", environments, self.find_links, self.is_offline, self.step)

    def _from_maven(self, folder: Path) -> Path:
        """Return a bundle made of a Maven artifact, whose own file has the hash that is asked for."""
        from hearth.maven.artifact import coordinates_of, fetch_artifact
        from hearth.maven.licence import fetch_licences
        from hearth.packaging.maven_bundle import maven_bundle

        with self.step(self.text):
            files = fetch_artifact(coordinates_of(self.text), self.is_offline)
        if self.sha256 is not None:
            _check(files[0][1], _digits(self.sha256))
        return maven_bundle(files, folder, partial(fetch_licences, is_offline=self.is_offline))

    def _from_index(self, entry: IndexEntry, folder: Path) -> Path:
        """Return an index entry's bundle, downloaded if it has an address, after comparing it with the entry."""
        if entry.sha256 is None:
            return Path(entry.location)
        with self.step(entry.location):
            found = _fetched(entry.location, folder, is_checked=True)
        _check(found, _digits(entry.sha256))
        bundle = usable(found)
        if (plain_name(bundle.name), bundle.version) != (plain_name(entry.name), entry.version):
            fact = (
                f"the index calls {entry.location} {entry.name} {entry.version}, it is {bundle.name} {bundle.version}"
            )
            raise BundleError(fact, hint="write that index's list again: hearth bundle index DIR")
        return found


def _fetched(address: str, folder: Path, is_checked: bool) -> Path:
    """Download a bundle; the file keeps the last name in the address, whose extension determines the format."""
    from hearth.packaging.download import download

    target = folder / unquote(Path(urlsplit(address).path).name)
    if target.suffix not in _ENDINGS:
        raise ConfigError(f"{address} names no bundle", hint=f"it must end with one of {', '.join(_ENDINGS)}")
    return download(address, target, is_checked, MOST_BYTES)


def _digits(sha256: str) -> str:
    """Normalise a SHA-256, which may have the prefix that lock files use."""
    found = sha256.strip().lower().removeprefix("sha256:")
    if not _SHA256.fullmatch(found):
        raise ConfigError(f"{sha256!r} is not a SHA-256", hint="use 64 hexadecimal digits, as sha256sum prints them")
    return found


def _check(path: Path, wanted: str) -> None:
    if not path.is_file():
        raise ConfigError(f"{path} is a directory, which has no SHA-256", hint="leave --sha256 out, or name a file")
    found = sha256_of(path)
    if found != wanted:
        fact = f"{path.name} has the SHA-256 {found}, expected {wanted}"
        raise BundleError(fact, hint="do not use it; get it from elsewhere")
