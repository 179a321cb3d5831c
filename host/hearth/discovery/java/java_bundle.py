"""Bundles of Java plugins, in the forms that Java Connect reads.

``read_java`` recognises archives at any depth, a single archive, and a directory of class files. The archive of a
Confluent Hub component has a ``manifest.json`` as well, a packed bundle the hashes of its files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.discovery.bundle import Bundle, file_name, join, stamp_of
from hearth.discovery.bundle_limits import MAX_MANIFEST, MAX_NAME
from hearth.discovery.declaration import Declaration, PluginType
from hearth.discovery.java.class_path import archives_of
from hearth.discovery.java.described_version import remember_versions, versions_of
from hearth.discovery.java.hub_manifest import HUB_MANIFEST, HubManifest, read_hub_manifest
from hearth.discovery.java.java_archive import CLASS, roots_of
from hearth.discovery.java.java_content import JavaContent, read_content, remember, remembered
from hearth.discovery.java.known_files import KnownFiles, Stamps, keep, recall, stamps_of
from hearth.discovery.manifest import BILL_OF_MATERIALS, JAVA, MANIFEST, SIGNATURE, Manifest
from hearth.discovery.refusal import BundleError, quoted
from hearth.discovery.tree import Opener, Tree
from hearth_api import UNDEFINED_VERSION

if TYPE_CHECKING:
    from hearth.discovery.core_metadata import CoreMetadata

_ENDINGS = (".jar", ".zip", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar")
_SHOWN = 3
"""Faults that a refusal names."""


@dataclass(frozen=True, kw_only=True)
class JavaBundle(Bundle):
    """A bundle of Java plugins."""

    kind = JAVA
    fault_hint = "leave it, as Java Connect does after logging it, or tell the author"
    tolerates_faults = True

    release: int
    """The Java release that it needs, such as 17."""
    class_path: tuple[str, ...] = field(repr=False)
    """Its archives in the order of the class path, relative to where it is unpacked; empty for a class hierarchy."""
    key: str = field(repr=False)
    """Hash of its files, under which what is known about them is kept."""
    stamps: Stamps | None = field(default=None, compare=False, repr=False)
    """Stamps of its files when they had this key; ``None`` if they were too new to rely on."""
    hub: HubManifest | None = field(default=None, compare=False, repr=False)
    """What a Confluent Hub archive says about itself."""

    @property
    def form(self) -> str:
        """Return how the classes are packed."""
        count = len(self.class_path)
        return "class files" if not count else "a jar" if count == 1 else f"{count} jars"

    @property
    def requires(self) -> str:
        """Return the Java release."""
        return str(self.release)

    def files(self, tree: Tree) -> list[str]:
        """Return the archives of the class path, or all files of a class hierarchy."""
        if self.class_path:
            return [join(self.top, path) for path in self.class_path]
        packed = {join(self.top, name) for name in (MANIFEST, SIGNATURE)}
        return sorted(path for path in tree.walk(self.top) if path not in packed)

    @property
    def undescribed(self) -> tuple[Declaration, ...]:
        """Return the plugins that no stage has asked for their version."""
        known = versions_of(self.key)
        return tuple(each for each in self.declarations if each.class_name not in known)

    def remember(self, versions: Mapping[str, str]) -> None:
        """Keep the versions under the key, so they hold for the same files elsewhere, too."""
        remember_versions(self.key, versions)

    def digest(self) -> str:
        """Return the key if no file has changed since it was computed, else compute it."""
        if self.key and self.stamps is not None and self.stamps == stamps_of(self.location):
            return self.key
        return super().digest()

    def packages(self) -> Iterator[CoreMetadata]:
        """Yield the coordinates of each jar; those of a packed bundle are in its bill of materials."""
        from hearth.discovery.java.java_package import package_of, packages_in  # not needed to list bundles

        hashes = self.hashes or {}
        with self.opener() as tree:
            bill = tree.read_text(join(self.top, BILL_OF_MATERIALS)) if BILL_OF_MATERIALS in hashes else "{}"
            known = packages_in(bill)
            for open_root in roots_of(tree, self.top, self.files(tree) if self.class_path else ()):
                with contextlib.closing(open_root()) as root:
                    known_one = known.get(hashes.get(root.path, ""))
                    yield replace(known_one, path=root.path) if known_one else package_of(root)


def read_java(location: Path, opener: Opener, tree: Tree, top: str) -> JavaBundle | None:
    """Read a bundle of Java plugins; return ``None`` for a tree without jars and class files."""
    if not any(path.lower().endswith((".jar", CLASS)) for path in tree.walk(top)):
        return None
    if location.is_dir():
        top = ""  # a single folder may be the first part of a package's name
    stamp, stamps = stamp_of(location, top), stamps_of(location)  # before reading, so that a later change shows
    archives = archives_of(location, tree, top)
    class_path = tuple(path[len(top) :].lstrip("/") for path in archives)
    manifest, hub = _manifest(tree, top), _hub_manifest(tree, top)
    own = manifest or hub
    name, version = (own.name, own.version) if own else (_name(location, top), UNDEFINED_VERSION)
    files = KnownFiles(stamps, top, class_path, name, version, hub, manifest.hashes if manifest else None)
    files = replace(files, key=_bundle(location, opener, files, stamp).digest())
    content = remembered(files.key)
    if content is None:
        content = read_content(roots_of(tree, top, archives))
        remember(files.key, content)
    keep(location, files)
    return _with_content(_bundle(location, opener, files, stamp), content)


def recall_java(location: Path, opener: Opener) -> JavaBundle | None:
    """Return a bundle that was read before, if no file has changed since; opens none of them."""
    if not location.name.lower().endswith(_ENDINGS) and not location.is_dir():
        return None
    stamp, files = stamp_of(location), recall(location)
    content = remembered(files.key) if files else None
    if files is None or content is None:
        return None
    return _with_content(_bundle(location, opener, files, stamp), content)


def _bundle(location: Path, opener: Opener, files: KnownFiles, stamp: int) -> JavaBundle:
    """Return a bundle without its plugins."""
    return JavaBundle(
        location=location,
        name=files.name,
        version=files.version,
        declarations=(),
        top=files.top,
        opener=opener,
        stamp=stamp,
        release=0,
        class_path=files.class_path,
        key=files.key,
        stamps=files.stamps,
        hub=files.hub,
        hashes=files.hashes,
    )


def _with_content(bundle: JavaBundle, content: JavaContent) -> JavaBundle:
    if not content.plugins:
        hint = "put a library into the directory of the plugin that needs it, or take it off plugin.path"
        faults = [*content.faults[:_SHOWN], *(["…"] if len(content.faults) > _SHOWN else [])]
        raise BundleError("; ".join(faults) or "none of its Java classes is a plugin of Kafka Connect", hint=hint)
    versions = versions_of(bundle.key)
    declarations = (
        Declaration(name, PluginType(type_), versions.get(name, UNDEFINED_VERSION), name)
        for name, type_ in content.plugins
    )
    return replace(
        bundle,
        declarations=tuple(declarations),
        faults=content.faults,
        release=content.release,
        notes=content.notes,
    )


def _manifest(tree: Tree, top: str) -> Manifest | None:
    """Return the manifest of a packed bundle, whose files are all there."""
    path = join(top, MANIFEST)
    if path not in tree.children(top)[0]:
        return None
    found = Manifest.from_text(tree.read_text(path, MAX_MANIFEST))
    if found.kind != JAVA:
        raise BundleError(f"its plugins are of the kind {quoted(found.kind)}", hint="install a newer Hearth")
    found.check_presence(tree, top)
    return found


def _hub_manifest(tree: Tree, top: str) -> HubManifest | None:
    path = join(top, HUB_MANIFEST)
    return read_hub_manifest(tree.read_text(path)) if path in tree.children(top)[0] else None


def _name(location: Path, top: str) -> str:
    """Return the name of a bundle that does not name itself: its folder's, else its file's without the ending."""
    if location.is_dir() or not top:
        name = location.name
        ending = "" if location.is_dir() else next((each for each in _ENDINGS if name.lower().endswith(each)), "")
        name = name[: len(name) - len(ending)]
    else:
        name = file_name(top)
    return name[:MAX_NAME]
