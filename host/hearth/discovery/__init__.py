"""Discovers bundles and catalogues their plugins without running plugin code.

``location`` turns plugin.path into candidates. A ``format`` (built in or registered by an entry point) reads each one.
``tree`` and ``archive`` give directories, zip files and tar archives one interface, within ``bundle_limits``.
``bundle`` detects the layout of a tree; ``metadata`` and ``manifest`` read its ``declaration`` objects.
``catalogue`` scans plugin.path, adds the plugins installed with the host, sorts them in Kafka's order
(``version_order``) and resolves Kafka's aliases (``alias``). Unusable candidates are kept with the reason
(``refusal``). ``trust`` rejects bundles that lack hashes or a trusted ``signature``, and bundles that are revoked
(``revocation``) themselves or through a package they contain (``core_metadata``).
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
