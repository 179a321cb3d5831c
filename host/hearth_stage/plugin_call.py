"""The calls that every stage answers; calls to one kind of plugin are in their own modules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hearth_stage.call import Call, Notice, PluginCall, operations

if TYPE_CHECKING:
    from hearth_execution.plugins import Plugins

KeyInfo = dict[str, Any]
"""A ``ConfigKeyInfo`` as in Kafka Connect's REST API."""
ValueInfo = dict[str, Any]
"""A ``ConfigValueInfo`` as in Kafka Connect's REST API."""


@dataclass(frozen=True)
class Ping(Call[None], op="ping"):
    """Checks that the main thread is not inside a plugin."""


@dataclass(frozen=True)
class Stacks:
    """The stack of every thread."""

    stacks: str = ""


@dataclass(frozen=True)
class AskStacks(Call[Stacks], op="stacks"):
    """Requests the stack of every thread."""


@dataclass(frozen=True)
class Metric:
    """A metric and its value now: a number, a truth value or a text; ``None`` if it has none."""

    group: str
    name: str
    description: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    value: int | float | bool | str | None = None


@dataclass(frozen=True)
class Metrics:
    """The metrics that plugins keep."""

    metrics: list[Metric] = field(default_factory=list)


@dataclass(frozen=True)
class AskMetrics(Call[Metrics], op="metrics"):
    """Requests the metrics that plugins keep, and their values."""


@dataclass(frozen=True)
class Stopping(Notice, op="stopping"):
    """The run is about to stop, so retries end."""


@dataclass(frozen=True)
class Described:
    """A plugin's version and configuration keys, and a clause for each side effect of loading it."""

    version: str | None = None
    config: list[KeyInfo] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Describe(Call[Described], op="describe"):
    """Requests a plugin's version and keys, without configuring it."""

    reference: str
    type: str | None = None


@dataclass(frozen=True)
class Validated:
    """A plugin's keys and validated values; ``None`` for what it does not return."""

    definitions: list[KeyInfo] | None = None
    values: list[ValueInfo] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Validate(Call[Validated], op="validate"):
    """Validates a configuration with a plugin, without configuring it."""

    reference: str
    config: dict[str, Any] = field(repr=False)
    type: str | None = None
    prefix: str = ""


@dataclass(frozen=True)
class RuleOutcome:
    """The result of one rule of the author API's contract; ``fault`` is empty if the plugin keeps it."""

    rule: str
    says: str
    fault: str = ""


@dataclass(frozen=True)
class RuleOutcomes:
    """The version of the contract, and the results of its rules."""

    contract: int
    outcomes: list[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class TryPlugin(Call[RuleOutcomes], op="try"):
    """Checks a plugin against the contract; tries the rules for which the settings suffice."""

    reference: str
    type: str | None = None
    config: dict[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Configure(Call[None], op="configure"):
    """Prepares for the plugins of a task, and closes those loaded before; times are in milliseconds."""

    type: str
    retry_timeout: int
    retry_delay_max: int
    is_strict: bool = False


@dataclass(frozen=True)
class WantedPlugin:
    """A plugin to load for a role; ``class_name`` is its configured name."""

    role: str
    class_name: str
    reference: str
    config: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Loaded:
    """The versions of plugins, in the requested order."""

    versions: list[str | None] = field(default_factory=list)


@dataclass(frozen=True)
class Load(PluginCall[Loaded], op="load"):
    """Creates and configures plugins."""

    plugins: list[WantedPlugin]

    def run(self, plugins: Plugins) -> Loaded:
        """Load the plugins in order."""
        return Loaded([plugins.load(each.role, each.class_name, each.reference, each.config) for each in self.plugins])


@dataclass(frozen=True)
class EndTenant(Call[None], op="tenant.end"):
    """Stops what still runs of a tenant, closes its plugins and ends its thread."""


TO_STAGE = operations(Ping, AskStacks, AskMetrics, Stopping, Describe, Validate, TryPlugin, Configure, Load, EndTenant)
