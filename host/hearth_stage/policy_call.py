"""The calls to an override policy in a stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class ConfigurePolicy(Call[None], op="policy.configure"):
    """Creates the policy for later calls and configures it with the worker's configuration."""

    reference: str
    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class PolicyAnswer:
    """The policy's verdict on each property, as in REST; ``None`` if it returns nothing."""

    values: list[dict[str, Any]] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JudgeOverrides(Call[PolicyAnswer], op="policy.validate"):
    """Asks which client overrides of a connector are allowed."""

    connector: str
    type: str
    class_name: str
    client: str
    properties: dict[str, Any] = field(repr=False)


TO_STAGE = operations(ConfigurePolicy, JudgeOverrides)
