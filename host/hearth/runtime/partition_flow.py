"""Which of a sink's partitions flow, and from where: what operator and task want, and what a refused put needs."""

from __future__ import annotations

from hearth.kafka.consumer import Consumer
from hearth.runtime.consumption import ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.delivery import Offsets
from hearth_api import TopicPartition


class PartitionFlow:
    """Has the consumer rest in partitions, and read on elsewhere."""

    def __init__(
        self, consumer: Consumer, positions: ConsumedPositions, requests: ContextRequests, *, is_paused: bool
    ) -> None:
        self._consumer, self._positions, self._requests = consumer, positions, requests
        self.is_paused = is_paused
        """Whether the operator wants nothing for now."""
        self.is_holding = False
        """Whether all rest: records are to be put again, too many dead letters are on their way, or it stood still."""

    def pause(self, is_paused: bool) -> None:
        """Let the operator's word count."""
        self.is_paused = is_paused
        self.apply()

    def hold(self, is_holding: bool) -> None:
        """Let all rest, or no more."""
        if is_holding is not self.is_holding:
            self.is_holding = is_holding
            self.apply()

    def apply(self) -> None:
        """Let flow what the operator and the task want to flow, and nothing while records are to be put again."""
        assigned = self._positions.assigned
        rests = assigned if self.is_holding else self.resting
        self._consumer.pause(rests)
        self._consumer.resume(assigned - rests)

    @property
    def resting(self) -> set[TopicPartition]:
        """Return the partitions of which the operator or the task wants nothing for now."""
        assigned = self._positions.assigned
        return assigned if self.is_paused else assigned & self._requests.paused

    def rewind_when_asked(self) -> None:
        """Read where the task wants; what was read ahead of partitions that are to rest is read again later."""
        if self._requests.rewind:
            self.seek(self._positions.rewind(self._requests.take_rewind()))
        self.seek(self._positions.withdraw(self.resting))

    def seek(self, offsets: Offsets) -> None:
        """Read on elsewhere."""
        if offsets:
            self._consumer.seek(offsets)
