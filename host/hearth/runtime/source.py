"""The loop of a source task."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.isolation.stage import Stage, StageTimeout
from hearth.runtime.kafka.library import KafkaError
from hearth.runtime.kafka.producer import Delivery, Outgoing, Producer
from hearth.runtime.link import HostLost, TaskLink
from hearth.runtime.pipeline import Pipeline, Prepared, step_of
from hearth.runtime.position import SubmittedPositions
from hearth.runtime.setting import TaskSettings
from hearth.runtime.spec import PluginSpec, TaskSpec
from hearth.runtime.tolerance import Tolerance, ToleranceExceeded
from hearth_api import Batch, ConnectError
from hearth_stage.channel import Reply, Request
from hearth_stage.failure import ErrorInfo, Failure

log = logging.getLogger(__name__)

AHEAD = 2
"""Hand-overs a stage may be ahead: one on its way while the one before is sent."""

IDLE_SECONDS = 0.1
PING_SECONDS = 1.0
FULL_WAIT_MS = 50


@dataclass(frozen=True)
class _Polled:
    """One batch as the task polled it, and what the stage's own steps made of it."""

    origin: Batch
    results: list[Batch]
    failures: list[Failure]


class SourceLoop:
    """Runs one source task between its stage process and the producer.

    Commands and the stage's hand-overs arrive in ``inbox`` from other threads; everything else happens on the thread
    that calls ``execute``.
    """

    def __init__(
        self,
        spec: TaskSpec,
        settings: TaskSettings,
        link: TaskLink,
        producer: Producer,
        ensure_topic: Callable[[str], None] | None = None,
    ) -> None:
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._spec, self._settings, self._link, self._producer = spec, settings, link, producer
        self._ensure_topic = ensure_topic
        self._tolerance = Tolerance(spec.config, settings.reporters)
        self._positions = SubmittedPositions()
        self._unstored: list[tuple[Any, Any]] = []
        self._next_commit = time.monotonic() + settings.flush_interval
        self._wants_records = False
        self._topics: dict[int, str] = {}
        self._ping: tuple[float, Future[Reply]] | None = None
        self._is_stopping = False
        self._is_paused = spec.paused

    def start(self, stage: Stage, pipeline: Pipeline, inside: list[PluginSpec]) -> None:
        """Start the task in its stage."""
        self._stage, self._pipeline = stage, pipeline
        task = self._spec.plugin("task")
        args = {
            "python": task.python,
            "config": self._spec.task_config,
            "steps": [asdict(step_of(plugin)) for plugin in inside],
        }
        self._wants_records = bool(stage.call("source.start", args).args["wants_records"])
        if self._is_paused:
            stage.notify("source.hold")
        stage.notify("source.credit", {"count": AHEAD})

    def answer(self, request: Request) -> None:
        """Take what the stage sends; runs on the stage's reader thread."""
        if request.op == "source.batches":
            self.inbox.put(list(_polled(request.args["groups"], request.batches)))
        elif request.op == "source.failed":
            self.inbox.put(ErrorInfo.from_json(request.args["error"]).to_error())
        elif request.op == "offsets.read":
            request.answer(lambda each: Reply({"offsets": self._link.read_offsets(each.args["partitions"])}))
        else:
            request.fail(LookupError(f"a source task has no request {request.op!r}"))

    def execute(self) -> None:
        """Take, transform, send and commit until told to stop.

        The order of the calls is the guarantee: a position is committed only when every record up to it was
        acknowledged, so a crash on any line repeats records and never loses one (invariants 1 and 2).
        """
        try:
            while not self._is_stopping:
                self._take(IDLE_SECONDS)
                self._collect(0)
                self._commit_when_due()
                self._watch()
        except HostLost:
            raise  # another run may have begun, so nothing more is this one's to store
        except Exception:
            self._finish(self._settings.flush_timeout)
            raise
        self._drain()

    def _take(self, wait: float) -> None:
        """Serve one thing from the inbox: records, a command, or the stage's end."""
        try:
            item = self.inbox.get(timeout=self._patience(wait))
        except queue.Empty:
            return
        if isinstance(item, list):
            self._handle(item)
        elif isinstance(item, BaseException):
            raise item
        else:
            self._command(item)

    def _watch(self) -> None:
        """Raise when the stage has not come back from a poll for the longest time a call may take."""
        now = time.monotonic()
        if self._ping is None or self._ping[1].done():
            if self._ping is None or now - self._ping[0] >= PING_SECONDS:
                self._ping = (now, self._stage.begin("ping"))
        elif now - self._ping[0] > self._settings.call_timeout:
            raise self._stage.timed_out("poll", self._settings.call_timeout)

    def _patience(self, wait: float) -> float:
        # While records are on their way their acknowledgements must not wait for new records.
        return min(wait, 0.01) if self._producer.in_flight else wait

    def _handle(self, polled: list[_Polled]) -> None:
        for part in polled:
            self._send(part)
        if self._stage.is_alive:
            self._stage.notify("source.credit", {"count": 1})

    def _command(self, command: str) -> None:
        if command == "stop":
            self._is_stopping = True
        elif command == "pause" and not self._is_paused:
            self._is_paused = True
            self._stage.notify("source.hold")
            self._link.status("PAUSED")
        elif command == "resume" and self._is_paused:
            self._is_paused = False
            self._stage.notify("source.resume")
            self._link.status("RUNNING")

    # Sending --------------------------------------------------------------------------------------------------

    def _send(self, polled: _Polled) -> None:
        """Transform, convert and send what was polled; a record that is dropped or skipped counts as done.

        Where nothing is tolerated the records before the first that failed are sent, and the task ends there.
        """
        prepared = self._prepare(polled)
        try:
            self._tolerance.judge(prepared.failures)
        except ToleranceExceeded as exceeded:
            self._submit(polled.origin.slice(0, exceeded.failure.row), prepared.before(exceeded.failure.row))
            raise
        self._submit(polled.origin, prepared)

    def _submit(self, origin: Batch, prepared: Prepared) -> None:
        count = origin.num_rows
        written = np.zeros(count, np.bool_)
        for _, rows in prepared.outgoing:
            written[rows] = True
        offsets = origin.column("source_offset")
        offsets = pa.nulls(count, pa.string()) if offsets is None else offsets
        first = self._positions.submit(origin.source_partition, offsets, written, prepared.outgoing)
        if self._wants_records:
            self._tell_dropped(first, written)
        for outgoing, rows in prepared.outgoing:
            if len(rows):
                self._produce(outgoing, first + np.asarray(rows, np.int64))

    def _prepare(self, polled: _Polled) -> Prepared:
        prepared = Prepared(failures=list(polled.failures))
        for batch in polled.results:
            part = self._pipeline.prepare(batch)
            prepared.outgoing += part.outgoing
            prepared.failures += part.failures
        return prepared

    def _produce(self, outgoing: Outgoing, sequence: Any) -> None:
        if self._ensure_topic is not None:
            self._ensure_topic(outgoing.topic)
        while not self._producer.has_room(outgoing):
            self._collect(FULL_WAIT_MS)
            self._commit_when_due()
        if self._wants_records:
            self._topics.update(dict.fromkeys(sequence.tolist(), outgoing.topic))
        refused = self._producer.send(outgoing, sequence)
        if refused is not None:
            self._settle(refused)

    def _collect(self, wait_ms: int) -> None:
        """Take in acknowledgements."""
        for delivery in self._producer.poll(wait_ms):
            self._settle(delivery)

    def _settle(self, delivery: Delivery) -> None:
        if self._wants_records and self._stage.is_alive:
            self._tell_written(delivery)
        self._positions.acknowledge(delivery.sequence[delivery.error == 0])
        if delivery.error.any():
            self._judge(delivery)
            self._positions.acknowledge(delivery.sequence[delivery.error != 0])

    def _judge(self, delivery: Delivery) -> None:
        """Decide about records the broker did not take (KIP-779)."""
        for number in np.unique(delivery.error[delivery.error != 0]).tolist():
            error = KafkaError(number)
            if not self._tolerance.is_all:
                raise ConnectError("Unrecoverable exception from producer send callback") from error
            count = int(np.count_nonzero(delivery.error == number))
            log.error("%s: %d records skipped, the broker did not take them: %s", self._spec.name, count, error)

    def _tell_written(self, delivery: Delivery) -> None:
        rows = zip(
            delivery.sequence.tolist(), delivery.error.tolist(), delivery.partition.tolist(), delivery.offset.tolist()
        )
        records = [
            [number, None if error else topic, partition, offset, None]
            for number, error, partition, offset in rows
            for topic in (self._topics.pop(number, None),)
        ]
        self._stage.notify("source.commit_records", {"records": records})

    def _tell_dropped(self, first: int, written: Any) -> None:
        dropped = (first + np.flatnonzero(~written)).tolist()
        if dropped:
            records = [[number, None, None, None, None] for number in dropped]
            self._stage.notify("source.commit_records", {"records": records})

    # Committing -----------------------------------------------------------------------------------------------

    def _commit_when_due(self) -> None:
        if time.monotonic() >= self._next_commit:
            self._next_commit = time.monotonic() + self._settings.flush_interval
            self._commit()

    def _commit(self) -> None:
        """Store what is committable; what cannot be stored now is kept for the next time."""
        self._unstored += self._positions.committable()
        if self._unstored:
            try:
                self._link.write_offsets(self._unstored, self._settings.flush_timeout)
            except ConnectError as error:
                log.error("%s: source offsets are not stored, they are kept: %s", self._spec.name, error)
                return
            self._unstored = []
        if self._stage.is_alive:
            self._stage.notify("source.commit")

    def _finish(self, seconds: float) -> None:
        """Wait for what is on its way, at most so long, and commit what is acknowledged."""
        deadline = time.monotonic() + seconds
        try:
            while self._producer.in_flight and time.monotonic() < deadline:
                self._collect(FULL_WAIT_MS)
        finally:
            self._commit()

    def _drain(self) -> None:
        """Send what was polled, wait for its acknowledgement, commit, and stop the task (invariant 8).

        A task that does not come back from its poll in time is cut off: what it would have returned was never taken.
        """
        deadline = time.monotonic() + self._settings.graceful_timeout
        try:
            self._stage.call("source.hold", timeout=self._settings.graceful_timeout)
        except StageTimeout as error:
            log.warning("%s: cut off: %s", self._spec.name, error)
            self._commit()
            return
        while not self.inbox.empty():
            self._take(0)
        self._finish(deadline - time.monotonic())
        self._stage.call("source.stop", timeout=max(1.0, deadline - time.monotonic()))


def _polled(groups: list[Mapping[str, Any]], batches: list[Batch]) -> Any:
    rest = iter(batches)
    for group in groups:
        origin = next(rest)
        if not group.get("origin"):
            yield _Polled(origin, [origin], [])
            continue
        results = [next(rest) for _ in range(group["results"])]
        yield _Polled(origin, results, [Failure.from_json(each) for each in group["failures"]])
