"""The classes of Kafka Connect that the host itself has, and which of a bundle's classes they hide.

``connect_classes.txt`` lists each class of Kafka Connect 4.3.1 that is a plugin or may be extended to one, with its
types. As in Kafka's plugin class loader, a bundle's own class of such a name is used only in certain packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from hearth.discovery.declaration import PluginType

INTERFACES = {
    "org.apache.kafka.connect.source.SourceConnector": PluginType.SOURCE,
    "org.apache.kafka.connect.sink.SinkConnector": PluginType.SINK,
    "org.apache.kafka.connect.storage.Converter": PluginType.CONVERTER,
    "org.apache.kafka.connect.storage.HeaderConverter": PluginType.HEADER_CONVERTER,
    "org.apache.kafka.connect.transforms.Transformation": PluginType.TRANSFORMATION,
    "org.apache.kafka.connect.transforms.predicates.Predicate": PluginType.PREDICATE,
    "org.apache.kafka.common.config.provider.ConfigProvider": PluginType.CONFIG_PROVIDER,
    "org.apache.kafka.connect.rest.ConnectRestExtension": PluginType.REST_EXTENSION,
    "org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy": PluginType.OVERRIDE_POLICY,
}
"""The class or interface of each plugin type."""
LISTED_ONLY = (PluginType.CONFIG_PROVIDER, PluginType.REST_EXTENSION, PluginType.OVERRIDE_POLICY)
"""Types whose plugins Kafka finds in service manifests only."""
CONNECT_CLASSES = Path(__file__).with_name("connect_classes.txt")

_KAFKA = "org.apache.kafka."
_OWN_PACKAGES = tuple(
    f"{_KAFKA}{each}."
    for each in (
        "connect.transforms",
        "connect.json",
        "connect.file",
        "connect.mirror",
        "connect.mirror-client",
        "connect.converters",
        "connect.connector.policy",
        "common.config.provider",
    )
)
_OWN_CLASSES = (
    f"{_KAFKA}connect.storage.StringConverter",
    f"{_KAFKA}connect.storage.SimpleHeaderConverter",
    f"{_KAFKA}connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension",
)
_POLICY = f"{_KAFKA}connect.connector.policy.ConnectorClientConfig"
_SHARED = (*INTERFACES, f"{_POLICY}Request", f"{_POLICY}Request$ClientType")
"""Classes of those packages that all bundles share, because the worker calls plugins through them."""


@lru_cache(maxsize=1)
def connect_classes() -> Mapping[str, frozenset[PluginType]]:
    """Return the types of each class of Kafka Connect, by dotted class name."""
    rows = (line.split() for line in CONNECT_CLASSES.read_text(encoding="utf-8").splitlines() if line[:1] not in "#")
    return {name: frozenset(map(PluginType, types)) for name, *types in rows}


def is_own(class_name: str) -> bool:
    """Return whether a bundle's plugin of this name is its own, and not hidden by the worker's."""
    if not class_name.startswith(_KAFKA) or class_name in _OWN_CLASSES:
        return True
    if class_name.startswith(_OWN_PACKAGES) and class_name not in _SHARED:
        return True
    return class_name not in connect_classes()
