"""Bundles of Python packages, described by their manifest or metadata.

``read_python`` recognises three layouts in any tree: a packed bundle (``hearth-bundle.json`` and wheels), wheels,
or a site directory (packages next to their ``.dist-info`` folders, as in ``pip install --target`` or a virtual
environment). A ``pylock.toml`` (PEP 751) next to wheels pins the packages they are installed with.
"""

from __future__ import annotations

import contextlib
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.discovery.archive import ZipTree
from hearth.discovery.bundle import Bundle, file_name, join, plain_name, stamp_of
from hearth.discovery.bundle_limits import MAX_MANIFEST, MAX_PLUGINS, MAX_WHEELS
from hearth.discovery.declaration import Declaration
from hearth.discovery.location import PYLOCK, VENV
from hearth.discovery.manifest import MANIFEST, PYTHON, Manifest
from hearth.discovery.metadata import Facts, distribution_folders, read_facts, too_many_plugins, without_host
from hearth.discovery.refusal import BundleError, quoted
from hearth.discovery.tree import Opener, Tree
from hearth.discovery.version_order import version_key

if TYPE_CHECKING:
    from hearth.discovery.core_metadata import CoreMetadata

_VERSION = re.compile(r"^version(?:_info)? *= *(\d+\.\d+)", re.MULTILINE)
_TAGGED = 4
"""Hyphens in a wheel's file name, which separate name, version, Python, ABI and platform."""


class Layout(str, Enum):
    """The layout of a bundle: wheels that need installing, or packages ready for ``sys.path``."""

    WHEELS = "wheels"
    SITE = "site"


@dataclass(frozen=True, kw_only=True)
class PythonBundle(Bundle):
    """A bundle of Python packages."""

    kind = PYTHON

    layout: Layout
    requires_python: str
    roots: tuple[str, ...]
    """Requirements (``name==version``) of the distributions that declare plugins."""
    has_lock: bool = field(default=False, repr=False)
    """Whether a ``pylock.toml`` pins the packages that its wheels are installed with."""

    @property
    def form(self) -> str:
        """Return the layout's name."""
        return self.layout.value

    @property
    def requires(self) -> str:
        """Return the specifier of Python's version."""
        return self.requires_python

    @property
    def is_hashed(self) -> bool:
        """Return whether a manifest or a lock has the hashes of the wheels."""
        return self.has_lock or super().is_hashed

    @property
    def is_site(self) -> bool:
        """Return whether the bundle holds importable packages."""
        return self.layout is Layout.SITE

    @property
    def site(self) -> Path | None:
        """Return the directory to put on ``sys.path``, or ``None`` if the bundle is not a directory of packages."""
        if self.layout is Layout.SITE and self.location.is_dir():
            return self.location / self.top
        return None

    @property
    def identity(self) -> PythonBundle:
        """Return the part that distinguishes this bundle from an earlier one at the same location.

        Packages used in place are unchanged until another version is installed: programs write into their directories.
        """
        return self if self.site is None else replace(self, stamp=0)

    def is_described_by(self, manifest: Manifest) -> bool:
        """Compare the plugins as well, which the manifest lists."""
        return super().is_described_by(manifest) and self.declarations == manifest.plugins

    def files(self, tree: Tree) -> list[str]:
        """Return the wheels and their lock, or all files of a site directory."""
        if self.layout is Layout.SITE:
            return sorted(tree.walk(self.top))
        return sorted([*wheels_of(tree, self.top), *([join(self.top, PYLOCK)] if self.has_lock else [])])

    def packages(self) -> Iterator[CoreMetadata]:
        """Yield the metadata of each distribution, in path order."""
        from hearth.discovery.core_metadata import read_metadata  # its parser is not needed to list bundles

        with self.opener() as tree:
            if self.is_site:
                for folder in distribution_folders(tree, self.top):
                    yield read_metadata(tree, folder, folder)
                return
            for wheel in sorted(wheels_of(tree, self.top)):
                with ZipTree(tree.open_archive(wheel)) as inside:
                    for folder in distribution_folders(inside):
                        yield read_metadata(inside, folder, wheel)

    def unpacked_name(self, path: str) -> str:
        """Return the name of a wheel, which uv looks for in one folder, or the path of a package's file."""
        return file_name(path) if self.layout is Layout.WHEELS else self.relative(path)

    def check_unpacked(self, path: str, file: Path) -> None:
        """Raise ``BundleError`` for a wheel that is damaged or unpacks to more than the limit."""
        if path.endswith(".whl") and self.layout is Layout.WHEELS:
            with _of_wheel(path), ZipTree(file) as wheel:
                wheel.check()


