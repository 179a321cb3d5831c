"""Bundles and the catalogue of plugins, read and never run.

``location`` turns plugin.path into candidates and a ``format`` reads each, be it one that others have added;
``tree`` and ``archive`` make directories, zips and tar archives look alike, within the limits of ``bundle_limits``;
``bundle`` finds the layout in a tree, ``metadata`` and ``manifest`` read its ``declaration``. ``catalogue`` looks
through all of it, as often as wanted, adds what came with the host and puts it in Kafka's order (``version_order``)
and under Kafka's aliases (``alias``). What cannot be used is kept with its reason (``refusal``). So is what a worker
does not take: ``trust`` asks for hashes, for a ``signature``, and whether a list says that a bundle or a package in it
(``core_metadata``) is revoked (``revocation``).
"""

from hearth.discovery.bundle import Bundle, Layout
from hearth.discovery.catalogue import CLASSPATH, Catalogue, Plugin, PluginScanner, discover, read
from hearth.discovery.declaration import PluginType
from hearth.discovery.location import default_plugin_path, split_plugin_path
from hearth.discovery.refusal import BundleError, Rejected

__all__ = [
    "CLASSPATH",
    "Bundle",
    "BundleError",
    "Catalogue",
    "Layout",
    "Plugin",
    "PluginType",
    "Rejected",
    "PluginScanner",
    "default_plugin_path",
    "discover",
    "read",
    "split_plugin_path",
]
