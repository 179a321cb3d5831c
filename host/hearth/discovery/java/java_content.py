"""The content of a Java bundle: its plugins and the Java it needs, read once and kept by a hash of the files."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hearth.discovery.bundle_limits import (
    MAX_CLASSES,
    MAX_ENTRIES,
    MAX_NAME,
    MAX_PARENTS,
    MAX_PLUGINS,
    MAX_TEXT,
    bundle_limits,
)
from hearth.discovery.declaration import PluginType, is_name
from hearth.discovery.java.class_file import ClassHeader, has_public_constructor, read_header
from hearth.discovery.java.class_path import refuse_outside
from hearth.discovery.java.connect_class import LISTED_ONLY, connect_classes, is_own
from hearth.discovery.java.java_archive import CLASS, MANIFEST_FILE, SERVICES, ClassRoot, Root
from hearth.discovery.java.java_package import properties_in
from hearth.discovery.java.plugin_class import Service, services_in, types_of
from hearth.discovery.metadata import too_many_plugins
from hearth.discovery.refusal import BundleError, quoted
from hearth.foundation.user_file import cache_directory, replace_text

_FORMAT = 2
_OTHER_RELEASES = "META-INF/versions/"
_NATIVE = (".so", ".dll", ".dylib", ".jnilib")
_KAFKA = re.compile(r"(?:.*/)?(?:kafka-clients|connect-(?:api|json|transforms|runtime))-(\d[\w.-]*)\.jar")
_KAFKA_VERSION = "kafka/kafka-version.properties"
_STAGES_KAFKA = "4"
"""Major version of Kafka's classes in a stage."""
_SHOWN = 3
"""Classes in two versions that are named; the others are counted."""