def read_python(location: Path, opener: Opener, tree: Tree, top: str) -> PythonBundle | None:
    """Read a bundle of Python packages; return ``None`` for a tree that has no metadata of any."""
    if join(top, VENV) in tree.children(top)[0]:
        top = _packages_of(tree, top)
    stamp = stamp_of(location, top)  # before reading, so that a change during the read causes another one
    found = _read(location, opener, tree, top)
    if found is None:
        return None
    has_lock = found.layout is Layout.WHEELS and join(top, PYLOCK) in tree.children(top)[0]
    return replace(found, stamp=stamp, has_lock=has_lock)


def _read(location: Path, opener: Opener, tree: Tree, top: str) -> PythonBundle | None:
    if join(top, MANIFEST) in tree.children(top)[0]:
        manifest = Manifest.from_text(tree.read_text(join(top, MANIFEST), MAX_MANIFEST))
        return _packed(location, opener, tree, top, manifest) if manifest.kind == PYTHON else None
    folders = distribution_folders(tree, top)
    if folders:
        facts = _collect(read_facts(tree, folder) for folder in without_host(tree, folders))
        bundle = _described(location, opener, top, Layout.SITE, facts)
        pythons = [bundle.requires_python, _python_of(tree, top)]
        return replace(bundle, requires_python=",".join(filter(None, pythons)))
    wheels = list(wheels_of(tree, top))
    if not wheels:
        return None
    facts = _collect(fact for wheel in wheels for fact in _wheel_facts(tree, wheel))
    return _described(location, opener, top, Layout.WHEELS, facts)


def wheels_of(tree: Tree, top: str) -> Iterator[str]:
    """Yield the wheels anywhere below ``top``."""
    found = (path for path in tree.walk(top) if path.endswith(".whl"))
    for number, path in enumerate(found):
        if number >= MAX_WHEELS:
            raise BundleError(f"it holds more than {MAX_WHEELS} wheels", hint="split it into several bundles")
        yield path


def _collect(found: Iterable[Facts]) -> list[Facts]:
    """Collect the facts of all distributions; raise if they declare too many plugins."""
    facts, count = [], 0
    for fact in found:
        count += len(fact.declarations) + len(fact.faults)
        if count > MAX_PLUGINS:
            raise too_many_plugins()
        facts.append(fact)
    return facts


def _packages_of(tree: Tree, top: str) -> str:
    """Return the site-packages folder of a virtual environment created on any platform."""
    unix, windows = join(top, "lib"), join(top, "Lib")
    folders = tree.children(top)[1]
    homes = tree.children(unix)[1] if unix in folders else [windows] if windows in folders else []
    found = [site for home in homes for site in tree.children(home)[1] if file_name(site) == "site-packages"]
    if not found:
        raise BundleError("it is a virtual environment without packages", hint="install into it with its own pip")
    return found[0]


def _python_of(tree: Tree, top: str) -> str:
    """Return the Python version of a virtual environment's packages, empty for any other layout."""
    home = top.rpartition("/lib/")[0] if "/lib/" in top else ""
    if not top.endswith("/site-packages") or join(home, VENV) not in tree.children(home)[0]:
        return ""
    found = _VERSION.search(tree.read_text(join(home, VENV)))
    return f"=={found[1]}.*" if found else ""


