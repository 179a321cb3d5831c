"""The observer of a running task: receives what happens to records, batch by batch, and reports it."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from hearth.isolation.stage_tenant import StageLost
from hearth.runtime.link import HostLost, TaskLink
from hearth.staging.failure_log import FailureLog
from hearth.staging.plugin_plan import TaskSettings
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import ErrorInfo, Failure

log = logging.getLogger(__name__)


@dataclass
class Counts:
    """Record counts of a run; a record that is sent or put again counts again.

    Polled records that neither failed nor were sent were dropped by a transformation.
    """

    polled: int = 0
    sent: int = 0
    acknowledged: int = 0
    put: int = 0
    retried: int = 0
    failed: int = 0
    skipped: int = 0
    dead_lettered: int = 0
    commits: int = 0
    """Number of completed commits, not records."""


class TaskObserver(FailureLog):
    """Receives events from the loops; reports states and topics to the host, and writes the log.

    It receives batches, and single records only if they failed. Only a state blocks the caller, until the host has it.
    ``failed``, ``failed_unseen`` and ``dead_lettered`` may be called from any thread, the others by the loop.
    """

    def __init__(self, task: str, link: TaskLink, settings: TaskSettings) -> None:
        super().__init__(task, settings)
        self.counts = Counts()
        self._link = link
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    # What the task is -----------------------------------------------------------------------------------------

    def runs(self, *, is_paused: bool) -> None:
        """The task runs, or is paused, from now on."""
        log.info("the task %s in process %d of %s", "is paused" if is_paused else "runs", os.getpid(), platform.node())
        self._link.status("PAUSED" if is_paused else "RUNNING")

    def ended(self, error: Exception | None) -> None:
        """The run ended; an error is a failure, unless its host or a shared process was lost."""
        state, trace = "UNASSIGNED", None
        if error is None:
            log.info("the task has stopped")
        elif isinstance(error, (HostLost, StageLost)):
            log.warning("the task stops: %s", error)
        else:
            state, trace = "FAILED", ErrorInfo.of(error).trace
            log.error("the task is FAILED and stays so until it is restarted:\n%s", trace)
        with contextlib.suppress(ConnectError):
            self._link.status(state, trace)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Partitions were assigned to the task."""
        log.info("partitions assigned: %s", _named(partitions))

    def revoked(self, partitions: Collection[TopicPartition], *, are_lost: bool) -> None:
        """Partitions were revoked; nothing was committed for lost ones."""
        if partitions:
            log.log(
                logging.WARNING if are_lost else logging.INFO,
                "partitions %s: %s", "lost" if are_lost else "revoked", _named(partitions),
            )  # fmt: skip

    # Good records ---------------------------------------------------------------------------------------------

    def polled(self, count: int) -> None:
        """The task returned records, or the consumer read them."""
        self.counts.polled += count

    def sent(self, count: int) -> None:
        """Records were handed to the producer."""
        self.counts.sent += count

    def acknowledged(self, count: int, topics: Iterable[str]) -> None:
        """The broker acknowledged records; ``topics`` are those with their first acknowledged record."""
        self.counts.acknowledged += count
        self._touched(topics)

    def put(self, count: int, topics: Iterable[str]) -> None:
        """Records of these topics were put."""
        self.counts.put += count
        self._touched(topics)

    def committed(self) -> None:
        """Offsets were committed."""
        self.counts.commits += 1

    # What went wrong ------------------------------------------------------------------------------------------

    def failed(self, failure: Failure, record: Any) -> None:
        """A step could not process a record."""
        with self._lock:
            self.counts.failed += 1
        super().failed(failure, record)

    def failed_unseen(self, count: int) -> None:
        """``count`` records failed whose details were not requested."""
        with self._lock:
            self.counts.failed += count

    def dead_lettered(self) -> None:
        """The broker has the dead letter of a failed record."""
        with self._lock:
            self.counts.dead_lettered += 1

    def skipped(self, count: int, error: Exception) -> None:
        """The broker refused records, and that is tolerated."""
        self.counts.skipped += count
        log.error("%d records skipped, the broker refused them: %s", count, error)

    def sent_again(self, count: int) -> None:
        """Records are sent again because others of their requests were refused."""
        self.counts.retried += count
        log.info("%d records are sent again because others in their requests were refused", count)

    def put_again(self, count: int, error: Exception) -> None:
        """The task asked for records again."""
        self.counts.retried += count
        log.warning("the put is retried: %s", error)

    def commit_failed(self, reason: object) -> None:
        """A commit failed: the next one includes its offsets, or their records are read again."""
        log.error("offsets were not committed: %s", reason)

    def forget_topics(self) -> None:
        """A user reset the active topics: report topics again as they are used."""
        self._topics.clear()

    def _touched(self, topics: Iterable[str]) -> None:
        """Report topics that were not reported in this run, or were reset since (KIP-558)."""
        new = [topic for topic in topics if topic not in self._topics]
        if new and self._settings.tracks_topics:
            self._topics.update(new)
            self._link.add_topics(new)


def _named(partitions: Collection[TopicPartition]) -> str:
    """Format partitions by topic: `orders 0, 1, 7; returns 1`."""
    numbers: dict[str, list[int]] = {}
    for each in sorted(partitions):
        numbers.setdefault(each.topic, []).append(each.partition)
    return "; ".join(f"{topic} {', '.join(map(str, own))}" for topic, own in numbers.items()) or "none"
