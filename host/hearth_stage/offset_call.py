"""What a source asks about its stored offsets: its stage asks the task, the task asks its host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class StoredOffsets:
    """Offsets in the order in which they were asked for, ``None`` where there is none."""

    offsets: list[dict[str, Any] | None] = field(default_factory=list)


@dataclass(frozen=True)
class ReadOffsets(Call[StoredOffsets], op="offsets.read"):
    """Asks for the stored offsets of source partitions."""

    partitions: list[dict[str, Any]]

    def verify(self, reply: StoredOffsets) -> StoredOffsets:
        """Refuse offsets of other partitions."""
        if len(reply.offsets) != len(self.partitions):
            raise ValueError(f"it has {len(reply.offsets)} offsets of {len(self.partitions)} partitions")
        return reply


FROM_STAGE = operations(ReadOffsets)
