"""The loop of a sink task."""

from __future__ import annotations

import logging
import queue
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

from hearth.isolation.stage import Stage, StageTimeout
from hearth.runtime.delivery import Delivery, Offsets, Wishes, bounds
from hearth.runtime.kafka.consumer import MOST_MESSAGES, Consumer, Incoming
from hearth.runtime.link import TaskLink
from hearth.runtime.pipeline import Pipeline, step_of
from hearth.runtime.setting import TaskSettings
from hearth.runtime.spec import PluginSpec, TaskSpec
from hearth.runtime.subscription import Subscription
from hearth.runtime.tolerance import Tolerance, when_all
from hearth_api import ConnectError, TopicPartition
from hearth_stage.channel import Reply, Request
from hearth_stage.failure import ErrorInfo, Failure, is_retriable

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.1
FIRST_RETRY_SECONDS = 0.1
MOST_RETRY_SECONDS = 5.0
JAVA_MAX_POLL_RECORDS = 500
BEGINNING = -2
RECENT = 8
"""Deliveries that are remembered, so that a record the task reports late can be dead-lettered as it was consumed."""


class SinkLoop:
    """Runs one sink task between the consumer and its stage process.

    One put is on its way while the next records are read and converted. Rebalances are served inside the consumer's
    poll, on the same thread. Wishes of the task arrive on the stage's reader thread, through ``inbox``.
    """

    def __init__(
        self, spec: TaskSpec, settings: TaskSettings, link: TaskLink, consumer: dict[str, str], most: str | None
    ) -> None:
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._spec, self._settings, self._link = spec, settings, link
        self._asked_most = most
        self._subscription = Subscription(spec.config, consumer)
        self._consumer = Consumer(consumer, self._on_assign, self._on_revoke)
        self._tolerance = Tolerance(spec.config, settings.reporters)
        self._columns: list[str] | None = None
        self._assigned: set[TopicPartition] = set()
        self._paused_by_task: set[TopicPartition] = set()
        self._done: Offsets = {}
        self._committed: Offsets = {}
        self._putting: tuple[Future[Reply], Delivery] | None = None
        self._retried = Delivery()
        self._recent: deque[Delivery] = deque(maxlen=RECENT)
        self._wishes = Wishes()
        self._next_commit = time.monotonic() + settings.flush_interval
        self._is_retrying = False
        self._is_stopping = False
        self._is_paused = spec.paused

    def start(self, stage: Stage, pipeline: Pipeline, inside: list[PluginSpec]) -> None:
        """Start the task in its stage and join the group."""
        self._stage, self._pipeline = stage, pipeline
        args = {
            "python": self._spec.plugin("task").python,
            "config": self._spec.task_config,
            "steps": [asdict(step_of(plugin)) for plugin in inside],
            "reporter": bool(self._settings.reporters),
        }
        answer = stage.call("sink.start", args).args
        self._columns = answer["columns"]
        # Transformations may look at any column, so only a task right behind the converters does without some.
        self._consumer.wants_timestamps = (
            self._columns is None or "timestamp" in self._columns or bool(pipeline.links or self._settings.reporters)
        )
        default = MOST_MESSAGES if answer["is_batch"] else JAVA_MAX_POLL_RECORDS
        self._most = int(self._asked_most) if self._asked_most else default
        self._subscription.begin(self._consumer)

    def answer(self, request: Request) -> None:
        """Take what the stage sends; runs on the stage's reader thread."""
        if request.op == "sink.context":
            self.inbox.put(request.args)
        elif request.op == "sink.errant":
            self._report_errant(request)
        else:
            request.fail(LookupError(f"a sink task has no request {request.op!r}"))

    def execute(self) -> None:
        """Read, convert, put and commit until told to stop.

        An offset is committed only after the put of its record returned and ``pre_commit`` agreed, so a crash on any
        line repeats records and never loses one (invariants 1 and 2).
        """
        try:
            while not self._is_stopping:
                self._serve_inbox()
                self._rewind_when_asked()
                self._subscription.renew(self._consumer)
                incoming = self._consumer.poll(int(self._patience() * 1000), self._most)
                self._put(self._convert(incoming))
                self._commit_when_due()
        except Exception as error:
            self._close_after(error)
            raise
        self._close()
        self._stage.call("sink.stop", timeout=self._settings.graceful_timeout)

    # Reading --------------------------------------------------------------------------------------------------

    def _patience(self) -> float:
        wait = min(IDLE_SECONDS, max(0.0, self._next_commit - time.monotonic()))
        if self._wishes.timeout is not None:
            wait, self._wishes.timeout = min(wait, self._wishes.timeout), None
        return wait

    def _convert(self, incoming: list[Incoming]) -> Delivery:
        """Deserialize and transform; a failed record is reported, and skipped where that is tolerated."""
        delivery = Delivery(sources=tuple(incoming))
        first = 0
        for part in incoming:
            outcome = self._pipeline.deserialize(part, first)
            first += len(part.offset)
            failures = outcome.failures
            for batch in outcome.batches:
                after = self._pipeline.transform(batch)
                delivery.batches += after.batches
                failures = failures + after.failures
            self._tolerance.judge(failures, delivery.record)
            starts, ends = bounds(part)
            delivery.starts.update(starts)
            delivery.offsets.update(ends)
        return delivery

    # Putting --------------------------------------------------------------------------------------------------

    def _put(self, delivery: Delivery) -> None:
        """Wait for the put before, then begin the next; an empty put tells the task that nothing came."""
        self._finish_put()
        delivery = self._withdraw(delivery)
        if self._settings.reporters:
            self._recent.append(delivery)
        self._putting = (self._begin_put(delivery), delivery)
        if not delivery.batches:
            self._finish_put()

    def _withdraw(self, delivery: Delivery) -> Delivery:
        """Take back what was read ahead of a put in which the task asked to read elsewhere, or to pause."""
        unwanted = {*self._wishes.rewind, *self._paused_by_task} & delivery.starts.keys()
        if unwanted:
            self._seek({partition: delivery.starts[partition] for partition in unwanted})
            self._rewind_when_asked()
        return delivery.without(unwanted) if unwanted else delivery

    def _begin_put(self, delivery: Delivery) -> Future[Reply]:
        batches = delivery.batches
        if self._columns is not None:
            batches = [batch.select(self._columns) for batch in batches]
        return self._stage.begin("sink.put", {"tolerant": self._tolerance.is_all}, batches)

    def _finish_put(self) -> None:
        """Wait until what is being put is put, and note its offsets as done."""
        retry = FIRST_RETRY_SECONDS
        while self._putting is not None:
            answer, delivery = self._putting
            try:
                reply = self._stage.result(answer, "sink.put")
            except Exception as error:
                if not is_retriable(error) or self._is_stopping:
                    self._putting = None
                    raise
                log.warning("%s: put is tried again: %s", self._spec.name, error)
                self._wait_for_retry(retry)
                retry = min(retry * 2, MOST_RETRY_SECONDS)
                continue
            self._putting = None
            self._tolerance.judge([Failure.from_json(each) for each in reply.args["failures"]], delivery.record)
            self._done.update(delivery.offsets)
            self._serve_inbox()

    def _wait_for_retry(self, seconds: float) -> None:
        """Wait with all partitions paused, still a member of the group, and put the same records again."""
        assert self._putting is not None
        _, delivery = self._putting
        self._putting = None
        self._retried = delivery
        self._serve_inbox()
        wait = self._wishes.timeout if self._wishes.timeout is not None else seconds
        self._wishes.timeout = None
        self._consumer.pause(self._assigned)
        self._is_retrying = True
        deadline = time.monotonic() + wait
        while not self._is_stopping and (left := deadline - time.monotonic()) > 0:
            self._consumer.poll(int(min(left, IDLE_SECONDS) * 1000) + 1, 1)  # returns nothing: all is paused
            self._serve_inbox()
        self._is_retrying = False
        self._consumer.resume(self._readable())
        if self._is_stopping:
            return
        delivery = self._retried
        self._putting = (self._begin_put(delivery), delivery)

    # Committing -----------------------------------------------------------------------------------------------

    def _commit_when_due(self) -> None:
        if self._wishes.commit or time.monotonic() >= self._next_commit:
            self._wishes.commit = False
            self._next_commit = time.monotonic() + self._settings.flush_interval
            self._finish_put()
            if not self._tolerance.settle(self._settings.flush_timeout):
                return  # the offsets wait until every bad record is where it belongs
            try:
                self._commit(self._assigned, wait=False)
            except ConnectError as error:
                log.error("%s: offsets are not committed, reading on from the last commit: %s", self._spec.name, error)
                self._rewind_to_committed()

    def _commit(self, partitions: set[TopicPartition], *, wait: bool) -> None:
        """Commit what is done and what ``pre_commit`` agrees to, and nothing beyond."""
        if not partitions:
            return  # nothing was opened yet
        done = {partition: offset for partition, offset in self._done.items() if partition in partitions}
        asked = [[*partition, offset] for partition, offset in done.items()]
        reply = self._stage.call("sink.pre_commit", {"offsets": asked})
        agreed = {TopicPartition(topic, number): offset for topic, number, offset in reply.args["offsets"]}
        wanted = {
            partition: offset
            for partition, offset in agreed.items()
            if offset <= done.get(partition, -1) and self._committed.get(partition) != offset
        }
        if wanted:
            self._consumer.commit(wanted, wait=wait)
            self._committed.update(wanted)

    def _rewind_to_committed(self) -> None:
        committed = self._consumer.committed(self._assigned)
        self._seek({partition: committed.get(partition, BEGINNING) for partition in self._assigned})

    def _rewind_when_asked(self) -> None:
        if not self._wishes.rewind:
            return
        self._finish_put()
        rewind, self._wishes.rewind = self._wishes.rewind, {}
        self._seek({partition: offset for partition, offset in rewind.items() if partition in self._assigned})

    def _seek(self, offsets: Offsets) -> None:
        if offsets:
            self._consumer.seek(offsets)
        for partition, offset in offsets.items():
            self._done.pop(partition, None)
            if offset >= 0:
                self._done[partition] = offset

    # Partitions come and go -----------------------------------------------------------------------------------

    def _on_assign(self, partitions: list[TopicPartition]) -> None:
        self._assigned |= set(partitions)
        if self._is_paused or self._is_retrying:
            self._consumer.pause(partitions)
        self._stage.call("sink.open", {"partitions": [list(each) for each in partitions]})

    def _on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        taken = set(partitions)
        try:
            self._give_up(taken, lost)
        finally:
            self._assigned -= taken
            self._paused_by_task -= taken
            for partition in taken:
                self._done.pop(partition, None)
                self._committed.pop(partition, None)

    def _give_up(self, partitions: set[TopicPartition], lost: bool) -> None:
        """Finish, flush, close and commit, in this order; what is lost is closed without a commit."""
        if not self._stage.is_alive:
            return
        if self._putting is None:
            self._retried = self._retried.without(partitions)
        else:
            self._finish_put()
        try:
            if not lost and partitions and self._tolerance.settle(self._settings.flush_timeout):
                self._commit(partitions, wait=True)
        finally:
            self._stage.call("sink.close", {"partitions": [list(each) for each in partitions]})

    def _close(self) -> None:
        try:
            if self._stage.is_alive:
                self._finish_put()
        finally:
            self._consumer.close()

    def _close_after(self, error: Exception) -> None:
        """Give the partitions back after a failure; what else fails then must not hide what failed first."""
        if isinstance(error, StageTimeout) and error.op.startswith("sink."):
            self._stage.kill()  # the task hangs, and would do so again
        try:
            self._close()
        except Exception as later:
            log.warning("%s: while it was closed after a failure: %s", self._spec.name, later)

    # What others want -----------------------------------------------------------------------------------------

    def _serve_inbox(self) -> None:
        while True:
            try:
                item = self.inbox.get_nowait()
            except queue.Empty:
                return
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, str):
                self._command(item)
            else:
                self._grant(item)

    def _command(self, command: str) -> None:
        if command == "stop":
            self._is_stopping = True
        elif command == "pause" and not self._is_paused:
            self._is_paused = True
            self._consumer.pause(self._assigned)
            self._wishes.commit = True
            self._link.status("PAUSED")
        elif command == "resume" and self._is_paused:
            self._is_paused = False
            self._consumer.resume(self._readable())
            self._link.status("RUNNING")

    def _grant(self, wishes: Mapping[str, Any]) -> None:
        """Do what the task asked of its context."""
        for topic, partition, offset in wishes.get("rewind", ()):
            self._wishes.rewind[TopicPartition(topic, partition)] = offset
        if "timeout" in wishes:
            self._wishes.timeout = wishes["timeout"] / 1000
        self._wishes.commit = self._wishes.commit or bool(wishes.get("commit"))
        if paused := {TopicPartition(*each) for each in wishes.get("pause", ())}:
            self._paused_by_task |= paused
            self._consumer.pause(paused & self._assigned)
        if resumed := {TopicPartition(*each) for each in wishes.get("resume", ())}:
            self._paused_by_task -= resumed
            self._consumer.resume(resumed & self._readable())

    def _readable(self) -> set[TopicPartition]:
        return set() if self._is_paused else self._assigned - self._paused_by_task

    def _report_errant(self, request: Request) -> None:
        """Report a record the task itself found bad (KIP-610), on the stage's thread: the loop may wait for that put.

        Where nothing is tolerated the task is told so, and fails even if it makes light of it.
        """
        topic, partition, offset = request.args["record"]
        failure = Failure(0, "TASK_PUT", self._spec.connector_class, ErrorInfo.from_json(request.args["error"]))
        found = (delivery.find(TopicPartition(topic, partition), offset) for delivery in reversed(self._recent))
        record = next((each for each in found if each is not None), None)
        try:
            reports = self._tolerance.report(failure, record)
        except ConnectError as exceeded:
            self.inbox.put(exceeded)
            request.fail(exceeded)
            return
        when_all(reports, request.reply)
