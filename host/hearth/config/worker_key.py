"""The keys of a worker, that is of one host: in any mode, and of one that works alone."""

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
"""What one says by ``task.isolation`` whose tasks share processes."""
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


class WorkerConfig(RestConfig, ServerTlsConfig, TaskRestartConfig, PluginConfig, CapacityConfig):
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
        return self.unknown_among(self.originals)

    @classmethod
    def unknown_among(cls, props: Iterable[str]) -> list[str]:
        """Return which of these keys nobody here knows, also where they make no settings, in their order."""
        known = cls.definition().keys
        return [name for name in props if name not in known and not name.startswith(OPEN_PREFIXES)]

    def follows_upgrades(self, config: Mapping[str, Any]) -> bool:
        """Return whether the connector with this configuration begins anew when its bundles are exchanged.

        As the limit of a call the key is none of the connector's definition: ConfigError for a wrong value.
        """
        return bool(self._for_connector("plugin.upgrade", config) == RESTART)

    def shares_processes(self, config: Mapping[str, Any]) -> bool:
        """Return whether tasks of the connector with this configuration share processes; ConfigError likewise."""
        return bool(self._for_connector("task.isolation", config) == TOGETHER) and not self._is_limited(config)

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

    @property
    def tracks_topics(self) -> bool:
        """Return what ``topic.tracking.enable`` says."""
        return self.topic_tracking_enable

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
