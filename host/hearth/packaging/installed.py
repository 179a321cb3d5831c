"""The bundles in a directory of plugin.path, put there, exchanged and taken away in one step each.

A bundle that is installed is one zip file, ``NAME.zip``, whatever form it came in: to exchange it is to rename one
file over another, so whoever looks, a host that runs among them, finds the old bundle or the new one, and a crash at
any moment leaves one of the two. What was exchanged or taken away lies in ``.installed/NAME/NUMBER``, which is no
candidate for bundles, the oldest with the lowest number; what was rolled back in ``.installed/NAME/withdrawn``.
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
from hearth.packaging.integrity import usable
from hearth.packaging.zip_file import zip_bundle
from hearth_api import ConflictError, NotFoundError

KEPT = 5
"""How many earlier versions of a bundle are kept."""

_HISTORY = ".installed"
_WITHDRAWN = "withdrawn"
_NUMBERED = re.compile(r"\d{6}")


@dataclass(frozen=True)
class Change:
    """What was done to a directory, or would be: which bundle, from which version to which, and where it is."""

    action: str
    name: str
    before: str | None
    after: str | None
    location: Path


class InstalledBundles:
    """A directory of plugin.path; several processes may change it at once.

    With ``is_dry_run`` everything is looked at, and nothing is changed. What takes its time stands inside ``step``,
    which may show it.
    """

    def __init__(
        self, folder: Path, environments: EnvironmentStore, is_dry_run: bool = False, step: Step = nullcontext
    ) -> None:
        self.folder = folder.absolute()
        self._environments = environments
        self._is_dry_run = is_dry_run
        self._step = step

    def all(self) -> list[Bundle]:
        """Return the bundles that can be read, by name and version."""
        if not self.folder.is_dir():
            return []
        found = (read(each, False) for each in candidates([self.folder]) if isinstance(each, Path))
        bundles = [each for each in found if isinstance(each, Bundle) and each.location.parent == self.folder]
        return sorted(bundles, key=lambda each: (plain_name(each.name), version_key(each.version)))

    def named(self, name: str) -> list[Bundle]:
        """Return the versions of a bundle that are installed, the oldest first."""
        return [each for each in self.all() if plain_name(each.name) == plain_name(name)]

    def one(self, name: str, version: str | None = None) -> Bundle:
        """Return the one bundle of a name, or of those of a name the one of a version."""
        found = self.named(name)
        chosen = [each for each in found if version in (None, each.version)]
        if not chosen:
            there = ", ".join(sorted({each.name for each in self.all()})) or "nothing"
            what = name if version is None else f"{name} {version}"
            raise NotFoundError(f"{what} is not installed in {self.folder}", hint=f"installed is: {there}")
        if len(chosen) > 1:
            versions = ", ".join(each.version for each in chosen)
            raise ConflictError(
                f"several versions of {name} are installed: {versions}", hint=f"name one: {name}=={chosen[-1].version}"
            )
        return chosen[0]

    def earlier(self, name: str) -> list[Bundle]:
        """Return what was exchanged or taken away and can still be read, the latest last."""
        found = (read(path) for folder in self._numbered(name) for path in folder.iterdir())
        return [each for each in found if isinstance(each, Bundle)]

    def install(self, source: Path, is_beside: bool = False) -> Change:
        """Add a bundle, after its environment was built; ``is_beside`` lets other versions of it stay.

        Raises ``ConflictError`` where there is another version and that was not asked for.
        """
        bundle = usable(source)
        with self._alone():
            known = self.named(bundle.name)
            same = next((each for each in known if each.version == bundle.version), None)
            if same is not None and _is_equal(same, bundle):
                return Change("keep", bundle.name, same.version, same.version, same.location)
            if same is not None or (known and not is_beside):
                there = (same or known[-1]).version
                hint = f"`hearth bundle upgrade {source}` exchanges it; --beside keeps both versions"
                raise ConflictError(f"{bundle.name} {there} is installed already", hint=hint)
            target = self._slot(bundle.name, bundle.version if known else None)
            self._put(bundle, target)
            return Change("install", bundle.name, None, bundle.version, target)

    def upgrade(self, source: Path, version: str | None = None) -> Change:
        """Exchange a bundle that is installed for another version of it, or add it; a rollback undoes that.

        ``version`` says which one goes, where there are several.
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
                hint = f"`hearth bundle remove {bundle.name}=={old.version}` leaves that one"
                raise ConflictError(f"{bundle.name} {bundle.version} is installed beside it", hint=hint)
            target = self._free_slot(bundle, old)
            self._put(bundle, target, old if target == old.location else None)
            if target != old.location:
                self._move(old, self._next(old))
            return Change("upgrade", bundle.name, old.version, bundle.version, target)

    def remove(self, name: str, version: str | None = None) -> Change:
        """Take a bundle away; a rollback brings it back."""
        with self._alone(is_adding=False):
            old = self.one(name, version)
            self._move(old, self._next(old))
            return Change("remove", old.name, old.version, None, old.location)

    def rollback(self, name: str) -> Change:
        """Let the version that was there before take the place of the one that is, as often as there are earlier ones.

        What is rolled back is kept apart, and does not come back by another rollback.
        """
        with self._alone(is_adding=False):
            now = self.one(name) if self.named(name) else None
            kept = (each for each in reversed(self.earlier(name)) if now is None or not _is_equal(now, each))
            before = next(kept, None)
            if before is None:
                hint = "install the version that is wanted"
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
        """Return where a bundle goes that takes the place of another one; a third version of it stays where it is."""
        own = self._slot(bundle.name)
        is_free = own == old.location or not own.exists()
        return own if is_free else self._slot(bundle.name, bundle.version)

    def _numbered(self, name: str) -> list[Path]:
        folder = self.folder / _HISTORY / plain_name(name)
        return sorted(each for each in folder.glob("*") if _NUMBERED.fullmatch(each.name))

    def _put(self, bundle: Bundle, target: Path, old: Bundle | None = None) -> None:
        """Build the environment, so that what cannot run here is not put there, then the file, in one step.

        What was there is noted as an earlier version when nothing but that step is left that could fail.
        """
        if self._is_dry_run:
            return
        with self._step(f"the environment of {bundle.name} {bundle.version}"):
            self._environments.ensure(bundle)
        with replacing(target) as fresh:
            if bundle.location.is_file() and bundle.location.suffix == ".zip":
                shutil.copyfile(bundle.location, fresh)
            else:
                zip_bundle(bundle, fresh)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())  # a power cut leaves the old bundle or the new one, too
            if old is not None:
                self._keep(old)

    def _keep(self, bundle: Bundle) -> None:
        """Note a bundle as an earlier version while it stays where it is, unless whoever was killed here has."""
        latest = [path for folder in self._numbered(bundle.name)[-1:] for path in folder.iterdir()]
        if not any(filecmp.cmp(path, bundle.location, shallow=False) for path in latest):
            _link(bundle.location, self._next(bundle))

    def _move(self, bundle: Bundle, target: Path) -> None:
        """Take a bundle from where it is, in one step; of a link only the link."""
        if self._is_dry_run:
            return
        if bundle.location.is_symlink():
            bundle.location.unlink()
        else:
            os.replace(bundle.location, target)

    def _withdraw(self, bundle: Bundle, move: Callable[[Path, Path], None]) -> None:
        """Set a bundle aside that is rolled back; of each name the last."""
        if self._is_dry_run:
            return
        folder = self.folder / _HISTORY / plain_name(bundle.name) / _WITHDRAWN
        shutil.rmtree(folder, ignore_errors=True)
        make_directory(folder)
        move(bundle.location, folder / bundle.location.name)

    def _next(self, bundle: Bundle) -> Path:
        """Return where a bundle is kept as an earlier version; of too many the oldest are deleted."""
        known = self._numbered(bundle.name)
        folder = self.folder / _HISTORY / plain_name(bundle.name) / f"{int(known[-1].name) + 1 if known else 1:06}"
        if not self._is_dry_run:
            make_directory(folder)
            for each in known[: -KEPT + 1]:
                shutil.rmtree(each)
        return folder / bundle.location.name

    @contextlib.contextmanager
    def _alone(self, is_adding: bool = True) -> Iterator[None]:
        """Let nobody else change the directory meanwhile; it is made for what ``is_adding``."""
        if self._is_dry_run or not (is_adding or self.folder.is_dir()):
            yield
            return
        make_directory(self.folder / _HISTORY)
        with FileLock(self.folder / _HISTORY / "lock", mode=0o644):
            yield


def _is_equal(one: Bundle, other: Bundle) -> bool:
    """Return whether two bundles hold the same."""
    if one.location.is_file() and other.location.is_file() and one.location.suffix == other.location.suffix:
        return filecmp.cmp(one.location, other.location, shallow=False)
    return one.digest() == other.digest()


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
