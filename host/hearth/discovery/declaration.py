"""Plugin declarations of a distribution, and the plugin types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from hearth.discovery.bundle_limits import MAX_NAME
from hearth.discovery.refusal import quoted

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class PluginType(str, Enum):
    """A plugin type. The values are those of Kafka's REST API, which has no token providers."""

    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "configprovider"
    TOKEN_PROVIDER = "token_provider"  # noqa: S105  a type, no secret
    REST_EXTENSION = "rest_extension"
    OVERRIDE_POLICY = "connector_client_config_override_policy"

    def __str__(self) -> str:
        """Return the REST value, so that messages and tables match Kafka's."""
        return self.value

    @property
    def group(self) -> str:
        """Return the entry-point group in which distributions declare plugins of this type."""
        return _GROUPS[self]

    @property
    def suffix(self) -> str:
        """Return the suffix of a class name that an alias may omit."""
        return _SUFFIXES[self]


_GROUPS = {
    PluginType.SOURCE: "hearth.source_connectors",
    PluginType.SINK: "hearth.sink_connectors",
    PluginType.CONVERTER: "hearth.converters",
    PluginType.HEADER_CONVERTER: "hearth.header_converters",
    PluginType.TRANSFORMATION: "hearth.transformations",
    PluginType.PREDICATE: "hearth.predicates",
    PluginType.CONFIG_PROVIDER: "hearth.config_providers",
    PluginType.TOKEN_PROVIDER: "hearth.token_providers",
    PluginType.REST_EXTENSION: "hearth.rest_extensions",
    PluginType.OVERRIDE_POLICY: "hearth.client_config_override_policies",
}
TYPE_OF_GROUP = {group: type_ for type_, group in _GROUPS.items()}

_SUFFIXES = {
    PluginType.SOURCE: "Connector",
    PluginType.SINK: "Connector",
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
    PluginType.CONFIG_PROVIDER: "ConfigProvider",
    PluginType.TOKEN_PROVIDER: "TokenProvider",
    PluginType.REST_EXTENSION: "ConnectRestExtension",
    PluginType.OVERRIDE_POLICY: "ConnectorClientConfigOverridePolicy",
}


@dataclass(frozen=True)
class Declaration:
    """A plugin as its distribution declares it, obtained without running the plugin's code."""

    class_name: str
    type: PluginType
    version: str
    reference: str
    definitions: tuple[Mapping[str, Any], ...] | None = field(default=None, compare=False, repr=False)
    """The configuration definition (``ConfigKeyInfo`` objects) packed with the bundle, if any."""

    def fault(self) -> str | None:
        """Return what is wrong with an untrusted declaration; ``None`` if it is valid.

        Names reach terminals, REST responses and file names; the reference reaches an import.
        """
        if not is_name(self.class_name):
            return "has no printable name"
        if not is_name(self.version):
            return f"has the version {quoted(self.version)}"
        is_short = len(self.reference.encode()) <= MAX_NAME  # it is part of a file's name
        if not is_short or not _REFERENCE.fullmatch(self.reference):
            return f"is {quoted(self.reference)}, not module:Class"
        return None


def is_name(text: str) -> bool:
    """Return whether a string is printable on one line as a name."""
    return 0 < len(text) <= MAX_NAME and text.isprintable()
