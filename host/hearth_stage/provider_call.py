"""The calls to a config provider in a stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class LoadProvider(Call[None], op="provider.load"):
    """Creates and configures the provider for later calls."""

    reference: str
    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class LookedUp:
    """The values found, and their lifetime in milliseconds; ``None`` is unlimited."""

    data: dict[str, str] = field(default_factory=dict, repr=False)
    ttl: int | None = None


@dataclass(frozen=True)
class LookUp(Call[LookedUp], op="provider.get"):
    """Requests the values of keys at a path."""

    path: str
    keys: list[str]


TO_STAGE = operations(LoadProvider, LookUp)
