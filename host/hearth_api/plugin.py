"""The base class of all plugins: a version and a configuration definition."""

from __future__ import annotations

from hearth_api.config.definition import ConfigDef

UNDEFINED_VERSION = "undefined"
"""The version of a plugin without one; Kafka's REST responses omit it."""


class ConnectPlugin:
    """A class that users name in a configuration.

    Follows Kafka's `ConnectPlugin` and `Versioned` (KIP-891). Connectors, converters, header converters,
    transformations, predicates, config providers, override policies and REST extensions derive from it. The host
    instantiates a plugin class without arguments; the constructor must be cheap and free of side effects, because the
    host also creates instances only to read a version or a definition.
    """

    def version(self) -> str:
        """Return the version of this plugin, which REST shows and version ranges select.

        Called when the plugin is described and whenever it is instantiated, before `configure` or `start`; may be
        called any number of times and must return the same text each time. If it raises or returns no version, the
        version is reported as `undefined`, which sorts below every number.
        """
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys this plugin understands.

        Called when the plugin is described (`GET /connector-plugins/NAME/config`) and when a
        configuration that names it is validated, always before `configure` or `start` and possibly on an
        instance that is never started. Must not be `None` and should be the same each time; do not
        contact other systems here.
        """
        return ConfigDef()
