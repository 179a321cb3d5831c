"""Environments of bundles: built once, shared by equal locks, rebuilt when damaged.

An environment is a directory ``KEY/site``, which comes first on a stage's ``sys.path``, and its fingerprint
``KEY/environment.json``. KEY is a hash of the lock, the interpreter and the platform. Nothing changes in place: an
environment is built under another name and renamed in one step (invariant 5).
"""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import importlib_metadata
from filelock import FileLock, Timeout
from packaging.requirements import InvalidRequirement, Requirement

from hearth.foundation.java import JavaMissing
from hearth.foundation.user_file import cache_directory, make_directory, replace_text
from hearth.isolation import interpreter, lock
from hearth.isolation.environment import PYTHON, STAGE, Environment
from hearth.isolation.environment_inventory import EnvironmentInventory
from hearth.isolation.environment_refused import EnvironmentRefused, UvFailed
from hearth.isolation.fingerprint import SITE, census, close_to_others, is_whole, key_of, seal
from hearth.isolation.interpreter import Interpreter
from hearth.isolation.java_environment import java_environment
from hearth.isolation.java_stage import stage_directory
from hearth.isolation.lock import Lock
from hearth.maven.ivy import JarsUnavailable

PYLOCK = "pylock.toml"
WAIT_SECONDS = 900
"""How long to wait for another process that builds the same environment."""
LOOK_SECONDS = 1.0
"""How long the result of a check is reused: a hundred connectors each ask three times."""


class Installable(Protocol):
    """The source of an environment: a bundle that discovery has read."""

    @property
    def kind(self) -> str:
        """The language of its plugins."""

    @property
    def location(self) -> Path:
        """Its path."""

    @property
    def name(self) -> str:
        """Its name for messages."""

    def digest(self) -> str:
        """Return a hash of its content."""

    def unpack(self, target: Path) -> None:
        """Copy what the environment is built from into a directory."""


class PythonPackages(Installable, Protocol):
    """A bundle of Python packages."""

    @property
    def requires_python(self) -> str:
        """Version specifier of the interpreter, possibly empty."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Requirements to install: the distributions that declare plugins."""

    @property
    def is_site(self) -> bool:
        """Whether it holds importable packages instead of wheels."""

    @property
    def site(self) -> Path | None:
        """The directory that can be put on ``sys.path`` in place, if there is one."""

    @property
    def has_lock(self) -> bool:
        """Whether it has a ``pylock.toml`` next to its wheels, which pins what to install."""


class JavaArchives(Installable, Protocol):
    """A bundle of Java plugins."""

    @property
    def release(self) -> int:
        """The Java release that it needs, such as 17."""


class Admission(Protocol):
    """Decides which bundles may have an environment, with which packages; both are called, in this order."""

    def admit(self, bundle: Any) -> None:
        """Raise if the bundle may not run."""

    def admit_packages(self, bundle: Any, pins: Mapping[str, Sequence[str]]) -> None:
        """Raise if the environment may not hold these packages: ``name==version`` with the hashes of the files."""


def python_environment(key: str, python: Interpreter, paths: Sequence[str], bundle: str = "") -> Environment:
    """Return the environment of an interpreter with directories that come first on its ``sys.path``.

    An environment of the host's interpreter runs on the interpreter of the runtime that starts it, which may have
    another path on an executor. The stage refuses to run on a Python with another tag.
    """
    program = PYTHON if python == interpreter.host() else python.path
    sites = (f"{{{index}}}" for index in range(len(paths)))
    return Environment(key, (program, "-I", STAGE, python.tag, *sites), tuple(paths), bundle)


def host_environment() -> Environment:
    """Return the host's own environment, for plugins installed next to the host."""
    return python_environment("host", interpreter.host(), [each for each in sys.path if each and Path(each).is_dir()])


def user_environments(admission: Admission | None = None, is_offline: bool = False) -> EnvironmentStore:
    """Return the store that all hosts and commands of this user share."""
    return EnvironmentStore(cache_directory("environments"), admission, is_offline, LOOK_SECONDS)


