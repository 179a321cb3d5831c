"""The observer of a running task: what becomes of its records, batch by batch, and who wants to know that."""

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
    """How many records came so far in a run: one that is sent or put again counts again.

    What was polled and neither failed nor went on was dropped by a transformation.
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
    """Commits that are done, not records."""


class TaskObserver(FailureLog):
    """Hears from the loops what they do, and passes it on: statuses and topics to the host, lines to the log.

    It is told of batches, never of a single record that nothing is wrong with, and nothing waits for it but a status,
    which the host has when the call returns. ``failed``, ``failed_unseen`` and ``dead_lettered`` may be called from
    any thread, the others by the loop.
    """

    def __init__(self, task: str, link: TaskLink, settings: TaskSettings) -> None:
        super().__init__(task, settings)
        self.counts = Counts()
        self._link = link
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    # What the task is -----------------------------------------------------------------------------------------

    def runs(self, *, is_paused: bool) -> None:
        """The task runs, or rests, from now on."""
        log.info("the task %s in process %d of %s", "rests" if is_paused else "runs", os.getpid(), platform.node())
        self._link.status("PAUSED" if is_paused else "RUNNING")

    def ended(self, error: Exception | None) -> None:
        """The run is over; with an error it failed, unless that is the loss of its host or of a process it shares."""
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
        """Partitions are the task's from now on."""
        log.info("partitions are assigned: %s", _named(partitions))

    def revoked(self, partitions: Collection[TopicPartition], *, are_lost: bool) -> None:
        """Partitions are the task's no longer; of those that are lost nothing was committed."""
        if partitions:
            log.log(
                logging.WARNING if are_lost else logging.INFO,
                "partitions are %s: %s", "lost" if are_lost else "given back", _named(partitions),
            )  # fmt: skip

    # Good records ---------------------------------------------------------------------------------------------

    def polled(self, count: int) -> None:
        """The task returned records, or they were read for it."""
        self.counts.polled += count

    def sent(self, count: int) -> None:
        """Records were handed to the producer."""
        self.counts.sent += count

    def acknowledged(self, count: int, topics: Iterable[str]) -> None:
        """The broker has records; ``topics`` are among theirs, all of which nothing was acknowledged before."""
        self.counts.acknowledged += count
        self._touched(topics)

    def put(self, count: int, topics: Iterable[str]) -> None:
        """Records, of these topics, were handed to the task."""
        self.counts.put += count
        self._touched(topics)

    def committed(self) -> None:
        """A commit of offsets is done."""
        self.counts.commits += 1

    # What went wrong ------------------------------------------------------------------------------------------

    def failed(self, failure: Failure, record: Any) -> None:
        """A step could not process a record."""
        with self._lock:
            self.counts.failed += 1
        super().failed(failure, record)

    def failed_unseen(self, count: int) -> None:
        """So many records failed, of which nobody wants to hear more."""
        with self._lock:
            self.counts.failed += count

    def dead_lettered(self) -> None:
        """A record that failed is in the dead letter topic."""
        with self._lock:
            self.counts.dead_lettered += 1

    def skipped(self, count: int, error: Exception) -> None:
        """The broker did not take records for their own sake, and that is tolerated."""
        self.counts.skipped += count
        log.error("%d records skipped, the broker did not take them: %s", count, error)

    def sent_again(self, count: int) -> None:
        """Records go to the producer once more, because others of their requests were refused."""
        self.counts.retried += count
        log.info("%d records are sent again, because of others that were refused", count)

    def put_again(self, count: int, error: Exception) -> None:
        """The task asked for records again."""
        self.counts.retried += count
        log.warning("put is tried again: %s", error)

    def commit_failed(self, reason: object) -> None:
        """Offsets are not committed; those of the next commit include them, or their records come again."""
        log.error("offsets are not committed: %s", reason)

    def forget_topics(self) -> None:
        """Users had the topics forgotten: those that are touched from now on are told again."""
        self._topics.clear()

    def _touched(self, topics: Iterable[str]) -> None:
        """Tell the host of topics that it was not told in this run, or had forgotten since (KIP-558)."""
        new = [topic for topic in topics if topic not in self._topics]
        if new and self._settings.tracks_topics:
            self._topics.update(new)
            self._link.add_topics(new)


def _named(partitions: Collection[TopicPartition]) -> str:
    """Name partitions by their topics: `orders 0, 1, 7; returns 1`."""
    numbers: dict[str, list[int]] = {}
    for each in sorted(partitions):
        numbers.setdefault(each.topic, []).append(each.partition)
    return "; ".join(f"{topic} {', '.join(map(str, own))}" for topic, own in numbers.items()) or "none"
