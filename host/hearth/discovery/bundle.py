"""Bundles on plugin.path, described by their manifest or metadata.

``read_bundle`` recognises three layouts in any tree: a packed bundle (``hearth-bundle.json`` and wheels), wheels,
or a site directory (packages next to their ``.dist-info`` folders, as in ``pip install --target`` or a virtual
environment). A single top-level folder, common in archives, is skipped. A ``pylock.toml`` (PEP 751) next to wheels
pins the packages they are installed with.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import IO

from hearth.discovery.archive import ZipTree
from hearth.discovery.bundle_limits import MAX_MANIFEST, MAX_PLUGINS, MAX_WHEELS
from hearth.discovery.declaration import Declaration
from hearth.discovery.location import PYLOCK, VENV
from hearth.discovery.manifest import MANIFEST, Manifest
from hearth.discovery.metadata import Facts, distribution_folders, read_facts, too_many_plugins, without_host
from hearth.discovery.refusal import COPY_AGAIN, BundleError, quoted
from hearth.discovery.tree import Opener, Reading, Tree, blocks, check_path, is_ignored
from hearth.discovery.version_order import version_key

_BUILD = "`hearth bundle install` builds it and puts it on plugin.path, `hearth bundle pack` makes a bundle of it"
_OTHER_FORMS = {
    ".jar": ("it holds Java archives", "Hearth runs Python plugins; Java connectors stay with Java Connect"),
    ".zip": ("it holds archives one level too deep", "name this directory in plugin.path, or move them up"),
    ".gz": ("it holds archives one level too deep", "name this directory in plugin.path, or move them up"),
    "PKG-INFO": ("it is a source distribution", _BUILD),
    "pyproject.toml": ("it is the source of a project", _BUILD),
    "setup.py": ("it is the source of a project", _BUILD),
}

_VERSION = re.compile(r"^version(?:_info)? *= *(\d+\.\d+)", re.MULTILINE)
_TAGGED = 4
"""Hyphens in a wheel's file name, which separate name, version, Python, ABI and platform."""


class Layout(str, Enum):
    """The layout of a bundle: wheels that need installing, or packages ready for ``sys.path``."""

    WHEELS = "wheels"
    SITE = "site"


@dataclass(frozen=True)
class Bundle:
    """A readable bundle: its plugins and access to its files."""

    location: Path
    name: str
    version: str
    layout: Layout
    requires_python: str
    roots: tuple[str, ...]
    """Requirements (``name==version``) of the distributions that declare plugins."""
    declarations: tuple[Declaration, ...] = field(compare=False)
    faults: tuple[str, ...] = field(compare=False)
    """Errors in single entry points; the other entry points are usable."""
    top: str = field(compare=False, repr=False)
    """The top-level folder in the tree that contains everything, ``""`` for none."""
    hashes: dict[str, str] | None = field(compare=False, repr=False)
    """SHA-256 of each packed file by path; ``None`` without a manifest."""
    opener: Opener = field(compare=False, repr=False)
    has_lock: bool = field(default=False, repr=False)
    """Whether a ``pylock.toml`` pins the packages that its wheels are installed with."""
    stamp: int = field(default=0, repr=False)
    """Stamp of the files, which changes when other files replace them at the location."""

    @property
    def is_current(self) -> bool:
        """Return whether the files have not changed since they were read."""
        return self.stamp == stamp_of(self.location, self.top)

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
    def identity(self) -> Bundle:
        """Return the part that distinguishes this bundle from an earlier one at the same location.

        Packages used in place are unchanged until another version is installed: programs write into their directories.
        """
        return self if self.site is None else replace(self, stamp=0)

    def digest(self) -> str:
        """Return a hash of the content: over the manifest's hashes if there are any, else over the files."""
        import hashlib  # not needed to list bundles

        digest = hashlib.sha256()
        with self.opener() as tree:
            for path in self._files(tree):
                relative = self._relative(path)
                known = None if self.hashes is None else self.hashes.get(relative)
                digest.update(os.fsencode(f"{relative} {known or _hash(tree, path)}\n"))
        return digest.hexdigest()

    def _files(self, tree: Tree) -> list[str]:
        """Return the files that make up the environment: the wheels and their lock, or a whole site directory."""
        if self.layout is Layout.SITE:
            return sorted(tree.walk(self.top))
        return sorted([*wheels_of(tree, self.top), *([_join(self.top, PYLOCK)] if self.has_lock else [])])

    def _relative(self, path: str) -> str:
        """Return a path of the tree relative to the bundle's top folder, as the manifest lists it."""
        return path[len(self.top) :].lstrip("/")

    def unpack(self, target: Path) -> None:
        """Copy the wheels and their lock, or the packages of a site directory, into ``target``.

        Raises ``BundleError`` for a file that does not match the manifest or cannot be read, and for a wheel that
        unpacks to more than the limit.
        """
        with self.opener() as tree:
            for path in self._files(tree):
                relative = self._relative(path)
                name = path.rpartition("/")[2] if self.layout is Layout.WHEELS else relative
                found = _copy(tree, path, target / check_path(name))
                if self.hashes is not None and self.hashes.get(relative) != found:
                    raise BundleError(f"{path} is not the file that was packed", hint=COPY_AGAIN)
                if name.endswith(".whl") and self.layout is Layout.WHEELS:
                    with _of_wheel(path), ZipTree(target / name) as wheel:
                        wheel.check()


