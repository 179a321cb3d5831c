"""The catalogue of discovered plugins and the names that refer to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hearth.discovery import alias, location
from hearth.discovery.bundle import Bundle, stamp_of
from hearth.discovery.declaration import Declaration, PluginType
from hearth.discovery.format import bundle_formats
from hearth.discovery.metadata import declared, distributions_here
from hearth.discovery.refusal import BundleError, Rejected, quoted
from hearth.discovery.version_order import version_key
from hearth_api import NotFoundError

CLASSPATH = "classpath"
"""Location of plugins installed with the host, as Kafka's REST API and tools name it."""
LONGEST_NAME = 1000


@dataclass(frozen=True)
class Plugin:
    """A plugin class that users can name in a configuration."""

    class_name: str
    type: PluginType
    version: str
    aliases: tuple[str, ...]
    location: str
    reference: str
    bundle: Bundle | None = field(default=None, repr=False)
    """The bundle it comes from; ``None`` for a plugin installed with the host."""
    definitions: tuple[Mapping[str, Any], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def declaration(self) -> Declaration:
        """Return the plugin as its distribution declares it."""
        return Declaration(self.class_name, self.type, self.version, self.reference, self.definitions)


class Catalogue:
    """Discovered plugins and rejected candidates.

    Plugins are in Kafka's order: class name, version, class path before bundles, location. The last of several
    plugins with one name is the latest.
    """

    def __init__(
        self, plugins: Iterable[Plugin], rejected: Iterable[Rejected] = (), plugin_path: Sequence[Path] = ()
    ) -> None:
        self.plugins = tuple(sorted(plugins, key=_order))
        self.rejected = tuple(rejected)
        self.plugin_path = tuple(plugin_path)
        """The directories that were scanned."""

    @cached_property
    def shadowed(self) -> tuple[Rejected, ...]:
        """Return bundles whose plugins are hidden by another bundle with the same class in the same version.

        The bundle whose location sorts last is used; bundles take precedence over the host's own plugins.
        """
        used = {(each.class_name, each.type, each.version): each for each in self.plugins}
        found = (each for each in self.plugins if used[each.class_name, each.type, each.version] is not each)
        return tuple(
            Rejected(
                each.location,
                f"{each.class_name} {each.version} is in {used[each.class_name, each.type, each.version].location} as "
                "well, which is the one that is used",
                "remove one of them, or give it another version",
            )
            for each in found
            if each.bundle is not None
        )

    def of_type(self, *types: PluginType) -> list[Plugin]:
        """Return the plugins of the given types, or all plugins without types."""
        return [plugin for plugin in self.plugins if not types or plugin.type in types]

    def find(self, name: str, *types: PluginType) -> Plugin:
        """Return the latest plugin named ``name``: a class name, an alias or a reference.

        Raises ``NotFoundError`` whose hint lists similar names.
        """
        known = self.known(name, *types)
        if not known:
            wanted = " or ".join(types) or "plugin"
            near = ", ".join(self.nearest(name, *types))
            hint = f"nearest names: {near}" if near else "`hearth plugins list` shows what there is"
            raise NotFoundError(f"no {wanted} is called {name!r}", code="plugin.not_found", hint=hint)
        return known[-1]

    def known(self, name: str, *types: PluginType) -> list[Plugin]:
        """Return all plugins named ``name``, the latest last."""
        return [plugin for plugin in self._by_name.get(name, ()) if not types or plugin.type in types]

    def versions(self, name: str, *types: PluginType) -> list[str]:
        """Return the distinct versions of a plugin, the latest last."""
        return list(dict.fromkeys(plugin.version for plugin in self.known(name, *types)))

    def nearest(self, name: str, *types: PluginType) -> list[str]:
        """Return up to three similar names, the most similar first, one for each class.

        A name longer than any valid one has no similar names: comparison takes quadratic time and memory.
        """
        if len(name) > LONGEST_NAME:
            return []
        import difflib  # needed only for errors

        names = {
            word: plugin.class_name
            for plugin in self.of_type(*types)
            for word in (plugin.class_name, *_ends(plugin.class_name), *plugin.aliases)
        }
        folded = {word.lower(): word for word in names}
        close = difflib.get_close_matches(name.lower(), folded, n=12, cutoff=0.5)
        best: dict[str, str] = {}
        for word in (folded[match] for match in close):
            best.setdefault(names[word], word if word in self._by_name else names[word])
        return list(best.values())[:3]

    @cached_property
    def _by_name(self) -> dict[str, list[Plugin]]:
        """Map names to plugins, the latest last; a class name takes precedence over an equal alias."""
        names: dict[str, list[Plugin]] = {}
        aliases: dict[str, list[Plugin]] = {}
        for plugin in self.plugins:
            for name in {plugin.class_name, plugin.reference, plugin.reference.replace(":", ".")}:
                names.setdefault(name, []).append(plugin)
            for short in plugin.aliases:
                aliases.setdefault(short, []).append(plugin)
        return {**aliases, **names}


def _ends(class_name: str) -> tuple[str, str]:
    """Return the short names of a class: without its package, and the inner name of a nested class."""
    return class_name.rpartition(".")[2], alias.simple_name(class_name)


Admit = Callable[[Bundle], None]
"""Raises ``BundleError`` for a valid bundle that the worker does not accept."""


def discover(plugin_path: Sequence[Path], include_host: bool = True, admit: Admit | None = None) -> Catalogue:
    """Read plugin.path and the plugins installed with the host, without running plugin code."""
    return PluginScanner(plugin_path, include_host, admit).look()


Outcome = Bundle | Rejected | None
"""The result of reading a candidate."""


class PluginScanner:
    """Scans plugin.path repeatedly and reads only new or changed candidates.

    A scan without changes costs two file system calls for each candidate. Bundles that ``admit`` refuses are rejected.
    Thread-safe.
    """

    def __init__(
        self,
        plugin_path: Sequence[Path],
        include_host: bool = True,
        admit: Admit | None = None,
        rules: Callable[[], object] = lambda: None,
    ) -> None:
        """``rules`` returns a stamp; when it changes, ``admit`` is called again for every bundle."""
        self._plugin_path = tuple(plugin_path)
        self._include_host = include_host
        self._admit = admit
        self._rules = rules
        self._last_rules: object = None
        self._lock = threading.Lock()
        self._outcomes: dict[Path, tuple[int, Outcome]] = {}
        self._catalogue: Catalogue | None = None

    def look(self) -> Catalogue:
        """Scan and return the catalogue; without changes this is the same object as before."""
        with self._lock:
            rules = self._rules()  # before reading, as with stamps
            outcomes = dict(self._read_outcomes(self._outcomes if rules == self._last_rules else {}))
            self._last_rules = rules
            if self._catalogue is None or outcomes != self._outcomes:
                self._catalogue = self._build([outcome for _, outcome in outcomes.values()])
            self._outcomes = outcomes
            return self._catalogue

    @cached_property
    def _installed(self) -> list[Declaration]:
        """The plugins installed with the host. They are read once because they are also loaded once."""
        return installed_declarations() if self._include_host else []

    def _read_outcomes(self, before: Mapping[Path, tuple[int, Outcome]]) -> Iterator[tuple[Path, tuple[int, Outcome]]]:
        """Yield each candidate with its stamp and result, in the order of plugin.path."""
        for candidate in location.candidates(self._plugin_path):
            if isinstance(candidate, Rejected):
                yield Path(candidate.location), (0, candidate)
                continue
            known = before.get(candidate)
            if known is None or not _is_current(candidate, *known):
                stamp = stamp_of(candidate)  # before reading, so that a change during the read causes another one
                known = stamp, read(candidate, candidate in self._plugin_path, self._admit)
            yield candidate, known

    def _build(self, outcomes: Sequence[Outcome]) -> Catalogue:
        found: list[tuple[Declaration, Bundle | None]] = []
        found += [(declaration, None) for declaration in self._installed]
        rejected = []
        for outcome in outcomes:
            if isinstance(outcome, Rejected):
                rejected.append(outcome)
            elif outcome is not None:
                found += [(declaration, outcome) for declaration in outcome.declarations]
                rejected += [_fault(outcome, fault) for fault in outcome.faults]
        return _catalogue(found, rejected, self._plugin_path)


def _is_current(candidate: Path, stamp: int, outcome: Outcome) -> bool:
    """Return whether a candidate has not changed since it was read.

    A rejected directory is read again each time: its missing files may be added where the stamp does not show it.
    """
    if isinstance(outcome, Bundle):
        return outcome.is_current
    return stamp == stamp_of(candidate) and not candidate.is_dir()


def read(candidate: Path, is_named: bool = True, admit: Admit | None = None) -> Bundle | Rejected | None:
    """Read one candidate; return ``None`` if no format reads it and it was not named (a README next to bundles).

    Returns a bundle or a reason for every candidate, so that a bad one does not affect the others.
    """
    try:
        refusal = location.refusal(candidate)
        bundle: Bundle | None = None if refusal else bundle_formats().hook.hearth_read_bundle(location=candidate)
        if bundle is not None and admit is not None:
            admit(bundle)
    except BundleError as error:
        return Rejected(str(candidate), str(error), error.hint or "")
    except OSError as error:
        return location.unreadable(candidate, error)
    except Exception as error:  # noqa: BLE001 - formats may come from other packages, and do what they like
        reason = f"its bundle format failed: {type(error).__name__}: {quoted(str(error))}"
        return Rejected(str(candidate), reason, "remove it from plugin.path, and report this to the format's author")
    if bundle is None and refusal is None and is_named:
        return Rejected(str(candidate), "no bundle format reads it", "name a directory, wheel, .zip or .tar.gz")
    return refusal or bundle


def _catalogue(
    found: Sequence[tuple[Declaration, Bundle | None]], rejected: Sequence[Rejected], plugin_path: Sequence[Path]
) -> Catalogue:
    aliases = alias.resolve(declaration for declaration, _ in found)
    plugins = [_plugin(declaration, bundle, aliases) for declaration, bundle in found]
    return Catalogue(plugins, rejected, plugin_path)


def _plugin(declaration: Declaration, bundle: Bundle | None, aliases: dict[str, str]) -> Plugin:
    kept = [name for name in alias.candidates(declaration) if aliases.get(name) == declaration.class_name]
    return Plugin(
        declaration.class_name,
        declaration.type,
        declaration.version,
        tuple(kept),
        CLASSPATH if bundle is None else str(bundle.location),
        declaration.reference,
        bundle,
        declaration.definitions,
    )


def _fault(bundle: Bundle, fault: str) -> Rejected:
    return Rejected(str(bundle.location), fault, bundle.fault_hint)


def _order(plugin: Plugin) -> tuple[object, ...]:
    isolated = plugin.bundle is not None
    return plugin.class_name, version_key(plugin.version), isolated, plugin.location, plugin.type.value


def installed_declarations() -> list[Declaration]:
    """Return the plugins declared by distributions on the host's ``sys.path``."""
    found: dict[str, Declaration] = {}
    for version, points in distributions_here():
        for declaration in declared(points, version)[0]:
            # Imports use the first distribution on sys.path.
            found.setdefault(f"{declaration.type}:{declaration.class_name}", declaration)
    return list(found.values())
