"""The keys of a worker in any mode, and of a standalone worker."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from hearth.config.capacity_key import CapacityConfig
from hearth.config.confinement_key import VARIABLE
from hearth.config.connector_key import RESTART
from hearth.config.plugin_key import PluginConfig
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

TOGETHER = "environment"
"""The value of ``task.isolation`` for shared processes."""
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
    "openlineage.",
)
"""Prefixes of keys that clients, plugins, Spark or OpenLineage's client check themselves."""


class WorkerConfig(RestConfig, ServerTlsConfig, TaskRestartConfig, PluginConfig, CapacityConfig):
    """The keys of a worker in any mode."""

    bootstrap_servers: list[str] = key(
        "bootstrap.servers",
        check=ValidList(empty_allowed=False),
        importance=Importance.HIGH,
        doc="A comma-separated list of host:port pairs of some brokers, through which the others are found.",
    )
    client_dns_lookup: str = key(
        "client.dns.lookup",
        default="use_all_dns_ips",
        check=ValidString("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        doc="How the host names of brokers are resolved.",
    )
    plugin_discovery: str = key(
        "plugin.discovery",
        default="hybrid_warn",
        check=CaseInsensitiveValidString("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL"),
        importance=Importance.LOW,
        doc="How Java workers discover plugins; ignored, because discovery here reads metadata.",
    )
    metrics_sample_window_ms: int = key(
        "metrics.sample.window.ms",
        type=ConfigType.LONG,
        default=30000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="The window in milliseconds of one metrics sample.",
    )
    metrics_num_samples: int = key(
        "metrics.num.samples",
        default=2,
        check=Range.at_least(1),
        importance=Importance.LOW,
        doc="The number of samples of a metric.",
    )
    metrics_names: list[str] = key(
        "metrics.names",
        default=["reporter"],
        check=ValidList("reporter", "strimzi", "confluent", "debezium"),
        importance=Importance.LOW,
        doc="Whose names the metrics of GET /metrics have: reporter (Strimzi's Metrics Reporter), and those that the "
        "dashboards of strimzi, confluent and debezium query; a request may choose others.",
    )
    metrics_recording_level: str = key(
        "metrics.recording.level",
        default="INFO",
        check=ValidString("INFO", "DEBUG"),
        importance=Importance.LOW,
        doc="The level of detail of metrics.",
    )
    metric_reporters: list[str] = key(
        "metric.reporters",
        default=["org.apache.kafka.common.metrics.JmxReporter"],
        check=ValidList(),
        importance=Importance.LOW,
        doc="Metrics reporter classes.",
    )
    config_providers: list[str] = key(
        "config.providers",
        default=[],
        check=ValidList(),
        importance=Importance.LOW,
        doc="Aliases of the config providers that resolve ${NAME:...}; the settings of each have the prefix "
        "config.providers.NAME.",
    )
    override_policy: str = key(
        "connector.client.config.override.policy",
        default="All",
        doc="The policy for client overrides of connectors: All, None, Allowlist, Principal, or a class.",
    )
    plugin_rest_install_enable: bool = key(
        "plugin.rest.install.enable",
        default=False,
        importance=Importance.LOW,
        doc="Whether requests to /plugins may install, upgrade, roll back and remove bundles. They can run code on"
        " this host: restrict access with a REST extension or in the network.",
    )
    plugin_upgrade: str = key(
        "plugin.upgrade",
        default=RESTART,
        check=ValidString(RESTART, "none"),
        importance=Importance.LOW,
        doc="What happens to a connector and its tasks when a bundle they use is replaced on plugin.path, or a "
        "newer allowed version is added: restart restarts them from their offsets once the new environment is "
        "built, none keeps them running until they are restarted manually. A connector may override this for "
        "itself.",
    )
    task_isolation: str = key(
        "task.isolation",
        default="process",
        check=ValidString("process", TOGETHER),
        importance=Importance.LOW,
        doc="Whether each task has its own processes (process), or tasks with the same environment share theirs on "
        "an executor (environment), as all tasks of a Java worker do: for many tasks with little load. A task "
        "that does not respond always gets its own. A connector may override this for its tasks.",
    )
    task_link_port: int = key(
        "task.link.port",
        default=0,
        check=Range.between(0, 65535),
        importance=Importance.LOW,
        doc="The port on which tasks connect to their host; 0 picks a free one. Executors behind a firewall need a "
        "fixed one.",
    )
    topic_creation_enable: bool = key(
        "topic.creation.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether topics are created for source connectors with topic.creation keys.",
    )

    worker_configuration_path: str | None = key(
        "worker.configuration.path",
        default=None,
        importance=Importance.LOW,
        doc="The directory of named worker configurations, one properties file each. If a connector names one with "
        "worker.configuration, its tasks use the settings from there instead of those of this file.",
    )

    openlineage_transport_type: str | None = key(
        "openlineage.transport.type",
        default=None,
        importance=Importance.LOW,
        doc="How events about the runs of connectors are sent: http, file or another transport of OpenLineage's "
        "client, whose further keys have the same prefix. Without it none are sent.",
    )
    openlineage_namespace: str | None = key(
        "openlineage.namespace",
        default=None,
        importance=Importance.LOW,
        doc="The namespace of connectors in those events. Without it group.id, or else hearth.",
    )

    def unknown_keys(self) -> list[str]:
        """Return the unknown keys, in the order given."""
        return self.unknown_among(self.originals)

    @classmethod
    def unknown_among(cls, props: Iterable[str]) -> list[str]:
        """Return the unknown keys of these, in their order, even if they form no valid configuration."""
        known = cls.definition().keys
        return [name for name in props if name not in known and not name.startswith(OPEN_PREFIXES)]

    def follows_upgrades(self, config: Mapping[str, Any]) -> bool:
        """Return whether a connector with this configuration restarts when its bundles are replaced.

        Like the call timeout, the key is not in the connector's ConfigDef: an invalid value raises ConfigError here.
        """
        return bool(self._for_connector("plugin.upgrade", config) == RESTART)

    def shares_processes(self, config: Mapping[str, Any]) -> bool:
        """Return whether tasks of a connector with this configuration share processes; raise ConfigError likewise."""
        return bool(self._for_connector("task.isolation", config) == TOGETHER) and not self._is_limited(config)

    def governed_by(self, configuration: WorkerConfiguration) -> WorkerConfig:
        """Return the settings for connectors that name a worker configuration.

        Raises ConfigError if it contains a key that is not allowed, or lacks a converter.
        """
        configuration.refuse()
        own = {name: value for name, value in self.originals.items() if not is_governed(name)}
        return type(self)({**own, **configuration.governing})

    def task_restarts(self, config: Mapping[str, Any]) -> TaskRestartConfig:
        """Return how failed tasks of a connector with this configuration restart.

        Its own keys override this worker's. They are not in its ConfigDef, so an invalid value raises ConfigError
        here.
        """
        return TaskRestartConfig({**self.originals, **config})

    @property
    def tracks_topics(self) -> bool:
        """Return the value of ``topic.tracking.enable``."""
        return self.topic_tracking_enable

    @property
    def is_exactly_once(self) -> bool:
        """Return whether sources use transactions, which only distributed workers do."""
        return False

    def has_own_offsets(self, config: Mapping[str, Any]) -> bool:
        """Return whether a source needs its own offset clients, which only distributed workers have."""
        return False

    @property
    def identity(self) -> str:
        """Return a name of this host that is unique and survives restarts; the mode determines it."""
        return ""

    @property
    def spark(self) -> Mapping[str, Any]:
        """Return the settings for Spark, with their prefix."""
        return {name: value for name, value in self.originals.items() if name.startswith("spark.")}


class StandaloneConfig(WorkerConfig):
    """The keys of `hearth standalone`."""

    offset_file: str = key(
        "offset.storage.file.filename",
        importance=Importance.HIGH,
        doc="The file with the offsets of source connectors.",
    )

    @property
    def identity(self) -> str:
        """Return machine and offset file, which belong to one host only."""
        return f"{socket.gethostname()}:{os.path.realpath(self.offset_file)}"
