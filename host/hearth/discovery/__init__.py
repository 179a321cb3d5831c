"""Discovers bundles and catalogues their plugins without running plugin code.

``location`` turns plugin.path into candidates. A ``format`` (built in or registered by an entry point) reads each one.
``tree`` and ``archive`` give directories, zip files and tar archives one interface, within ``bundle_limits``.
``bundle_kind`` asks each kind of bundle whether a tree is one: ``python_bundle`` detects the layout of packages, and
``metadata`` and ``manifest`` read its ``declaration`` objects; ``java`` reads class files.
``catalogue`` scans plugin.path, adds the plugins installed with the host, sorts them in Kafka's order
(``version_order``) and resolves Kafka's aliases (``alias``). Unusable candidates are kept with the reason
(``refusal``). ``trust`` rejects bundles that lack hashes or a trusted ``signature``, and bundles that are revoked
(``revocation``) themselves or through a package they contain (``core_metadata``).
"""

from hearth.discovery.bundle import Bundle
from hearth.discovery.catalogue import CLASSPATH, Catalogue, Plugin, PluginScanner, discover, read
from hearth.discovery.declaration import PluginType
from hearth.discovery.location import default_plugin_path, split_plugin_path
from hearth.discovery.refusal import BundleError, Rejected

__all__ = [
    "CLASSPATH",
    "Bundle",
    "BundleError",
    "Catalogue",
    "Plugin",
    "PluginType",
    "Rejected",
    "PluginScanner",
    "default_plugin_path",
    "discover",
    "read",
    "split_plugin_path",
]