def _packed(location: Path, opener: Opener, tree: Tree, top: str, manifest: Manifest) -> PythonBundle:
    if not manifest.plugins:
        raise _no_plugins([f"{manifest.name} {manifest.version}"])
    wheels = [file.path for file in manifest.files if file.path.endswith(".whl")]
    _refuse_foreign(
        [each for each in wheels if plain_name(file_name(each).partition("-")[0]) == plain_name(manifest.name)]
    )
    manifest.check_presence(tree, top)
    return PythonBundle(
        location=location,
        name=manifest.name,
        version=manifest.version,
        layout=Layout.WHEELS,
        requires_python=manifest.requires_python,
        roots=(f"{manifest.name}=={manifest.version}",),
        declarations=manifest.plugins,
        top=top,
        hashes=manifest.hashes,
        opener=opener,
    )


def _described(location: Path, opener: Opener, top: str, layout: Layout, facts: list[Facts]) -> PythonBundle:
    """Build a bundle from the metadata of its distributions."""
    faults = [f"{fault} (of {fact.name} {fact.version})" for fact in facts for fault in fact.faults]
    newest: dict[tuple[str, str], tuple[Declaration, Facts]] = {}
    for fact in sorted(facts, key=lambda fact: version_key(fact.version)):
        for declaration in fact.declarations:
            key = (declaration.type.value, declaration.class_name)
            if key in newest and newest[key][0] != declaration:
                older = newest[key][1]
                faults.append(
                    f"{declaration.class_name} is declared by {older.name} {older.version} and by "
                    f"{fact.name} {fact.version}; the latter is used"
                )
            newest[key] = declaration, fact
    if not newest and not faults:
        raise _no_plugins([f"{fact.name} {fact.version}" for fact in facts])
    if not newest:
        raise BundleError("; ".join(faults), hint="correct the entry points of the project and pack it again")
    owners = list(dict.fromkeys(fact for _, fact in newest.values()))
    for owner in owners:
        _refuse_foreign([fact.wheel for fact in facts if (fact.name, fact.version) == (owner.name, owner.version)])
    wanted = sorted({fact.requires_python.replace(" ", "") for fact in owners} - {""})
    return PythonBundle(
        location=location,
        name=owners[0].name,
        version=owners[0].version,
        layout=layout,
        requires_python=",".join(wanted),
        roots=tuple(sorted({f"{fact.name}=={fact.version}" for fact in owners})),
        declarations=tuple(declaration for declaration, _ in newest.values()),
        faults=tuple(dict.fromkeys(faults)),
        top=top,
        opener=opener,
    )


def _refuse_foreign(wheels: Sequence[str]) -> None:
    """Raise if every wheel of a plugin distribution is for another platform; environments check the Python version."""
    named = [
        file_name(wheel) for wheel in wheels if file_name(wheel).count("-") >= _TAGGED
    ]  # other names have no platform
    built_for = {wheel: wheel[:-4].rpartition("-")[2] for wheel in named}
    if not built_for or any("any" in platforms.split(".") for platforms in built_for.values()):
        return
    from packaging.tags import platform_tags  # most bundles do not need it

    here = {*platform_tags()}
    if not any(here.intersection(platforms.split(".")) for platforms in built_for.values()):
        wheel, platforms = next(iter(built_for.items()))
        raise BundleError(
            f"{quoted(wheel)} was built for {quoted(platforms)}, and this machine is {sysconfig.get_platform()!r}",
            hint="take the bundle for this platform, or pack it here with `hearth bundle pack PROJECT`",
        )


def _wheel_facts(tree: Tree, wheel: str) -> list[Facts]:
    with _of_wheel(wheel), ZipTree(tree.open_archive(wheel)) as inside:
        folders = distribution_folders(inside)
        if not folders:
            raise BundleError("it has no .dist-info folder")
        return [read_facts(inside, folder, wheel) for folder in folders]


@contextlib.contextmanager
def _of_wheel(wheel: str) -> Iterator[None]:
    """Prefix errors with the wheel they concern."""
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{wheel}: {error}", hint=error.hint) from error


def _no_plugins(found: list[str]) -> BundleError:
    names = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    return BundleError(
        f"no plugin is declared: {names} has no entry point in a group of Hearth",
        hint='declare classes in pyproject.toml: [project.entry-points."hearth.source_connectors"]',
    )
