"""What a task is told when it starts: everything it needs, as plain data that travels in a Spark closure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from hearth.isolation.environment import Environment
from hearth.link.admission import LinkAddress


@dataclass(frozen=True)
class PluginSpec:
    """One plugin of a pipeline.

    ``role`` is ``task`` (``python`` names the connector, which is asked for its task class), ``key.converter``,
    ``value.converter``, ``header.converter``, ``transforms.ALIAS`` or ``predicates.ALIAS``. ``environment`` keys
    ``TaskSpec.environments``, or ``None`` for a plugin installed with the host. ``config`` holds the plugin's own
    settings without their prefix. ``predicate`` is the role of the predicate that guards a transformation.
    """

    role: str
    class_name: str
    python: str
    version: str | None = None
    environment: str | None = None
    config: dict[str, str] = field(default_factory=dict)
    predicate: str | None = None
    negate: bool = False


@dataclass(frozen=True)
class TaskSpec:
    """One task of a connector that has so many ``tasks``, of one generation.

    ``host`` names the host that runs it: the same after the host's restart, and no other host's.
    """

    connector: str
    task: int
    generation: int
    type: str
    connector_class: str
    connector_version: str | None
    config: dict[str, str]
    task_config: dict[str, str]
    worker: dict[str, str]
    plugins: tuple[PluginSpec, ...]
    environments: dict[str, Environment]
    link: LinkAddress
    paused: bool = False
    host: str = ""
    tasks: int = 1

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

    def to_json(self) -> str:
        """Return the specification as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TaskSpec:
        """Read what ``to_json`` wrote."""
        members: dict[str, Any] = json.loads(text)
        members["plugins"] = tuple(PluginSpec(**plugin) for plugin in members["plugins"])
        members["environments"] = {key: _environment(each) for key, each in members["environments"].items()}
        members["link"] = LinkAddress(**members["link"])
        return cls(**members)


def _environment(members: dict[str, Any]) -> Environment:
    return Environment(members["key"], tuple(members["command"]), tuple(members["paths"]))