def read_bundle(location: Path, opener: Opener) -> Bundle:
    """Read the bundle at ``location``; raise ``BundleError`` with the reason if it is not a bundle."""
    with opener() as tree:
        top = _top(tree)
        stamp = stamp_of(location, top)  # before reading, so that a change during the read causes another one
        found = _read(location, opener, tree, top)
        has_lock = found.layout is Layout.WHEELS and _join(top, PYLOCK) in tree.children(top)[0]
        return replace(found, stamp=stamp, has_lock=has_lock)


def _read(location: Path, opener: Opener, tree: Tree, top: str) -> Bundle:
    if _join(top, MANIFEST) in tree.children(top)[0]:
        return _packed(location, opener, tree, top)
    folders = distribution_folders(tree, top)
    if folders:
        facts = _collect(read_facts(tree, folder) for folder in without_host(tree, folders))
        bundle = _described(location, opener, top, Layout.SITE, facts)
        pythons = [bundle.requires_python, _python_of(tree, top)]
        return replace(bundle, requires_python=",".join(filter(None, pythons)))
    wheels = list(wheels_of(tree, top))
    if not wheels:
        raise _nothing(tree, top)
    facts = _collect(fact for wheel in wheels for fact in _wheel_facts(tree, wheel))
    return _described(location, opener, top, Layout.WHEELS, facts)


def stamp_of(location: Path, top: str = "") -> int:
    """Return a stamp that changes when a file is replaced or a directory's entries change.

    For a directory the entries of its folder ``top`` count. A missing location has stamp 0.
    """
    try:
        found = os.stat(location)
        if not stat.S_ISDIR(found.st_mode):
            return hash(_stat_stamp(found))
        with os.scandir(location / top) as entries:
            return hash(tuple(sorted((each.name, *_stamp(each)) for each in entries if not is_ignored(each.name))))
    except OSError:
        return 0


def _stamp(file: os.DirEntry[str]) -> tuple[int, ...]:
    try:
        return _stat_stamp(file.stat())
    except OSError:
        return ()  # a link to nothing


def _stat_stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


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


def _top(tree: Tree) -> str:
    """Return the folder that holds the layout: a single folder at the root is skipped.

    For a virtual environment this is its site-packages folder.
    """
    files, folders = tree.children()
    top = ""
    if not files and len(folders) == 1 and not folders[0].endswith(".dist-info"):
        top = folders[0]
        files, _ = tree.children(top)
    return _packages_of(tree, top) if _join(top, VENV) in files else top


def _packages_of(tree: Tree, top: str) -> str:
    """Return the site-packages folder of a virtual environment created on any platform."""
    unix, windows = _join(top, "lib"), _join(top, "Lib")
    folders = tree.children(top)[1]
    homes = tree.children(unix)[1] if unix in folders else [windows] if windows in folders else []
    found = [site for home in homes for site in tree.children(home)[1] if _file(site) == "site-packages"]
    if not found:
        raise BundleError("it is a virtual environment without packages", hint="install into it with its own pip")
    return found[0]


