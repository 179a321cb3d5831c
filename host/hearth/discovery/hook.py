"""Hooks of discovery: a new kind of bundle is a new plugin of the host, not a change to it.

A package that is installed with the host registers an object under an entry point of the group
``hearth``; its ``hearth_read_bundle`` is asked before the built-in formats.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from hearth.discovery.bundle import Bundle

PROJECT = "hearth"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def hearth_read_bundle(location: Path) -> Bundle | None:
    """Read the bundle at ``location``, which exists; return ``None`` when it is not of this format.

    Called for each candidate of plugin.path, possibly from several threads; the first result wins. Must
    not run code of the bundle. Raise ``BundleError`` (reason, ``hint=``) when it is of this format but
    not usable.
    """


class _Hooks:
    """The specifications, as pluggy wants to find them: attributes of one object."""

    hearth_read_bundle = staticmethod(hearth_read_bundle)


@lru_cache(maxsize=1)
def bundle_formats() -> pluggy.PluginManager:
    """Return the registered formats: the built-in ones, and before them those of installed packages."""
    from hearth.discovery.format import BUILT_IN

    formats = pluggy.PluginManager(PROJECT)
    formats.add_hookspecs(_Hooks)
    for name, format_ in BUILT_IN.items():
        formats.register(format_, name)
    formats.load_setuptools_entrypoints(PROJECT)
    return formats
