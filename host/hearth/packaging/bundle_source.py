"""Where a bundle comes from that is to be installed: a file, an address, a directory of bundles, a package index."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
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
"""More than this is not taken from an address."""
_SHA256 = re.compile("[0-9a-f]{64}")
_BUILT = (".zip", ".whl")
_ENDINGS = (".zip", ".whl", ".gz", ".tgz", ".xz", ".bz2", ".tar")


@dataclass(frozen=True)
class BundleSource:
    """What somebody named, and where names are looked up.

    Without ``indexes``, directories of bundles or addresses of their lists, a name is that of a package in the package
    index that uv and pip are configured for, or in the folders of ``find_links``; it is packed with what it needs.
    What takes its time stands inside ``step``, which may show it.
    """

    text: str
    indexes: Sequence[str] = ()
    find_links: Sequence[Path] = ()
    is_offline: bool = False
    sha256: str | None = None
    step: Step = nullcontext

    @contextlib.contextmanager
    def obtained(self, environments: EnvironmentStore) -> Iterator[Path]:
        """Yield the file or directory; what was fetched or packed for this is gone afterwards.

        The source of a project, be it a directory or a source distribution, is built and packed.
        Raises ``ConfigError`` for what can be no bundle, ``BundleError`` for one that is not the one of ``sha256``.
        """
        wanted = None if self.sha256 is None else _digits(self.sha256)
        with tempfile.TemporaryDirectory(prefix="hearth-source-") as folder:
            found = self._found(Path(folder), environments)
            if wanted is not None:
                _check(found, wanted)
            yield found if found.suffix in _BUILT else self._built(found, Path(folder), environments)

    def _found(self, folder: Path, environments: EnvironmentStore) -> Path:
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
        from hearth.packaging.bundle_index import find, requirement  # which most sources are not

        if self.indexes:
            return self._offered(find(self.text, self.indexes), folder)
        return self._packed(requirement(self.text), folder, environments)

    def _built(self, found: Path, folder: Path, environments: EnvironmentStore) -> Path:
        """Return what was found, or a bundle that is made of it where it is the source of a project."""
        from hearth.packaging.project import is_source

        return self._packed(found, folder, environments) if is_source(found) else found

    def _packed(self, project: Path | Requirement, folder: Path, environments: EnvironmentStore) -> Path:
        from hearth.packaging.pack import pack  # which bundles need not

        return pack(project, folder / "packed", environments, self.find_links, self.is_offline, self.step)

    def _offered(self, entry: IndexEntry, folder: Path) -> Path:
        """Return what an index offers, fetched where it is at an address, and compared with what the index says."""
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
            raise BundleError(fact, hint="make the list of that index anew: hearth bundle index DIR")
        return found


def _fetched(address: str, folder: Path, is_checked: bool) -> Path:
    """Fetch a bundle; the name at the end of the address is that of the file, for it tells the form."""
    from hearth.packaging.download import download

    target = folder / unquote(Path(urlsplit(address).path).name)
    if target.suffix not in _ENDINGS:
        raise ConfigError(f"{address} names no bundle", hint=f"it has to end with one of {', '.join(_ENDINGS)}")
    return download(address, target, is_checked, MOST_BYTES)


def _digits(sha256: str) -> str:
    """Return a SHA-256 as it is compared, of one that is perhaps written as locks write it."""
    found = sha256.strip().lower().removeprefix("sha256:")
    if not _SHA256.fullmatch(found):
        raise ConfigError(f"{sha256!r} is no SHA-256", hint="it has 64 hexadecimal digits, as sha256sum prints them")
    return found


def _check(path: Path, wanted: str) -> None:
    if not path.is_file():
        raise ConfigError(f"{path} is a directory, which has no SHA-256", hint="leave --sha256 out, or name a file")
    found = sha256_of(path)
    if found != wanted:
        fact = f"{path.name} has the SHA-256 {found}, and {wanted} was wanted"
        raise BundleError(fact, hint="do not use it; get it from elsewhere")
