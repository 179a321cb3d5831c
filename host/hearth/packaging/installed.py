"""Installs, upgrades, removes and rolls back bundles in a directory of plugin.path, atomically.

An installed bundle is one zip file, ``NAME.zip``, whatever its original format. An upgrade renames one file over
another, so a running host and a crash at any time see either the old or the new bundle. Replaced and removed bundles
are kept in ``.installed/NAME/NUMBER``, the oldest with the lowest number; rolled back ones in
``.installed/NAME/withdrawn``. ``.installed`` is never a candidate for bundles.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from hearth.discovery import Bundle, read
from hearth.discovery.bundle import plain_name
from hearth.discovery.location import candidates
from hearth.discovery.version_order import version_key
from hearth.foundation.terminal import Step
from hearth.foundation.user_file import make_directory, replacing
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging.description import keep_versions
from hearth.packaging.integrity import usable
from hearth.packaging.zip_file import zip_bundle
from hearth_api import ConflictError, NotFoundError

KEPT = 5
"""Number of earlier versions kept for each bundle."""

_HISTORY = ".installed"
_WITHDRAWN = "withdrawn"
_NUMBERED = re.compile(r"\d{6}")


@dataclass(frozen=True)
class Change:
    """A change, done or simulated: the bundle, its old and new version, and its path."""

    action: str
    name: str
    before: str | None
    after: str | None
    location: Path


class InstalledBundles:
    """A directory of plugin.path, which several processes may change concurrently.

    With ``is_dry_run`` all checks run and nothing changes. Slow steps run inside ``step``, which may show progress.
    """

    def __init__(
        self, folder: Path, environments: EnvironmentStore, is_dry_run: bool = False, step: Step = nullcontext
    ) -> None:
        self.folder = folder.absolute()
        self._environments = environments
        self._is_dry_run = is_dry_run
        self._step = step

    def all(self) -> list[Bundle]:
        """Return the readable bundles, by name and version."""
        if not self.folder.is_dir():
            return []
        found = (read(each, False) for each in candidates([self.folder]) if isinstance(each, Path))
        bundles = [each for each in found if isinstance(each, Bundle) and each.location.parent == self.folder]
        return sorted(bundles, key=lambda each: (plain_name(each.name), version_key(each.version)))

    def named(self, name: str) -> list[Bundle]:
        """Return the installed versions of a bundle, the oldest first."""
        return [each for each in self.all() if plain_name(each.name) == plain_name(name)]

    def one(self, name: str, version: str | None = None) -> Bundle:
        """Return the only installed bundle with a name, or the one with a name and version."""
        found = self.named(name)
        chosen = [each for each in found if version in (None, each.version)]
        if not chosen:
            there = ", ".join(sorted({each.name for each in self.all()})) or "nothing"
            what = name if version is None else f"{name} {version}"
            raise NotFoundError(f"{what} is not installed in {self.folder}", hint=f"installed: {there}")
        if len(chosen) > 1:
            versions = ", ".join(each.version for each in chosen)
            raise ConflictError(
                f"several versions of {name} are installed: {versions}", hint=f"name one: {name}=={chosen[-1].version}"
            )
        return chosen[0]

    def earlier(self, name: str) -> list[Bundle]:
        """Return the replaced or removed versions that are still readable, the latest last."""
        found = (read(path) for folder in self._numbered(name) for path in folder.iterdir())
        return [each for each in found if isinstance(each, Bundle)]

    def install(self, source: Path, is_beside: bool = False) -> Change:
        """Add a bundle after building its environment; ``is_beside`` keeps other installed versions.

        Raises ``ConflictError`` if another version is installed and ``is_beside`` is not set.
        """
        bundle = usable(source)
        with self._alone():
            known = self.named(bundle.name)
            same = next((each for each in known if each.version == bundle.version), None)
            if same is not None and _is_equal(same, bundle):
                return Change("keep", bundle.name, same.version, same.version, same.location)
            if same is not None or (known and not is_beside):
                there = (same or known[-1]).version
                hint = f"`hearth bundle upgrade {source}` replaces it; --beside keeps both versions"
                raise ConflictError(f"{bundle.name} {there} is installed already", hint=hint)
            target = self._slot(bundle.name, bundle.version if known else None)
            self._put(bundle, target)
            return Change("install", bundle.name, None, bundle.version, target)

    def upgrade(self, source: Path, version: str | None = None) -> Change:
        """Replace an installed bundle with another version, or add it; a rollback undoes this.

        ``version`` selects the one to replace if several are installed.
        """
        bundle = usable(source)
        with self._alone():
            if version is None and not self.named(bundle.name):
                target = self._slot(bundle.name)
                self._put(bundle, target)
                return Change("install", bundle.name, None, bundle.version, target)
            old = self.one(bundle.name, version)
            if old.version == bundle.version and _is_equal(old, bundle):
                return Change("keep", bundle.name, old.version, old.version, old.location)
            if bundle.version in (each.version for each in self.named(bundle.name) if each != old):
                hint = f"`hearth bundle remove {bundle.name}=={old.version}` keeps that version alone"
                raise ConflictError(f"{bundle.name} {bundle.version} is installed beside it", hint=hint)
            target = self._free_slot(bundle, old)
            self._put(bundle, target, old if target == old.location else None)
            if target != old.location:
                self._move(old, self._next(old))
            return Change("upgrade", bundle.name, old.version, bundle.version, target)

    def remove(self, name: str, version: str | None = None) -> Change:
        """Remove a bundle; a rollback restores it."""
        with self._alone(is_adding=False):
            old = self.one(name, version)
            self._move(old, self._next(old))
            return Change("remove", old.name, old.version, None, old.location)

    def rollback(self, name: str) -> Change:
        """Restore the previous version; repeat to go back through the earlier ones.

        The version that is rolled back is kept separately and is not restored by another rollback.
        """
        with self._alone(is_adding=False):
            now = self.one(name) if self.named(name) else None
            kept = (each for each in reversed(self.earlier(name)) if now is None or not _is_equal(now, each))
            before = next(kept, None)
            if before is None:
                hint = "install the version you want"
                raise NotFoundError(f"no earlier version of {name} is kept in {self.folder}", hint=hint)
            target = self._slot(name) if now is None else self._free_slot(before, now)
            if now is not None and now.location == target:
                self._withdraw(now, _link)
            self._put(before, target)
            if now is not None and now.location != target:
                self._withdraw(now, os.replace)
            if not self._is_dry_run:
                shutil.rmtree(before.location.parent)
            return Change("rollback", before.name, None if now is None else now.version, before.version, target)

    def _slot(self, name: str, version: str | None = None) -> Path:
        return self.folder / f"{plain_name(name)}{'' if version is None else f'-{version}'}.zip"

    def _free_slot(self, bundle: Bundle, old: Bundle) -> Path:
        """Return the path of a bundle that replaces another one; other versions keep their paths."""
        own = self._slot(bundle.name)
        is_free = own == old.location or not own.exists()
        return own if is_free else self._slot(bundle.name, bundle.version)

    def _numbered(self, name: str) -> list[Path]:
        folder = self.folder / _HISTORY / plain_name(name)
        return sorted(each for each in folder.glob("*") if _NUMBERED.fullmatch(each.name))

    def _put(self, bundle: Bundle, target: Path, old: Bundle | None = None) -> None:
        """Build the environment, so that only a usable bundle is installed, then replace the file atomically.

        The old bundle is recorded as an earlier version right before the replacement, the only step left that can
        fail.
        """
        if self._is_dry_run:
            return
        with self._step(f"the environment of {bundle.name} {bundle.version}"):
            keep_versions(bundle, self._environments.ensure(bundle))
        with replacing(target) as fresh:
            if bundle.location.is_file() and bundle.location.suffix == ".zip":
                shutil.copyfile(bundle.location, fresh)
            else:
                zip_bundle(bundle, fresh)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())  # so that a power failure leaves the old or the new bundle
            if old is not None:
                self._keep(old)

    def _keep(self, bundle: Bundle) -> None:
        """Record a bundle as an earlier version without moving it, unless a killed process already did."""
        latest = [path for folder in self._numbered(bundle.name)[-1:] for path in folder.iterdir()]
        if not any(filecmp.cmp(path, bundle.location, shallow=False) for path in latest):
            _link(bundle.location, self._next(bundle))

    def _move(self, bundle: Bundle, target: Path) -> None:
        """Move a bundle away atomically; for a symbolic link only the link."""
        if self._is_dry_run:
            return
        if bundle.location.is_symlink():
            bundle.location.unlink()
        else:
            os.replace(bundle.location, target)

    def _withdraw(self, bundle: Bundle, move: Callable[[Path, Path], None]) -> None:
        """Keep a rolled back bundle; only the last one of each name is kept."""
        if self._is_dry_run:
            return
        folder = self.folder / _HISTORY / plain_name(bundle.name) / _WITHDRAWN
        shutil.rmtree(folder, ignore_errors=True)
        make_directory(folder)
        move(bundle.location, folder / bundle.location.name)

    def _next(self, bundle: Bundle) -> Path:
        """Return the path for the next earlier version; delete the oldest ones above the limit."""
        known = self._numbered(bundle.name)
        folder = self.folder / _HISTORY / plain_name(bundle.name) / f"{int(known[-1].name) + 1 if known else 1:06}"
        if not self._is_dry_run:
            make_directory(folder)
            for each in known[: -KEPT + 1]:
                shutil.rmtree(each)
        return folder / bundle.location.name

    @contextlib.contextmanager
    def _alone(self, is_adding: bool = True) -> Iterator[None]:
        """Lock the directory against other processes; create it if ``is_adding``."""
        if self._is_dry_run or not (is_adding or self.folder.is_dir()):
            yield
            return
        make_directory(self.folder / _HISTORY)
        with FileLock(self.folder / _HISTORY / "lock", mode=0o644):
            yield


def _is_equal(one: Bundle, other: Bundle) -> bool:
    """Return whether two bundles have the same content."""
    if one.location.is_file() and other.location.is_file() and one.location.suffix == other.location.suffix:
        return filecmp.cmp(one.location, other.location, shallow=False)
    return one.digest() == other.digest()


def _link(source: Path, target: Path) -> None:
    """Hard-link a file, or copy it if the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