@dataclass(frozen=True)
class JavaContent:
    """What the class files and service manifests of a bundle say."""

    plugins: tuple[tuple[str, str], ...]
    """Class name and type of each plugin."""
    release: int
    """The Java release that its newest class needs, 0 without classes."""
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences on classes that are there in two versions, on another Kafka, and on native libraries."""


def read_content(roots: Sequence[Root]) -> JavaContent:
    """Read the elements of a class path in their order; of a class that is there twice, the first counts."""
    reading = _ClassPathReader()
    for number, open_root in enumerate(roots):
        with contextlib.closing(open_root()) as root:
            reading.read(number, root)
    return reading.content(roots)


class _ClassPathReader:
    """Reads the elements of a class path and collects what they hold."""

    def __init__(self) -> None:
        self._classes: dict[str, ClassHeader] = {}
        self._places: dict[str, tuple[int, str, int | None]] = {}
        """Number of the element, its path and the checksum of each class file, by class name."""
        self._entries = self._packed = self._unpacked = self._parents = 0
        self._clashes: dict[str, str] = {}
        self._native: list[str] = []
        self._kafkas: dict[str, str] = {}
        """Versions of Kafka by the element that has them."""
        self._services: dict[Service, str] = {}
        self._faults: list[str] = []

    def read(self, number: int, root: ClassRoot) -> None:
        """Read all classes and service manifests of one element."""
        self._entries += len(root.names)
        self._packed += root.packed
        self._unpacked += root.unpacked
        if self._entries > MAX_ENTRIES:
            raise BundleError(
                f"its archives hold more than {MAX_ENTRIES} entries", hint="split it into several bundles"
            )
        if self._unpacked > bundle_limits(self._packed):
            raise BundleError(f"its classes unpack from {self._packed} bytes to {self._unpacked}, more than the limit")
        if (named := _KAFKA.fullmatch(root.path)) is not None:
            self._kafkas[root.path] = named[1]
        for name in root.names:
            if name.endswith(CLASS) and not name.startswith(_OTHER_RELEASES):
                self._read_class(number, root, name)
            elif name.startswith(SERVICES):
                text = root.read(name, MAX_TEXT).decode("utf-8", "replace")
                for each in services_in(name, text):
                    if isinstance(each, Service):
                        self._services.setdefault(each, root.where(name))
                    else:
                        self._faults.append(f"{root.path}: {each}" if root.path else each)
                    if len(self._services) + len(self._faults) > MAX_PLUGINS:
                        raise too_many_plugins()
            elif name == MANIFEST_FILE:
                refuse_outside(root.path, root.read(name, MAX_TEXT).decode("utf-8", "replace"))
            elif name == _KAFKA_VERSION:
                version = properties_in(root.read(name, MAX_TEXT).decode("latin-1")).get("version", "")
                self._kafkas.setdefault(root.path, version)
            elif name.lower().endswith(_NATIVE):
                self._native.append(root.where(name))

    def _read_class(self, number: int, root: ClassRoot, name: str) -> None:
        class_name = name[: -len(CLASS)]
        if class_name.endswith(("module-info", "package-info")):
            return
        if class_name in self._classes:
            _, path, checksum = self._places[class_name]
            if checksum != root.checksum(name):
                self._clashes.setdefault(class_name, f"in {path} and {root.path}")
            return
        if len(self._classes) >= MAX_CLASSES:
            raise BundleError(f"it holds more than {MAX_CLASSES} classes", hint="split it into several bundles")
        try:
            header = read_header(root.read(name))
        except BundleError as error:
            where = root.where(name)
            raise error if where in str(error) else BundleError(f"{where}: {error}", hint=error.hint) from error
        self._parents += len(header.parents)
        if self._parents > MAX_PARENTS:
            raise BundleError(f"its classes extend more than {MAX_PARENTS} others", hint="do not install it")
        if header.name == class_name:  # Java cannot load it from another path
            self._classes[class_name] = header
            self._places[class_name] = number, root.path, root.checksum(name)

    def content(self, roots: Sequence[Root]) -> JavaContent:
        """Return what was found, after a second look at the classes that may be plugins."""
        wanted = self._candidates()
        if len(wanted) > MAX_PLUGINS:
            raise too_many_plugins()
        usable = self._constructible(wanted, roots)
        plugins = sorted((name, type_.value) for name in usable for type_ in wanted[name])
        release = max((each.release for each in self._classes.values()), default=0)
        notes = (*self._clashing(usable), *self._other_kafkas(), *self._natives())
        return JavaContent(tuple(plugins), release, (*self._faults, *self._absent()), notes)

    def _candidates(self) -> dict[str, set[PluginType]]:
        """Return the types of each own concrete class, by dotted name."""
        listed = {(each.class_name, each.type) for each in self._services}
        listed |= {(name, type_) for name, types in connect_classes().items() for type_ in types}
        found = {}
        for path, types in types_of(self._classes, connect_classes()).items():
            name = path.replace("/", ".")
            kept = {each for each in types if each not in LISTED_ONLY or (name, each) in listed}
            if kept and self._classes[path].is_concrete and is_own(name):
                found[name] = kept
        return found

    def _constructible(self, names: Iterable[str], roots: Sequence[Root]) -> list[str]:
        """Return the classes with a public constructor without parameters; a name that cannot be shown is a fault."""
        by_root: dict[int, list[str]] = {}
        for name in names:
            if is_name(name) and len(name.encode("utf-8", "replace")) <= MAX_NAME:
                by_root.setdefault(self._places[name.replace(".", "/")][0], []).append(name)
            else:
                self._faults.append(f"the class {quoted(name)} has no printable name of up to {MAX_NAME} bytes")
        found = []
        for number, those in by_root.items():
            with contextlib.closing(roots[number]()) as root:
                found += [each for each in those if has_public_constructor(root.read(each.replace(".", "/") + CLASS))]
        return found

    def _absent(self) -> Iterator[str]:
        """Yield a message for each class that a service manifest names and that is nowhere."""
        known = connect_classes()
        for service, where in self._services.items():
            if service.class_name.replace(".", "/") not in self._classes and service.class_name not in known:
                yield f"{where} names {quoted(service.class_name)}, which is not in the bundle"

    def _clashing(self, plugins: Iterable[str]) -> Iterator[str]:
        """Yield a sentence on each of the first classes in two versions, plugins first."""
        first = {each.replace(".", "/") for each in plugins}
        names = sorted(self._clashes, key=lambda each: (each not in first, each))
        for name in names[:_SHOWN]:
            yield f"{name.replace('/', '.')} is {self._clashes[name]} with different content; Java uses the first"
        if len(names) > _SHOWN:
            yield f"so are {len(names) - _SHOWN} other classes"

    def _other_kafkas(self) -> Iterator[str]:
        """Yield a sentence on the first archive of another Kafka than that of the stages."""
        others = {path: each for path, each in self._kafkas.items() if each.partition(".")[0] != _STAGES_KAFKA}
        for path, version in [*others.items()][:1]:
            what = f"{quoted(path)} is" if path else "it is"
            lacks = "which lacks some of its classes and methods (NoClassDefFoundError, NoSuchMethodError)"
            yield f"{what} of Kafka {quoted(version)}; plugins run on Kafka {_STAGES_KAFKA}, {lacks}"

    def _natives(self) -> Iterator[str]:
        if self._native:
            where = quoted(self._native[0])
            yield f"native libraries: {len(self._native)}, such as {where}; Java does not check what they do"


def remembered(key: str) -> JavaContent | None:
    """Return the content that was kept under a hash, if it was."""
    try:
        found = json.loads(_place(key).read_text(encoding="utf-8"))
        if found.pop("format") != _FORMAT:
            return None
        plugins = tuple((str(name), PluginType(type_).value) for name, type_ in found["plugins"])
        texts = (tuple(map(str, found[each])) for each in ("faults", "notes"))
        return JavaContent(plugins, int(found["release"]), *texts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def remember(key: str, content: JavaContent) -> None:
    """Keep the content under a hash; a full disk or a directory without access costs only time."""
    with contextlib.suppress(OSError):
        replace_text(_place(key), json.dumps({"format": _FORMAT, **asdict(content)}))


def _place(key: str) -> Path:
    return cache_directory("java-bundles", f"{key}.json")
