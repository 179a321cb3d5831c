"""The keys of whoever runs plugins, be it a worker between Kafka and them or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.config.confinement_key import ConfinementConfig
from hearth_api import ConfigType, Importance, Range, ValidList, ValidString, key
from hearth_stage.limit import NO_LIMITS

APART = "connector"
"""What a connector says by ``plugin.isolation`` that wants a process of its own."""
TRUST, TRUST_KEYS, REVOKED = "plugin.trust", "plugin.trust.keys", "plugin.revoked"
ANY_BUNDLE, HASHED, SIGNED = "any", "hashed", "signed"
"""What a worker may ask of bundles: nothing, that their files have hashes, that somebody it knows has signed them."""


class PluginConfig(ConfinementConfig):
    """What may be said of plugins where nothing is said of Kafka."""

    key_converter: str = key(
        "key.converter",
        type=ConfigType.CLASS,
        importance=Importance.HIGH,
        doc="The converter between record keys and the bytes in Kafka, for connectors that name none.",
    )
    key_converter_version: str | None = key(
        "key.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of it to use.",
    )
    value_converter: str = key(
        "value.converter",
        type=ConfigType.CLASS,
        importance=Importance.HIGH,
        doc="The converter between record values and the bytes in Kafka, for connectors that name none.",
    )
    value_converter_version: str | None = key(
        "value.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of it to use.",
    )
    task_shutdown_graceful_timeout_ms: int = key(
        "task.shutdown.graceful.timeout.ms",
        type=ConfigType.LONG,
        default=5000,
        importance=Importance.LOW,
        doc="How many milliseconds tasks have, all together, to come to a clean end.",
    )
    offset_flush_interval_ms: int = key(
        "offset.flush.interval.ms",
        type=ConfigType.LONG,
        default=60000,
        importance=Importance.LOW,
        doc="How often tasks commit their offsets, in milliseconds.",
    )
    offset_flush_timeout_ms: int = key(
        "offset.flush.timeout.ms",
        type=ConfigType.LONG,
        default=5000,
        importance=Importance.LOW,
        doc="How many milliseconds a commit may take before it is given up and tried again later.",
    )
    plugin_path: list[str] | None = key(
        "plugin.path",
        type=ConfigType.LIST,
        default=None,
        check=ValidList(empty_allowed=False, null_allowed=True),
        importance=Importance.LOW,
        doc="Directories of bundles, or single bundles, with commas in between.",
    )
    header_converter: str = key(
        "header.converter",
        type=ConfigType.CLASS,
        default="org.apache.kafka.connect.storage.SimpleHeaderConverter",
        importance=Importance.LOW,
        doc="The converter between header values and the bytes in Kafka, for connectors that name none.",
    )
    header_converter_version: str | None = key(
        "header.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Which version of it to use.",
    )
    plugin_call_timeout_ms: int = key(
        "plugin.call.timeout.ms",
        type=ConfigType.LONG,
        default=300000,
        check=Range.at_least(1),
        importance=Importance.LOW,
        doc="How many milliseconds one call of a plugin may take before its task or connector fails as hanging. The "
        "configuration of a connector may say otherwise for that connector and its tasks.",
    )
    plugin_isolation: str = key(
        "plugin.isolation",
        default="environment",
        check=ValidString("environment", APART),
        importance=Importance.LOW,
        doc="Whether the instances of connectors of one environment share a process beside the host, environment, or "
        "each has one of its own, connector. One that raises, hangs or ends its process gets one of its own in any "
        "case. The configuration of a connector may say otherwise for that connector.",
    )
    plugin_trust: str = key(
        TRUST,
        default=ANY_BUNDLE,
        check=ValidString(ANY_BUNDLE, HASHED, SIGNED),
        importance=Importance.MEDIUM,
        doc="Which bundles of plugin.path may run: any, those whose files have hashes in them (hashed), or those that "
        "one of plugin.trust.keys has signed (signed). Others are turned away, and nothing of them is run.",
    )
    plugin_trust_keys: list[str] = key(
        TRUST_KEYS,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Files that say whose bundles may run: public keys, Ed25519 in PEM, and Sigstore identities, in JSON.",
    )
    plugin_revoked: list[str] = key(
        REVOKED,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Files that list what may not run any more: a line is a requirement of packages or bundles, orders<1.2, "
        "or the SHA-256 of a file (sha256:...), with a reason after #. They are looked at again whenever they change.",
    )

    def call_seconds(self, config: Mapping[str, Any]) -> float:
        """Return how long one call of a plugin may take for the connector with this configuration.

        The key is none of a connector's definition, which is Kafka Connect's to the letter, so a wrong value is found
        here: ConfigError.
        """
        return int(self._for_connector("plugin.call.timeout.ms", config)) / 1000

    def is_apart(self, config: Mapping[str, Any]) -> bool:
        """Return whether the instance of the connector with this configuration has a process of its own.

        One with limits has: nobody else is to suffer from them.

        As the limit of a call the key is none of the connector's definition: ConfigError for a wrong value.
        """
        return bool(self._for_connector("plugin.isolation", config) == APART) or self._is_limited(config)

    @property
    def tracks_topics(self) -> bool:
        """Return whether it is to be noted which topics are used."""
        return False

    def _is_limited(self, config: Mapping[str, Any]) -> bool:
        return self.confinement(config).limits != NO_LIMITS

    def _for_connector(self, name: str, config: Mapping[str, Any]) -> Any:
        """Return what a connector says by a key that its worker has as well, or else the worker."""
        declared = self.definition().keys[name]
        own = declared.parse(config.get(name))
        if own is None:
            return self.parsed[name]
        declared.check(own)
        return own

    def converter_settings(self, role: str) -> dict[str, str]:
        """Return the settings of the converter in a role (`key.converter`, ...), without their prefix."""
        return self.with_prefix(f"{role}.")