class EnvironmentStore:
    """The environments in one directory; several processes may use it at the same time."""

    def __init__(
        self,
        root: Path,
        admission: Admission | None = None,
        is_offline: bool = False,
        look_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep environments in ``root``; without an ``admission`` every bundle may have one.

        With ``is_offline`` nothing is downloaded from the package index. The files of an environment are checked at
        most once in ``look_seconds``.
        """
        self._root = root.absolute()
        self.inventory = EnvironmentInventory(self._root)
        self._admission = admission
        self._is_offline = is_offline
        self._look_seconds, self._clock = look_seconds, clock
        self._looked: dict[str, float] = {}
        """When an environment was last found intact, by key."""
        self._kinds: Mapping[str, Callable[[Any], Environment]] = {
            "python": self._python_environment,
            "java": self._java_environment,
        }
        """What builds the environment of a bundle, by its kind."""

    def ensure(self, bundle: Installable) -> Environment:
        """Return the environment of a bundle; builds it if it is missing or damaged.

        Raises ``EnvironmentRefused`` if it cannot be built here, and what ``unpack`` raises for a damaged bundle.
        """
        if self._admission is not None:
            self._admission.admit(bundle)
        return self._kinds[bundle.kind](bundle)

    def _java_environment(self, bundle: JavaArchives) -> Environment:
        try:
            stage = stage_directory()
        except (JarsUnavailable, JavaMissing) as error:
            raise EnvironmentRefused(f"the Java stage cannot be built: {error}", hint=error.hint) from error
        key = key_of("java", bundle.digest(), stage.name, python=interpreter.host())
        site = self._whole(key, bundle.name, lambda folder: bundle.unpack(folder / SITE))
        self.inventory.note(key, bundle.name, bundle.location)
        return java_environment(key, site, stage, bundle.name, bundle.release)

    def _python_environment(self, bundle: PythonPackages) -> Environment:
        python = interpreter.choose(bundle.requires_python, bundle.name)
        base = self._base_layer(python)
        if bundle.site is not None:
            # Used in place: the next stage sees what pip or the author changes there.
            _refuse_other_api(bundle, bundle.site, [root.partition("==")[0] for root in bundle.roots])
            key = key_of("directory", str(bundle.site), census(bundle.site), python=python)
            return python_environment(key, python, (str(bundle.site), *base), bundle.name)
        if bundle.is_site:
            key = key_of("packages", bundle.digest(), python=python)
            site = self._whole(key, bundle.name, lambda folder: _unpack_packages(bundle, folder / SITE, python))
        else:
            key, site = self._installed(bundle, python)
        self.inventory.note(key, bundle.name, bundle.location)
        return python_environment(key, python, (str(site), *base), bundle.name)

    def _installed(self, bundle: PythonPackages, python: Interpreter) -> tuple[str, Path]:
        """Resolve and install a bundle of wheels; reads the stored lock of a known bundle."""
        remembered = self._root / "locks" / f"{key_of(bundle.digest(), *bundle.roots, python=python)}.txt"
        with contextlib.ExitStack() as stack:
            locked = lock.read(remembered)
            wheels = None
            if locked is None:
                wheels = stack.enter_context(_unpacked(bundle))
                with _instructive(bundle):
                    locked = _lock_of(bundle, wheels, python, self._is_offline)
                replace_text(remembered, locked.text)
            if self._admission is not None:
                self._admission.admit_packages(bundle, locked.pins)
            key = key_of(locked.text, python=python)
            return key, self._whole(key, bundle.name, _installer(bundle, locked, python, wheels, self._is_offline))

    def _base_layer(self, python: Interpreter) -> tuple[str, ...]:
        """Return a directory with the base layer for an interpreter that cannot use the host's packages."""
        if python.suits_host_packages:
            return ()
        locked = self._base_lock(python)
        key = key_of(locked.text, python=python)
        site = self._whole(
            key, "the base layer", lambda folder: lock.install(locked, folder / SITE, python, None, False)
        )
        self.inventory.note(key, "the base layer", Path(python.path))
        return (str(site),)

    def _base_lock(self, python: Interpreter) -> Lock:
        wanted = interpreter.base_layer(python)
        remembered = self._root / "locks" / f"{key_of('base', *wanted, python=python)}.txt"
        locked = lock.read(remembered)
        if locked is None:
            try:
                locked = lock.resolve(wanted, python)
            except UvFailed as error:
                raise EnvironmentRefused(
                    f"Python {python.version} has no base layer ({', '.join(wanted)}): {error}",
                    hint="let this machine reach the package index, or pack for the host's Python",
                ) from error
            replace_text(remembered, locked.text)
        return locked

    def _whole(self, key: str, name: str, build: Callable[[Path], None]) -> Path:
        """Return the site directory of a key; builds it if it is missing or damaged."""
        target, now = self._root / key, self._clock()
        self._make_root()
        if now < self._looked.get(key, -math.inf) + self._look_seconds and (target / SITE).is_dir():
            return target / SITE
        if is_whole(target, key):
            self._looked[key] = now
            return target / SITE
        try:
            with FileLock(self._root / f"{key}.lock", timeout=WAIT_SECONDS, mode=0o644):
                if not is_whole(target, key):
                    self._build(target, key, build)
        except Timeout as error:
            raise EnvironmentRefused(
                f"another process has been building the environment of {name} for {WAIT_SECONDS} s",
                hint=f"stop that process and try again; it holds {error.lock_file!r}",
            ) from error
        return target / SITE

    def _make_root(self) -> None:
        """Create the directory of all environments, writable only for its owner, who alone can replace one."""
        make_directory(self._root)
        try:
            close_to_others(self._root, is_deep=False)
        except PermissionError as error:
            raise EnvironmentRefused(
                f"other users may write in {str(self._root)!r}, the directory of environments",
                hint="remove their write permission, or set HEARTH_HOME to another directory",
            ) from error

    def _build(self, target: Path, key: str, build: Callable[[Path], None]) -> None:
        for left in self._root.glob(f"{key}.building-*"):  # left by a builder that was killed
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{key}.building-", dir=self._root))
        try:
            (folder / SITE).mkdir()
            build(folder)
            seal(folder, key)
            close_to_others(folder)
            folder.chmod(0o755)  # mkdtemp gives access to this user only
            if target.exists():  # damaged; a running stage keeps its open files
                target.rename(folder / "damaged")
            folder.rename(target)
            shutil.rmtree(target / "damaged", ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _lock_of(bundle: PythonPackages, wheels: Path, python: Interpreter, is_offline: bool) -> Lock:
    """Return the lock that a bundle of wheels contains, or else resolve its requirements.

    Raises ``EnvironmentRefused`` if no wheel has the name of a distribution that declares plugins: uv would install a
    package of that name from the index instead.
    """
    for root in bundle.roots:
        if not lock.wheels_of(wheels, root):
            raise EnvironmentRefused(
                f"none of the wheels of {bundle.name} ({bundle.location}) is named {root}, which declares its plugins",
                hint="let a build backend name the wheel, or pack the project: hearth bundle pack PROJECT",
            )
    if not bundle.has_lock:
        if is_offline:
            return lock.resolve(bundle.roots, python, wheels, offline=True)
        return lock.resolve_preferring(wheels, bundle.roots, python)
    from hearth.isolation.pylock import from_pylock  # imported here: few bundles have one

    return from_pylock((wheels / PYLOCK).read_text(encoding="utf-8", errors="replace"), bundle.roots, wheels, python)


def _installer(
    bundle: PythonPackages, locked: Lock, python: Interpreter, wheels: Path | None, is_offline: bool
) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        with contextlib.ExitStack() as stack:
            found = wheels if wheels is not None else stack.enter_context(_unpacked(bundle))
            offline = is_offline or locked.is_covered_by(found)
            with _instructive(bundle):
                lock.install(locked, folder / SITE, python, found, offline)
            _refuse_other_api(bundle, folder / SITE)

    return build


def _unpack_packages(bundle: PythonPackages, site: Path, python: Interpreter) -> None:
    """Copy and compile a bundle's packages; a stage would compile them with its own umask, writable for others."""
    bundle.unpack(site)
    _refuse_other_api(bundle, site)
    interpreter.compile_all(python, site)


def _refuse_other_api(bundle: PythonPackages, site: Path, names: Sequence[str | None] = (None,)) -> None:
    """Raise if a package (one of ``names``, or any) requires an author API that this host does not provide."""
    for found in (each for name in names for each in importlib_metadata.distributions(name=name, path=[str(site)])):
        for wanted in lock.unmet_api(_requirements(found.requires or ())):
            own = f"{lock.API} {importlib_metadata.version(lock.API)}"
            raise EnvironmentRefused(
                f"{found.name} of {bundle.name} ({bundle.location}) requires {wanted}, this host provides {own}",
                hint="install a Hearth that provides it, or a version of the bundle for this one",
            )


def _requirements(texts: Sequence[str]) -> Iterator[Requirement]:
    """Yield what a package requires without extras; skips malformed requirements."""
    for text in texts:
        with contextlib.suppress(InvalidRequirement):
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                yield wanted


@contextlib.contextmanager
def _instructive(bundle: PythonPackages) -> Iterator[None]:
    """Add the bundle's name and a hint to an error of uv."""
    try:
        yield
    except UvFailed as error:
        raise EnvironmentRefused(
            f"the environment of {bundle.name} ({bundle.location}) cannot be built: {error}",
            hint="pack its dependencies with `hearth bundle pack PROJECT`, or give this machine access to the index",
        ) from error


@contextlib.contextmanager
def _unpacked(bundle: PythonPackages) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hearth-wheels-") as folder:
        bundle.unpack(Path(folder))
        yield Path(folder)
