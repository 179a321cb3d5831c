"""What a stage is asked of a config provider."""

from __future__ import annotations

from dataclasses import dataclass, field

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class LoadProvider(Call[None], op="provider.load"):
    """Creates and configures the provider that is asked from now on."""

    reference: str
    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class LookedUp:
    """The values that were found, and for how many milliseconds they hold; ``None`` is until further notice."""

    data: dict[str, str] = field(default_factory=dict, repr=False)
    ttl: int | None = None


@dataclass(frozen=True)
class LookUp(Call[LookedUp], op="provider.get"):
    """Asks for the values of keys at a path."""

    path: str
    keys: list[str]


TO_STAGE = operations(LoadProvider, LookUp)
