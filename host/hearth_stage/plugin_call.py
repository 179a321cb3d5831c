"""What any stage is asked; what is asked of one kind of plugin has a file of its own."""

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
    """Asks whether the main thread is free of plugins."""


@dataclass(frozen=True)
class Stacks:
    """What every thread does."""

    stacks: str = ""


@dataclass(frozen=True)
class AskStacks(Call[Stacks], op="stacks"):
    """Asks what every thread does."""


@dataclass(frozen=True)
class Stopping(Notice, op="stopping"):
    """The run is about to stop, so nothing is tried again."""


@dataclass(frozen=True)
class Described:
    """What a plugin says of itself, and a clause for each thing that loading it changed in its process."""

    version: str | None = None
    config: list[KeyInfo] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Describe(Call[Described], op="describe"):
    """Asks a plugin of its version and its keys, without configuring it."""

    reference: str
    type: str | None = None


@dataclass(frozen=True)
class Validated:
    """A plugin's keys, and what it makes of values for them; ``None`` for what it does not return."""

    definitions: list[KeyInfo] | None = None
    values: list[ValueInfo] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Validate(Call[Validated], op="validate"):
    """Lets a plugin check settings, without configuring it."""

    reference: str
    config: dict[str, Any] = field(repr=False)
    type: str | None = None
    prefix: str = ""


@dataclass(frozen=True)
class RuleOutcome:
    """What came of one rule of the author API's contract; no ``fault`` where the plugin keeps it."""

    rule: str
    says: str
    fault: str = ""


@dataclass(frozen=True)
class RuleOutcomes:
    """The number of the contract, and what came of its rules."""

    contract: int
    outcomes: list[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class TryPlugin(Call[RuleOutcomes], op="try"):
    """Lets a plugin show that it keeps the contract; those rules are tried for which the settings suffice."""

    reference: str
    type: str | None = None
    config: dict[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Configure(Call[None], op="configure"):
    """Makes ready for the plugins of a task, and closes what was loaded; times are in milliseconds."""

    type: str
    retry_timeout: int
    retry_delay_max: int
    is_strict: bool = False


@dataclass(frozen=True)
class WantedPlugin:
    """A plugin to load for a role; ``class_name`` is what users call it."""

    role: str
    class_name: str
    reference: str
    config: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Loaded:
    """The versions of plugins, in the order in which they were wanted."""

    versions: list[str | None] = field(default_factory=list)


@dataclass(frozen=True)
class Load(PluginCall[Loaded], op="load"):
    """Creates and configures plugins."""

    plugins: list[WantedPlugin]

    def run(self, plugins: Plugins) -> Loaded:
        """Load one after the other."""
        return Loaded([plugins.load(each.role, each.class_name, each.reference, each.config) for each in self.plugins])


@dataclass(frozen=True)
class EndTenant(Call[None], op="tenant.end"):
    """Stops what still runs of a tenant, closes its plugins and ends its thread."""


TO_STAGE = operations(Ping, AskStacks, Stopping, Describe, Validate, TryPlugin, Configure, Load, EndTenant)
