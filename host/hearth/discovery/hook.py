"""Hooks of discovery: a new kind of bundle is a new plugin of the host, not a change to it.

A package that is installed with the host registers an object under an entry point of the group
``hearth``; its ``hearth_read_bundle`` is asked before the built-in formats.
"""

from __future__ import annotations

from pathlib import Path

import pluggy

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
