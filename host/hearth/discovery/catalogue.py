"""The catalogue: every plugin that was found, under every name it can be called by."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from hearth.discovery import alias, location
from hearth.discovery.bundle import Bundle
from hearth.discovery.failure import BundleError, quoted
from hearth.discovery.hook import bundle_formats
from hearth.discovery.installed import installed_declarations
from hearth.discovery.limit import MAX_NAME
from hearth.discovery.plugin import CLASSPATH, Declaration, Plugin, PluginType, Rejected
from hearth.discovery.version import version_key
from hearth_api import NotFoundError


class Catalogue:
    """What was found and what was turned away.

    Plugins stand in Kafka's order: class name, version, class path before bundles, location. So the last of
    several that share a name is the latest.
    """

    def __init__(self, plugins: Iterable[Plugin], rejected: Iterable[Rejected] = ()) -> None:
        self.plugins = tuple(sorted(plugins, key=_order))
        self.rejected = tuple(rejected)

    def of_type(self, *types: PluginType) -> list[Plugin]:
        """Return the plugins of the given types, all when none is given."""
        return [plugin for plugin in self.plugins if not types or plugin.type in types]

    def find(self, name: str, *types: PluginType) -> Plugin:
        """Return the latest plugin called ``name``: a class name, an alias or a Python path.

        Raises ``NotFoundError`` whose hint has the nearest names.
        """
        known = self._by_name.get(name, ())
        found = next((plugin for plugin in reversed(known) if not types or plugin.type in types), None)
        if found is None:
            wanted = " or ".join(types) or "plugin"
            near = ", ".join(self.nearest(name, *types))
            hint = f"nearest names: {near}" if near else "`hearth plugins list` shows what there is"
            raise NotFoundError(f"no {wanted} is called {name!r}", code="plugin.not_found", hint=hint)
        return found

    def versions(self, name: str, *types: PluginType) -> list[str]:
        """Return the distinct versions there are of a plugin, the latest last."""
        known = self._by_name.get(name, ())
        return list(dict.fromkeys(plugin.version for plugin in known if not types or plugin.type in types))

    def nearest(self, name: str, *types: PluginType) -> list[str]:
        """Return up to three names that resemble ``name``, the best first; each stands for another class."""
        if len(name) > MAX_NAME:
            return []
        names = {
            word: plugin.class_name
            for plugin in self.of_type(*types)
            for word in (plugin.class_name, alias.simple_name(plugin.class_name), *plugin.aliases)
        }
        folded = {word.lower(): word for word in names}
        close = difflib.get_close_matches(name.lower(), folded, n=12, cutoff=0.5)
        best: dict[str, str] = {}
        for word in (folded[match] for match in close):
            best.setdefault(names[word], word if self._is_name(word) else names[word])
        return list(best.values())[:3]

    def _is_name(self, word: str) -> bool:
        return word in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, list[Plugin]]:
        """Map names to plugins, the latest last; a class name goes before an alias that reads the same."""
        names: dict[str, list[Plugin]] = {}
        aliases: dict[str, list[Plugin]] = {}
        for plugin in self.plugins:
            for name in {plugin.class_name, plugin.python, plugin.python.replace(":", ".")}:
                names.setdefault(name, []).append(plugin)
            for short in plugin.aliases:
                aliases.setdefault(short, []).append(plugin)
        return {**aliases, **names}


def discover(plugin_path: Sequence[Path], include_host: bool = True) -> Catalogue:
    """Read everything on plugin.path and what is installed with the host; runs no code of a plugin."""
    found: list[tuple[Declaration, Bundle | None]] = []
    if include_host:
        found += [(declaration, None) for declaration in installed_declarations()]
    rejected = []
    for candidate in location.candidates(plugin_path):
        outcome = candidate if isinstance(candidate, Rejected) else read(candidate, candidate in plugin_path)
        if isinstance(outcome, Rejected):
            rejected.append(outcome)
        elif outcome is not None:
            found += [(declaration, outcome) for declaration in outcome.declarations]
            rejected += [_fault(outcome, fault) for fault in outcome.faults]
    aliases = alias.resolve(declaration for declaration, _ in found)
    return Catalogue([_plugin(declaration, bundle, aliases) for declaration, bundle in found], rejected)


def read(candidate: Path, is_named: bool = True) -> Bundle | Rejected | None:
    """Read one candidate; ``None`` when no format knows it and nobody named it (a README beside bundles).

    Whatever a candidate is, the answer is a bundle or a reason: the ones beside it must not suffer.
    """
    try:
        refusal = location.refusal(candidate)
        bundle: Bundle | None = None if refusal else bundle_formats().hook.hearth_read_bundle(location=candidate)
    except BundleError as error:
        return Rejected(str(candidate), str(error), error.hint or "")
    except OSError as error:
        return location.unreadable(candidate, error)
    except Exception as error:  # noqa: BLE001 - formats may come from other packages, and do what they like
        reason = f"the program that reads it failed: {type(error).__name__}: {quoted(str(error))}"
        return Rejected(str(candidate), reason, "remove it from plugin.path, and report it to who made the program")
    if bundle is None and refusal is None and is_named:
        return Rejected(str(candidate), "no bundle format reads it", "name a directory, wheel, .zip or .tar.gz")
    return refusal or bundle


def _plugin(declaration: Declaration, bundle: Bundle | None, aliases: dict[str, str]) -> Plugin:
    kept = [name for name in alias.candidates(declaration) if aliases.get(name) == declaration.class_name]
    return Plugin(
        declaration.class_name,
        declaration.type,
        declaration.version,
        tuple(kept),
        CLASSPATH if bundle is None else str(bundle.location),
        declaration.python,
        bundle,
        declaration.definitions,
    )


def _fault(bundle: Bundle, fault: str) -> Rejected:
    return Rejected(str(bundle.location), fault, "correct the entry points of the project and pack it anew")


def _order(plugin: Plugin) -> tuple[object, ...]:
    isolated = plugin.bundle is not None
    return plugin.class_name, version_key(plugin.version), isolated, plugin.location, plugin.type.value
