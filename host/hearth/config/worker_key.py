"""The keys of a worker, that is of one host: in any mode, and of one that works alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from hearth.config.confinement_key import VARIABLE, ConfinementConfig
from hearth.config.connector_key import RESTART
from hearth.config.rest_key import RestConfig
from hearth.config.restart_key import TaskRestartConfig
from hearth.config.tls_key import ServerTlsConfig
from hearth.config.worker_configuration import WorkerConfiguration, is_governed
from hearth_api import (
    CaseInsensitiveValidString,
    ConfigType,
    Importance,
    Range,
    ValidList,
    ValidString,
    key,
)
from hearth_stage.limit import NO_LIMITS

APART = "connector"
"""What a connector says by ``plugin.isolation`` that wants a process of its own."""
TOGETHER = "environment"
"""What one says by ``task.isolation`` whose tasks share processes."""
TRUST, TRUST_KEYS, REVOKED = "plugin.trust", "plugin.trust.keys", "plugin.revoked"
ANY_BUNDLE, HASHED, SIGNED = "any", "hashed", "signed"
"""What a worker may ask of bundles: nothing, that their files have hashes, that somebody it knows has signed them."""
OPEN_PREFIXES = (
    "producer.",
    "consumer.",
    "admin.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "config.providers.",
    "connector.client.config.override.",
    "metrics.context.",
    VARIABLE,
    "listeners.https.",
    "admin.listeners.https.",
    "spark.",
)
"""What may stand below these is for others to judge: clients, plugins, Spark."""


class WorkerConfig(RestConfig, ServerTlsConfig, TaskRestartConfig, ConfinementConfig):
    """What a worker's properties file may say in any mode."""

    bootstrap_servers: list[str] = key(
        "bootstrap.servers",
        check=ValidList(empty_allowed=False),
        importance=Importance.HIGH,
        doc="Brokers to begin with, as host:port with commas in between; the others are found through them.",
    )
    client_dns_lookup: str = key(
        "client.dns.lookup",
        default="use_all_dns_ips",
        check=ValidString("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        doc="How the names of brokers become addresses.",
    )
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
    plugin_discovery: str = key(
        "plugin.discovery",
        default="hybrid_warn",
        check=CaseInsensitiveValidString("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL"),
        importance=Importance.LOW,
        doc="How Java workers look for plugins; here metadata is read, whatever stands here.",
    )
    metrics_sample_window_ms: int = key(
        "metrics.sample.window.ms",
        type=ConfigType.LONG,
        default=30000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="Over how many milliseconds one sample of a metric goes.",
    )
    metrics_num_samples: int = key(
        "metrics.num.samples",
        default=2,
        check=Range.at_least(1),
        importance=Importance.LOW,
        doc="How many samples a metric is made of.",
    )
    metrics_recording_level: str = key(
        "metrics.recording.level",
        default="INFO",
        check=ValidString("INFO", "DEBUG"),
        importance=Importance.LOW,
        doc="How detailed metrics are.",
    )
    metric_reporters: list[str] = key(
        "metric.reporters",
        default=["org.apache.kafka.common.metrics.JmxReporter"],
        check=ValidList(),
        importance=Importance.LOW,
        doc="Classes that are told of metrics.",
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
    config_providers: list[str] = key(
        "config.providers",
        default=[],
        check=ValidList(),
        importance=Importance.LOW,
        doc="Names, of your choice, of the config providers that resolve ${NAME:...}; each is set up below "
        "config.providers.NAME.",
    )
    override_policy: str = key(
        "connector.client.config.override.policy",
        default="All",
        doc="Which settings of Kafka clients a connector may override: All, None, Allowlist, Principal, or a class.",
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
    plugin_rest_install_enable: bool = key(
        "plugin.rest.install.enable",
        default=False,
        importance=Importance.LOW,
        doc="Whether bundles may be installed, upgraded, rolled back and removed by requests to /plugins. Whoever may "
        "send them then has code of his run here: let a REST extension or the network see to who that is.",
    )
    plugin_upgrade: str = key(
        "plugin.upgrade",
        default=RESTART,
        check=ValidString(RESTART, "none"),
        importance=Importance.LOW,
        doc="What becomes of a connector and its tasks when a bundle they use is exchanged on plugin.path, or a newer "
        "version that they may have is added: restart, from their offsets, once the new environment is built, or "
        "none: they go on as they are until somebody restarts them. The configuration of a connector may say "
        "otherwise for that connector.",
    )
    task_isolation: str = key(
        "task.isolation",
        default="process",
        check=ValidString("process", TOGETHER),
        importance=Importance.LOW,
        doc="Whether each task has processes of its own, process, or tasks of one environment share theirs on an "
        "executor, environment, as all tasks of a Java worker do: for many tasks that do little. One that does not "
        "answer gets its own in any case. The configuration of a connector may say otherwise for its tasks.",
    )
    task_link_port: int = key(
        "task.link.port",
        default=0,
        check=Range.between(0, 65535),
        importance=Importance.LOW,
        doc="The port on which tasks reach their host; 0 takes any that is free. Executors behind a firewall need a "
        "known one.",
    )
    topic_creation_enable: bool = key(
        "topic.creation.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether topics are created for source connectors that set them up with topic.creation keys.",
    )

    worker_configuration_path: str | None = key(
        "worker.configuration.path",
        default=None,
        importance=Importance.LOW,
        doc="The directory of named worker configurations, one properties file each: a connector names one with "
        "worker.configuration, and its tasks then take from there what it may say, and not from this file.",
    )

    def unknown_keys(self) -> list[str]:
        """Return the given keys that nobody here knows, in the order given."""
        known = self.definition().keys
        return [name for name in self.originals if name not in known and not name.startswith(OPEN_PREFIXES)]

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

    def follows_upgrades(self, config: Mapping[str, Any]) -> bool:
        """Return whether the connector with this configuration begins anew when its bundles are exchanged.

        As the limit of a call the key is none of the connector's definition: ConfigError for a wrong value.
        """
        return bool(self._for_connector("plugin.upgrade", config) == RESTART)

    def shares_processes(self, config: Mapping[str, Any]) -> bool:
        """Return whether tasks of the connector with this configuration share processes; ConfigError likewise."""
        return bool(self._for_connector("task.isolation", config) == TOGETHER) and not self._is_limited(config)

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

    def governed_by(self, configuration: WorkerConfiguration) -> WorkerConfig:
        """Return the settings as they go for connectors that name a worker configuration.

        Raises ConfigError where it says what it may not, or lacks a converter.
        """
        configuration.refuse()
        own = {name: value for name, value in self.originals.items() if not is_governed(name)}
        return type(self)({**own, **configuration.governing})

    def task_restarts(self, config: Mapping[str, Any]) -> TaskRestartConfig:
        """Return how failed tasks of the connector with this configuration restart themselves.

        Its own keys go before this worker's; they are none of its definition, so a wrong value is found here:
        ConfigError.
        """
        return TaskRestartConfig({**self.originals, **config})

    def converter_settings(self, role: str) -> dict[str, str]:
        """Return the settings of the converter in a role (`key.converter`, ...), without their prefix."""
        return self.with_prefix(f"{role}.")

    @property
    def is_exactly_once(self) -> bool:
        """Return whether sources write in transactions, as only hosts of a cluster do."""
        return False

    def has_own_offsets(self, config: Mapping[str, Any]) -> bool:
        """Return whether a source has clients of its own for its offsets, as only one of a cluster may."""
        return False

    @property
    def identity(self) -> str:
        """Return what tells this host from others and is the same after its restart; the mode knows what that is."""
        return ""

    @property
    def spark(self) -> Mapping[str, Any]:
        """Return what is meant for Spark, with its prefix."""
        return {name: value for name, value in self.originals.items() if name.startswith("spark.")}


class StandaloneConfig(WorkerConfig):
    """What the properties file of `hearth standalone` may say."""

    offset_file: str = key(
        "offset.storage.file.filename",
        importance=Importance.HIGH,
        doc="The file that keeps the offsets of source connectors.",
    )

    @property
    def identity(self) -> str:
        """Return machine and offset file, which is one host's alone."""
        return f"{socket.gethostname()}:{os.path.realpath(self.offset_file)}"
