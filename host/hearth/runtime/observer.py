"""The observer of a running task: receives what happens to records, batch by batch, and reports it."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from hearth.isolation.stage_tenant import StageLost
from hearth.kafka.client_statistics import StatisticsKeeper
from hearth.link.task_counts import ASSIGNED, CHANGES, COMMITTED, FAILED, MOST_REASONS, PEAKS, TaskCounts, now_ms
from hearth.runtime.link import HostLost, TaskLink
from hearth.staging.failure_log import FailureLog
from hearth.staging.plugin_plan import TaskSettings
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import ErrorInfo, Failure
from hearth_stage.poll_times import PollTimes

log = logging.getLogger(__name__)

TASK_PUT, KAFKA_PRODUCE = "TASK_PUT", "KAFKA_PRODUCE"
"""Phases in which Kafka Connect counts failed records differently."""


class TaskObserver(FailureLog):
    """Receives events from the loops; reports states, topics and counts to the host, and writes the log.

    It receives batches, and single records only if they failed. Only a state blocks the caller, until the host has it.
    What is about failed records, and reports, may be called from any thread, the rest by the loop. Counts wait for the
    host's heartbeat, and the last ones go with the state that ends the run.
    """

    def __init__(self, task: str, link: TaskLink, settings: TaskSettings) -> None:
        super().__init__(task, settings)
        self.counts = TaskCounts()
        self._reported: dict[str, float] = {}
        self._consumed: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._named: dict[str, float] = {}
        """Counts with further parts in their names."""
        self._in_transactions = 0
        """Records acknowledged up to the end of the last transaction."""
        self._statistics: StatisticsKeeper | None = None
        self._link = link
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    # What the task is -----------------------------------------------------------------------------------------

    def runs(self, *, is_paused: bool) -> None:
        """The task runs, or is paused, from now on."""
        log.info("the task %s in process %d of %s", "is paused" if is_paused else "runs", os.getpid(), platform.node())
        self._link.status("PAUSED" if is_paused else "RUNNING")

    def watch(self, statistics: StatisticsKeeper) -> None:
        """Report what the task's client does."""
        self._statistics = statistics

    def stages_used(self, cpu_seconds: float, memory_bytes: int) -> None:
        """The stage processes have used this processor time, and have this memory."""
        self.counts.stage_cpu_seconds, self.counts.stage_memory_bytes = cpu_seconds, memory_bytes

    def report(self) -> dict[str, float]:
        """Return the counts that the host does not have yet."""
        newest = None if self._statistics is None else self._statistics.take()
        if newest is not None:
            for name, value in asdict(newest).items():
                setattr(self.counts, name, value)
        named = {name: value for name, value in self._named.copy().items() if self._reported.get(name) != value}
        return self.counts.changes(self._reported) | named

    def reported(self, changes: CHANGES) -> None:
        """Note that the host has these counts."""
        self._reported.update(changes)
        with self._lock:
            for name in PEAKS & changes.keys():
                if getattr(self.counts, name) == changes[name]:
                    setattr(self.counts, name, 0)

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
            self._link.status(state, trace, self.report())

    def assigned(
        self, partitions: Collection[TopicPartition], offsets: Mapping[TopicPartition, int] | None = None
    ) -> None:
        """Partitions were assigned to the task; ``offsets`` are those that the group has committed."""
        log.info("partitions assigned: %s", _named(partitions))
        self.counts.partitions += len(partitions)
        self._count_assigned(partitions, 1)
        self._note_committed(offsets or {})

    def revoked(self, partitions: Collection[TopicPartition], *, are_lost: bool) -> None:
        """Partitions were revoked; nothing was committed for lost ones."""
        if partitions:
            log.log(
                logging.WARNING if are_lost else logging.INFO,
                "partitions %s: %s", "lost" if are_lost else "revoked", _named(partitions),
            )  # fmt: skip
        self.counts.partitions = max(0, self.counts.partitions - len(partitions))
        self._count_assigned(partitions, -1)
        for partition in partitions:
            self._consumed.pop(partition, None)
            self._committed.pop(partition, None)
        self._count_unconsumed()

    def _count_assigned(self, partitions: Iterable[TopicPartition], change: int) -> None:
        for partition in partitions:
            name = f"{ASSIGNED}{partition.topic}"
            self._named[name] = max(0, self._named.get(name, 0) + change)

    # Good records ---------------------------------------------------------------------------------------------

    def polled(self, count: int) -> None:
        """Records that the task's ``poll`` returned are processed now."""
        self.counts.polled += count

    def poll_returned(self, times: PollTimes) -> None:
        """Polls of the task returned records."""
        counts = self.counts
        counts.polls += times.count
        counts.poll_seconds += times.seconds
        counts.batches += times.count
        counts.batch_records += times.records
        counts.polled_ms = now_ms()
        with self._lock:
            counts.poll_longest = max(counts.poll_longest, times.longest)
            counts.batch_largest = max(counts.batch_largest, times.largest)

    def read(self, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], count: int) -> None:
        """The consumer returned records, from one offset of each partition to another."""
        self.counts.read += count
        self.counts.polled_ms = now_ms()
        self._note_committed({each: start for each, start in starts.items() if each not in self._committed})
        self._consumed.update(ends)
        self._count_unconsumed()

    def sent(self, count: int) -> None:
        """Records were handed to the producer."""
        self.counts.sent += count

    def acknowledged(self, count: int, topics: Iterable[str]) -> None:
        """The broker acknowledged records; ``topics`` are those with their first acknowledged record."""
        self.counts.acknowledged += count
        self.counts.delivered_ms = now_ms()
        self._touched(topics)

    def unfinished(self, count: int) -> None:
        """So many records are read now, and neither acknowledged nor committed."""
        counts = self.counts
        counts.active = count
        counts.active_sum += count
        counts.active_changes += 1
        with self._lock:
            counts.active_most = max(counts.active_most, count)

    def put(self, count: int, topics: Iterable[str]) -> None:
        """Records of these topics were put."""
        self.counts.put += count
        self._touched(topics)

    def put_returned(self, puts: int, records: int, seconds: float, longest: float) -> None:
        """The task accepted puts with so many records in all."""
        if not puts:
            return
        counts = self.counts
        counts.puts += puts
        counts.batches += puts
        counts.batch_records += records
        counts.accepted += records
        counts.put_seconds += seconds
        if records:
            counts.delivered_ms = now_ms()
        with self._lock:
            counts.put_longest = max(counts.put_longest, longest or seconds / puts)
            counts.batch_largest = max(counts.batch_largest, -(-records // puts))

    def commit_begun(self) -> None:
        """A commit is sent."""
        self.counts.commits_begun += 1

    def committed(self, seconds: float, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Offsets were committed, which took so long; ``offsets`` are a sink's."""
        counts = self.counts
        counts.commits += 1
        counts.commit_seconds += seconds
        counts.committed_ms = now_ms()
        with self._lock:
            counts.commit_longest = max(counts.commit_longest, seconds)
        if offsets:
            self._note_committed(offsets)
            self._count_unconsumed()

    def commit_passed(self) -> None:
        """A commit was answered after a later one was sent."""
        self.counts.commits_passed += 1

    def transaction_ended(self, *, is_committed: bool) -> None:
        """A transaction was committed or aborted, after all its records were acknowledged."""
        counts = self.counts
        size = counts.acknowledged - self._in_transactions
        self._in_transactions = counts.acknowledged
        if not is_committed:
            return
        counts.transactions += 1
        counts.transaction_records += size
        with self._lock:
            counts.transaction_largest = max(counts.transaction_largest, size)
            counts.transaction_smallest = min(counts.transaction_smallest or size, size)

    def _note_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._committed.update(offsets)
        self._named.update((_place(partition), offset) for partition, offset in offsets.items())

    def converted(self, count: int, seconds: float) -> None:
        """Records were transformed and converted; called on the thread that did it."""
        self.counts.converted += count
        self.counts.convert_seconds += seconds

    def _count_unconsumed(self) -> None:
        """Count what was read and not committed, over all partitions."""
        ends, commits = self._consumed, self._committed
        self.unfinished(sum(max(0, end - commits.get(each, end)) for each, end in ends.items()))

    # What went wrong ------------------------------------------------------------------------------------------

    def failed(self, failure: Failure, record: Any) -> None:
        """A step could not process a record."""
        is_reported = failure.phase == TASK_PUT and self._settings.is_tolerant
        with self._lock:
            counts = self.counts
            counts.failed += 1
            counts.failures += 1 + (self._settings.is_retrying and failure.error.kind == "retriable")
            counts.errors += not is_reported
            counts.skipped += self._settings.is_tolerant and failure.phase not in (TASK_PUT, KAFKA_PRODUCE)
            counts.logged += self._settings.logs_failures
            counts.error_ms = now_ms()
            self._count_reason(failure.phase, failure.error.class_name)
        super().failed(failure, record)

    def _count_reason(self, phase: str, class_name: str) -> None:
        name = f"{FAILED}{phase}/{class_name}"
        if name not in self._named and sum(each.startswith(FAILED) for each in self._named) >= MOST_REASONS:
            name = f"{FAILED}{phase}/other"
        self._named[name] = self._named.get(name, 0) + 1

    def failed_unseen(self, count: int) -> None:
        """``count`` records failed whose details were not requested: they are tolerated."""
        if not count:
            return
        with self._lock:
            self.counts.failed += count
            self.counts.failures += count
            self.counts.errors += count
            self.counts.skipped += count
            self.counts.error_ms = now_ms()

    def step_retried(self) -> None:
        """A step is tried again, after its delay."""
        with self._lock:
            self.counts.retries += 1
            self.counts.failures += 1

    def dead_letter_sent(self) -> None:
        """A failed record is handed to the producer of the dead letter queue."""
        with self._lock:
            self.counts.dead_letters += 1

    def dead_lettered(self) -> None:
        """The broker has the dead letter of a failed record."""
        with self._lock:
            self.counts.dead_lettered += 1

    def dead_letter_refused(self) -> None:
        """The broker refused a dead letter."""
        with self._lock:
            self.counts.dead_letters_refused += 1

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
        self.counts.commits_failed += 1
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


def _place(partition: TopicPartition) -> str:
    return f"{COMMITTED}{partition.topic}/{partition.partition}"


def _named(partitions: Collection[TopicPartition]) -> str:
    """Format partitions by topic: `orders 0, 1, 7; returns 1`."""
    numbers: dict[str, list[int]] = {}
    for each in sorted(partitions):
        numbers.setdefault(each.topic, []).append(each.partition)
    return "; ".join(f"{topic} {', '.join(map(str, own))}" for topic, own in numbers.items()) or "none"
