"""Requests for stored source offsets: a stage asks its task, the task asks its host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, operations


@dataclass(frozen=True)
class StoredOffsets:
    """Offsets in the order of the request, ``None`` where none is stored."""

    offsets: list[dict[str, Any] | None] = field(default_factory=list)


@dataclass(frozen=True)
class ReadOffsets(Call[StoredOffsets], op="offsets.read"):
    """Requests the stored offsets of source partitions."""

    partitions: list[dict[str, Any]]

    def verify(self, reply: StoredOffsets) -> StoredOffsets:
        """Reject a reply of another length."""
        if len(reply.offsets) != len(self.partitions):
            raise ValueError(f"it has {len(reply.offsets)} offsets for {len(self.partitions)} partitions")
        return reply


FROM_STAGE = operations(ReadOffsets)
