"""What a stage is asked of an override policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class ConfigurePolicy(Call[None], op="policy.configure"):
    """Creates the policy that is asked from now on, and configures it with the worker's whole configuration."""

    reference: str
    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class PolicyAnswer:
    """What the policy makes of each setting, as REST shows it; ``None`` where it says nothing of any."""

    values: list[dict[str, Any]] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JudgeOverrides(Call[PolicyAnswer], op="policy.validate"):
    """Asks what of a connector's settings for one of its clients is allowed."""

    connector: str
    type: str
    class_name: str
    client: str
    properties: dict[str, Any] = field(repr=False)


TO_STAGE = operations(ConfigurePolicy, JudgeOverrides)
