"""What every plugin class has in common: a version and a configuration definition."""

from __future__ import annotations

from hearth_api.config.definition import ConfigDef

UNDEFINED_VERSION = "undefined"
"""The version of a plugin that states none; Kafka's REST answers leave such a version out."""


class ConnectPlugin:
    """Something users name in a configuration.

    Follows Kafka's `ConnectPlugin` and `Versioned` (KIP-891). Connectors, converters, header converters,
    transformations, predicates, config providers, override policies and REST extensions derive from it.
    A plugin class is instantiated without arguments; the constructor must be cheap and free of side
    effects, because instances are also made only to ask for a version or a definition.
    """

    def version(self) -> str:
        """Return the version of this plugin as REST shows it and as version ranges select it.

        Called when the plugin is described and whenever it is instantiated, before `configure` or
        `start`; may be called any number of times and must return the same text each time. An exception
        or a missing version is reported as `undefined`; `undefined` sorts below every number.
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
