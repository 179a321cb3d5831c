"""The plugins of a task, their environments and configurations: everything needed to run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.isolation.environment import Environment


@dataclass(frozen=True)
class PluginSpec:
    """One plugin of a pipeline.

    ``role`` is ``task`` (``reference`` names the connector, which is asked for its task class), ``key.converter``,
    ``value.converter``, ``header.converter``, ``transforms.ALIAS`` or ``predicates.ALIAS``. ``environment`` keys
    ``PluginPlan.environments``, or ``None`` for a plugin installed with the host. ``config`` holds the plugin's own
    settings without their prefix. ``predicate`` is the role of the predicate that guards a transformation.
    """

    role: str
    class_name: str
    reference: str
    version: str | None = None
    environment: str | None = None
    config: dict[str, str] = field(default_factory=dict, repr=False)
    predicate: str | None = None
    negate: bool = False


@dataclass(frozen=True)
class TaskSettings:
    """The worker and connector settings that the runtime uses; times in seconds unless their names say otherwise.

    ``flush_interval`` is the time between commits, ``flush_timeout`` the limit of one commit, ``graceful_timeout``
    that of a stop that drains, ``call_timeout`` that of one plugin call. The two retry settings are those of
    ``Retry``. ``names_keys`` is whether the trace of a failed task may contain the key of the failed record.
    """

    flush_interval: float
    flush_timeout: float
    graceful_timeout: float
    call_timeout: float
    retry_timeout_ms: int
    retry_delay_max_ms: int
    is_tolerant: bool
    logs_failures: bool
    logs_records: bool
    tracks_topics: bool
    names_keys: bool = True

    @property
    def shows_records(self) -> bool:
        """Return whether the log shows the failed records themselves."""
        return self.logs_failures and self.logs_records

    @property
    def is_retrying(self) -> bool:
        """Return whether a step is tried again after a retriable error."""
        return self.retry_timeout_ms != 0


@dataclass(frozen=True)
class PluginPlan:
    """The plugins of one task of a connector, unchanged between runs of the task.

    ``type`` is ``source`` or ``sink``. Tasks of one connector share all equal parts. Its ``repr`` contains no
    settings, because they may be secret.
    """

    connector: str
    task: int
    type: str
    connector_class: str
    plugins: tuple[PluginSpec, ...]
    environments: dict[str, Environment]
    task_config: Mapping[str, str] = field(repr=False)
    settings: TaskSettings

    @property
    def name(self) -> str:
        """Return the task's name in Kafka Connect's form: ``connector-0``."""
        return f"{self.connector}-{self.task}"

    @property
    def code(self) -> list[tuple[str, str, str | None]]:
        """Return the code that the task runs: for each plugin its role, reference and environment."""
        return [(spec.role, spec.reference, spec.environment) for spec in self.plugins]

    def plugin(self, role: str) -> PluginSpec:
        """Return the plugin of a role."""
        return next(plugin for plugin in self.plugins if plugin.role == role)

    @property
    def transformations(self) -> list[PluginSpec]:
        """Return the transformations in the order of the chain."""
        return [plugin for plugin in self.plugins if plugin.role.startswith("transforms.")]
