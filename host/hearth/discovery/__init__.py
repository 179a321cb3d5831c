"""Bundles and the catalogue of plugins, read and never run.

``location`` turns plugin.path into candidates and a ``format`` reads each (``hook`` says how others add one);
``tree`` and ``archive`` make directories, zips and tar archives look alike, within the limits of ``allowance``;
``bundle`` finds the layout in a tree, ``metadata`` and ``manifest`` read what it declares; ``installed`` adds
what came with the host. ``catalogue`` puts all of it in Kafka's order (``version``) and under Kafka's aliases
(``alias``). What cannot be used is kept with its reason.
"""

from hearth.discovery.bundle import Bundle, Layout
from hearth.discovery.catalogue import Catalogue, discover, read
from hearth.discovery.failure import BundleError
from hearth.discovery.location import split_plugin_path
from hearth.discovery.plugin import CLASSPATH, Plugin, PluginType, Rejected

__all__ = [
    "CLASSPATH",
    "Bundle",
    "BundleError",
    "Catalogue",
    "Layout",
    "Plugin",
    "PluginType",
    "Rejected",
    "discover",
    "read",
    "split_plugin_path",
]
