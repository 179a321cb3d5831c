"""Pause and seek state of a sink's partitions, as operator, task and refused puts require."""

from __future__ import annotations

from hearth.kafka.consumer import Consumer
from hearth.runtime.consumption import ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.delivery import Offsets
from hearth_api import TopicPartition


class PartitionFlow:
    """Pauses, resumes and seeks the consumer's partitions."""

    def __init__(
        self, consumer: Consumer, positions: ConsumedPositions, requests: ContextRequests, *, is_paused: bool
    ) -> None:
        self._consumer, self._positions, self._requests = consumer, positions, requests
        self.is_paused = is_paused
        """Whether the operator paused the task."""
        self.is_holding = False
        """Whether all are paused: records must be put again, dead letters are full, or the task was suspended."""

    def pause(self, is_paused: bool) -> None:
        """Apply the operator's pause or resume."""
        self.is_paused = is_paused
        self.apply()

    def hold(self, is_holding: bool) -> None:
        """Pause all partitions, or end that."""
        if is_holding is not self.is_holding:
            self.is_holding = is_holding
            self.apply()

    def apply(self) -> None:
        """Pause and resume partitions as operator and task request; pause all while ``is_holding``."""
        assigned = self._positions.assigned
        paused = assigned if self.is_holding else self.resting
        self._consumer.pause(paused)
        self._consumer.resume(assigned - paused)

    @property
    def resting(self) -> set[TopicPartition]:
        """Return the partitions paused by the operator or the task."""
        assigned = self._positions.assigned
        return assigned if self.is_paused else assigned & self._requests.paused

    def rewind_when_asked(self) -> None:
        """Seek where the task requested; drop what was read ahead of paused partitions, to read it again later."""
        if self._requests.rewind:
            self.seek(self._positions.rewind(self._requests.take_rewind()))
        self.seek(self._positions.withdraw(self.resting))

    def seek(self, offsets: Offsets) -> None:
        """Continue reading at these offsets."""
        if offsets:
            self._consumer.seek(offsets)
