"""The keys for everything that runs plugins, whether it is a worker with Kafka or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.config.confinement_key import ConfinementConfig
from hearth_api import ConfigType, Importance, Range, ValidList, ValidString, key
from hearth_stage.limit import NO_LIMITS

APART = "connector"
"""The value of ``plugin.isolation`` for a separate process."""
TRUST, TRUST_KEYS, REVOKED = "plugin.trust", "plugin.trust.keys", "plugin.revoked"
ANY_BUNDLE, HASHED, SIGNED = "any", "hashed", "signed"
"""What a worker may require of bundles: nothing, file hashes, or a signature by a trusted signer."""


class PluginConfig(ConfinementConfig):
    """The keys about plugins that are independent of Kafka."""

    key_converter: str = key(
        "key.converter",
        type=ConfigType.CLASS,
        importance=Importance.HIGH,
        doc="The converter between record keys and the bytes in Kafka, for connectors without their own.",
    )
    key_converter_version: str | None = key(
        "key.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Its version.",
    )
    value_converter: str = key(
        "value.converter",
        type=ConfigType.CLASS,
        importance=Importance.HIGH,
        doc="The converter between record values and the bytes in Kafka, for connectors without their own.",
    )
    value_converter_version: str | None = key(
        "value.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Its version.",
    )
    task_shutdown_graceful_timeout_ms: int = key(
        "task.shutdown.graceful.timeout.ms",
        type=ConfigType.LONG,
        default=5000,
        importance=Importance.LOW,
        doc="The time in milliseconds that all tasks together have to stop cleanly.",
    )
    offset_flush_interval_ms: int = key(
        "offset.flush.interval.ms",
        type=ConfigType.LONG,
        default=60000,
        importance=Importance.LOW,
        doc="The interval in milliseconds at which tasks commit their offsets.",
    )
    offset_flush_timeout_ms: int = key(
        "offset.flush.timeout.ms",
        type=ConfigType.LONG,
        default=5000,
        importance=Importance.LOW,
        doc="The time in milliseconds after which a commit is abandoned and tried again later.",
    )
    plugin_path: list[str] | None = key(
        "plugin.path",
        type=ConfigType.LIST,
        default=None,
        check=ValidList(empty_allowed=False, null_allowed=True),
        importance=Importance.LOW,
        doc="A comma-separated list of directories of bundles, or single bundles.",
    )
    header_converter: str = key(
        "header.converter",
        type=ConfigType.CLASS,
        default="org.apache.kafka.connect.storage.SimpleHeaderConverter",
        importance=Importance.LOW,
        doc="The converter between header values and the bytes in Kafka, for connectors without their own.",
    )
    header_converter_version: str | None = key(
        "header.converter.plugin.version",
        default=None,
        importance=Importance.LOW,
        doc="Its version.",
    )
    plugin_call_timeout_ms: int = key(
        "plugin.call.timeout.ms",
        type=ConfigType.LONG,
        default=300000,
        check=Range.at_least(1),
        importance=Importance.LOW,
        doc="The time in milliseconds after which a call of a plugin counts as hanging and its task or connector "
        "fails. A connector may override this for itself and its tasks.",
    )
    plugin_isolation: str = key(
        "plugin.isolation",
        default="environment",
        check=ValidString("environment", APART),
        importance=Importance.LOW,
        doc="Whether connector instances with the same environment share a child process (environment) or each has "
        "its own (connector). One that raises, hangs or ends its process always gets its own. A connector may "
        "override this for itself.",
    )
    plugin_trust: str = key(
        TRUST,
        default=ANY_BUNDLE,
        check=ValidString(ANY_BUNDLE, HASHED, SIGNED),
        importance=Importance.MEDIUM,
        doc="Which bundles of plugin.path may run: any, those that contain hashes of their files (hashed), or those "
        "signed by one of plugin.trust.keys (signed). Others are rejected, and none of their code is run.",
    )
    plugin_trust_keys: list[str] = key(
        TRUST_KEYS,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Files with trusted signers: public keys, Ed25519 in PEM, and Sigstore identities, in JSON.",
    )
    plugin_revoked: list[str] = key(
        REVOKED,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Files that list revoked packages and bundles: each line is a requirement, such as orders<1.2, or the "
        "SHA-256 of a file (sha256:...), with a reason after #. They are read again whenever they change.",
    )

    def call_seconds(self, config: Mapping[str, Any]) -> float:
        """Return the time limit of a plugin call for a connector with this configuration.

        The key is not in the connector's ConfigDef, which equals Kafka Connect's, so an invalid value raises
        ConfigError here.
        """
        return int(self._for_connector("plugin.call.timeout.ms", config)) / 1000

    def is_apart(self, config: Mapping[str, Any]) -> bool:
        """Return whether a connector with this configuration runs in its own process.

        A connector with resource limits does, so that they affect no other.

        Like the call timeout, the key is not in the connector's ConfigDef: an invalid value raises ConfigError here.
        """
        return bool(self._for_connector("plugin.isolation", config) == APART) or self._is_limited(config)

    @property
    def tracks_topics(self) -> bool:
        """Return whether used topics are recorded."""
        return False

    def _is_limited(self, config: Mapping[str, Any]) -> bool:
        return self.confinement(config).limits != NO_LIMITS

    def _for_connector(self, name: str, config: Mapping[str, Any]) -> Any:
        """Return the connector's value of a key that its worker has as well, or the worker's."""
        declared = self.definition().keys[name]
        own = declared.parse(config.get(name))
        if own is None:
            return self.parsed[name]
        declared.check(own)
        return own

    def converter_settings(self, role: str) -> dict[str, str]:
        """Return the settings of the converter in a role (`key.converter`, ...) without their prefix."""
        return self.with_prefix(f"{role}.")