def _python_of(tree: Tree, top: str) -> str:
    """Return the Python version of a virtual environment's packages, empty for any other layout."""
    home = top.rpartition("/lib/")[0] if "/lib/" in top else ""
    if not top.endswith("/site-packages") or _join(home, VENV) not in tree.children(home)[0]:
        return ""
    found = _VERSION.search(tree.read_text(_join(home, VENV)))
    return f"=={found[1]}.*" if found else ""


def _packed(location: Path, opener: Opener, tree: Tree, top: str) -> Bundle:
    manifest = Manifest.from_text(tree.read_text(_join(top, MANIFEST), MAX_MANIFEST))
    if not manifest.plugins:
        raise _no_plugins([f"{manifest.name} {manifest.version}"])
    wheels = [file.path for file in manifest.files if file.path.endswith(".whl")]
    _refuse_foreign(
        [each for each in wheels if plain_name(_file(each).partition("-")[0]) == plain_name(manifest.name)]
    )
    present = set(tree.walk(top))
    missing = [file.path for file in manifest.files if _join(top, file.path) not in present]
    if missing:
        raise BundleError(f"{missing[0]} is listed in {MANIFEST} but not there", hint=COPY_AGAIN)
    return Bundle(
        location,
        manifest.name,
        manifest.version,
        Layout.WHEELS,
        manifest.requires_python,
        (f"{manifest.name}=={manifest.version}",),
        manifest.plugins,
        (),
        top,
        {file.path: file.sha256 for file in manifest.files},
        opener,
    )


def _described(location: Path, opener: Opener, top: str, layout: Layout, facts: list[Facts]) -> Bundle:
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
    return Bundle(
        location,
        owners[0].name,
        owners[0].version,
        layout,
        ",".join(wanted),
        tuple(sorted({f"{fact.name}=={fact.version}" for fact in owners})),
        tuple(declaration for declaration, _ in newest.values()),
        tuple(dict.fromkeys(faults)),
        top,
        None,
        opener,
    )


def _refuse_foreign(wheels: Sequence[str]) -> None:
    """Raise if every wheel of a plugin distribution is for another platform; environments check the Python version."""
    named = [_file(wheel) for wheel in wheels if _file(wheel).count("-") >= _TAGGED]  # other names have no platform
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


def _file(path: str) -> str:
    """Return the last part of a path inside a bundle."""
    return path.rpartition("/")[2]


def plain_name(name: str) -> str:
    """Return a distribution's name as its file names spell it."""
    return re.sub(r"[-_.]+", "_", name).lower()


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


def _copy(tree: Tree, path: str, target: Path) -> str:
    """Copy one file and return its SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        return _hash(tree, path, copy)


def _hash(tree: Tree, path: str, copy: IO[bytes] | None = None) -> str:
    import hashlib

    digest = hashlib.sha256()
    with Reading(f"{path} is damaged"), contextlib.closing(tree.open(path)) as source:
        for block in blocks(source):
            digest.update(block)
            if copy is not None:
                copy.write(block)
    return digest.hexdigest()


def _no_plugins(found: list[str]) -> BundleError:
    names = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    return BundleError(
        f"no plugin is declared: {names} has no entry point in a group of Hearth",
        hint='declare classes in pyproject.toml: [project.entry-points."hearth.source_connectors"]',
    )


def _nothing(tree: Tree, top: str) -> BundleError:
    """Return an error that names what the tree holds instead of a bundle."""
    files, folders = tree.children(top)
    if not files and not folders:
        return BundleError("it is empty", hint="remove it, or put a bundle there")
    below = [*files, *(path for folder in folders for path in tree.children(folder)[0])]
    endings = Counter(ending for path in below for ending in _OTHER_FORMS if path.endswith(ending))
    for ending in _OTHER_FORMS:
        if endings[ending]:
            reason, hint = _OTHER_FORMS[ending]
            return BundleError(reason if hint is _BUILD else f"{reason} and no distribution metadata", hint=hint)
    return BundleError("it has no metadata: neither a wheel nor a .dist-info folder")


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
