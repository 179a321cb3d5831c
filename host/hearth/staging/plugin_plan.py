"""Which plugins a task has, where each of them lives and what it is told: all that whoever runs them must know."""

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
    """What the runtime itself is told of worker and connector; times are in seconds where they do not say otherwise.

    ``flush_interval`` is between commits, ``flush_timeout`` for one of them, ``graceful_timeout`` for a stop that
    drains, ``call_timeout`` for one call of a plugin. The two of ``Retry`` are counted as it does. ``names_keys`` is
    whether the trace of a task may tell by its key which record it failed with.
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
        """Return whether the log shows bad records themselves."""
        return self.logs_failures and self.logs_records


@dataclass(frozen=True)
class PluginPlan:
    """The plugins of one task of a connector: the same from one run of it to the next.

    ``type`` is ``source`` or ``sink``. Tasks of one connector share every part that is the same for all of them. No
    text of it shows settings: they may be secret.
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
        """Return the task's name, as Kafka Connect writes it: ``connector-0``."""
        return f"{self.connector}-{self.task}"

    def plugin(self, role: str) -> PluginSpec:
        """Return the plugin of a role."""
        return next(plugin for plugin in self.plugins if plugin.role == role)

    @property
    def transformations(self) -> list[PluginSpec]:
        """Return the transformations in the order of the chain."""
        return [plugin for plugin in self.plugins if plugin.role.startswith("transforms.")]
