"""A model of everything around a source loop: source, stage, broker, host and clock, controlled by the test."""

from __future__ import annotations

import json
import math
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, zip_longest
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hearth.isolation.stage import StageDied, StageTimeout
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import DeliveryReport
from hearth.runtime.conversion import Conversion
from hearth.runtime.event_queue import EventQueue, StageEnded
from hearth.runtime.link import HostLost
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.pipeline import Prepared
from hearth.runtime.plan import SourcePlan, TransactionPlan
from hearth.runtime.poll_queue import JOINED_ROWS
from hearth.runtime.source import SourceLoop
from hearth.runtime.task_services import TaskServices
from hearth.staging.source_stage import answer_source, source_start, start_source
from hearth.staging.tolerance import Tolerance
from hearth_api import STRING_SCHEMA, ConnectError, TimestampType
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import rows_of
from hearth_stage.call import Notice
from hearth_stage.channel import CallTimeout, ChannelClosed
from hearth_stage.plugin_call import Ping
from hearth_stage.task_call import (
    AddCredit,
    CommitRecords,
    CommitSource,
    HandOver,
    HoldPolling,
    Polled,
    ResumePolling,
    SourceStarted,
    StartSource,
    StopSource,
)
from tests.unit.runtime.piecework import FakeThread
from tests.unit.runtime.sample import task_plan

OK, DROPPED, FAILING, BAD, HUGE, CROWDED = "ok", "dropped", "failing", "bad", "huge", "crowded"
"""What becomes of a record: written, filtered, not converted, refused by the broker, refused by the client, refused
once because there is no room."""

INVALID_RECORD, DIFFERENT_RECORD, TOO_LARGE, QUEUE_FULL, TIMED_OUT = 87, -138, 10, -184, -192
PURGED_IN_QUEUE, PURGED_IN_FLIGHT, OUT_OF_ORDER = -152, -151, 45
FENCED = -144
OFFSETS_TOPIC = "offsets"
ROOM = 6

TOGETHER, APART = "together", "apart"
"""The placement of plugins in stages: all in one, or each in its own."""

GRACEFUL, FLUSH_TIMEOUT, FLUSH_INTERVAL = 2.0, 0.2, 2.0
"""The time of a stop; longer than the interval of questions to a silent host (`LISTEN_SECONDS`)."""
MOMENT = 0.1
"""The time between two events while the loop waits."""
QUICK = 0.001
"""The time of one conversion; an orderly stop has time for many."""


class Violation(BaseException):
    """The loop broke a promise; a ``BaseException``, so that error handling does not catch it."""


def demand(is_so: bool, otherwise: str) -> None:
    """Raise ``Violation`` unless the condition holds."""
    if not is_so:
        raise Violation(otherwise)


class Record(NamedTuple):
    """A record of a source: the ``number``-th of a source partition."""

    source: str | None
    number: int
    topic: str
    partition: int
    fate: str


@dataclass
class World:
    """What survives a run of the task: source, topics and stored positions."""

    is_tolerant: bool = True
    now: float = 0.0
    records: dict[tuple[str | None, int], Record] = field(default_factory=dict)
    """The records of the source, as of their last read."""
    read: dict[str | None, int] = field(default_factory=dict)
    """The number of records polled in this run, by source partition, from its stored position on."""
    log: dict[tuple[str, int], list[Record]] = field(default_factory=dict)
    stored: dict[str | None, int] = field(default_factory=dict)
    excused: set[tuple[str | None, int]] = field(default_factory=set)
    """Records that need not be written: filtered ones, and tolerated failures."""
    aborted: set[tuple[str | None, int]] = field(default_factory=set)
    """Records that the task aborted after they were written and before they were committed."""
    meanwhile: Callable[[], None] = lambda: None
    """The events that happen while the loop waits."""
    stages: str = ""
    """Whether plugins are in stages: what is polled is converted beside the loop then, and where they are ``APART``
    each step beside the other."""
    joined_rows: int = JOINED_ROWS
    """The number of waiting records that are converted together."""
    looks: int = 0
    """The number of checks that find a conversion unfinished."""
    sends_together: bool = False
    """Whether rows of several topics are sent together, as with packed records."""
    memory: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    """The owners of the rows' memory, by address."""

    def owner(self, column: Any) -> weakref.ref[Any]:
        """Return what must stay alive for a column: the column, or the memory that several topics share."""
        held = self.memory.get(column.buffers()[2].address)
        return weakref.ref(column) if held is None or held() is None else held

    def clock(self) -> float:
        """Return the time, which advances with each call."""
        self.now += 1e-9
        return self.now

    def pass_time(self, seconds: float) -> None:
        """Advance the clock, and let events happen."""
        self.now += seconds
        self.meanwhile()

    def poll(self, source: str | None, plans: list[tuple[str, int, str]]) -> list[Record]:
        """Return the next records of a source partition; one that was read before keeps its target."""
        found = []
        for topic, partition, fate in plans:
            number = self.read.get(source, self.stored.get(source, 0)) + 1
            self.read[source] = number
            before = self.records.get((source, number))
            record = Record(source, number, topic, partition, fate) if before is None else before
            self.records[source, number] = record
            found.append(record)
        return found

    def write(self, record: Record) -> int:
        """Append a record to its topic and return its offset."""
        log = self.log.setdefault((record.topic, record.partition), [])
        log.append(record)
        return len(log) - 1

    def mend(self) -> None:
        """Fix what made the task fail, as an operator does before a restart."""
        for place, record in self.records.items():
            if record.fate in (FAILING, BAD, HUGE, CROWDED) and place not in self.excused:
                self.records[place] = record._replace(fate=OK)


@dataclass
class _Sent:
    """A row in flight."""

    number: int
    record: Record
    column: Any
    is_written: bool = False


class WorldProducer:
    """A producer whose broker the test controls."""

    wants_timestamps = False

    def __init__(self, world: World, thread: FakeThread) -> None:
        self._world, self._thread = world, thread
        self.lines: dict[tuple[str, int], deque[_Sent]] = {}
        self.reports: list[DeliveryReport] = []
        self.failure: KafkaError | None = None
        self.is_closed = False
        self.is_forbidden = False
        """Whether the run must not send any more."""
        self._crowded: set[tuple[str | None, int]] = set()
        self._is_woken = False

    @property
    def skips(self) -> bool:
        """Return whether records that the broker rejects individually are skipped."""
        return self._world.is_tolerant

    @property
    def in_flight(self) -> int:
        """Return the number of rows without an answer."""
        return sum(map(len, self.lines.values())) + sum(len(report.sequence) for report in self.reports)

    def has_room(self, outgoing: Outgoing) -> bool:
        """Return whether the rows fit."""
        return self.in_flight == 0 or self.in_flight + len(outgoing.value) <= ROOM

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Accept rows."""
        demand(not self.is_closed, "sent after the end")
        demand(not self.is_forbidden, "sent although the host is lost")
        refused = []
        topics = [topic for topic, start, end in outgoing.by_topic for _ in range(start, end)]
        for row, (number, topic) in enumerate(zip(sequence.tolist(), topics, strict=True)):
            record = Record(*json.loads(outgoing.value[row].as_py()))
            demand((record.topic, record.partition) == (topic, outgoing.partition[row]), "sent elsewhere")
            if error := self._refusal(record):
                refused.append((number, error))
                continue
            line = self.lines.setdefault((record.topic, record.partition), deque())
            line.append(_Sent(number, record, self._world.owner(outgoing.value)))
        return _delivery([(number, error, -1, -1) for number, error in refused]) if refused else None

    def _refusal(self, record: Record) -> int:
        place = record.source, record.number
        if self.failure is not None:
            return -150
        if record.fate == HUGE:
            if self.skips:
                self._world.excused.add(place)
            return TOO_LARGE
        if record.fate == CROWDED and place not in self._crowded:
            self._crowded.add(place)
            return QUEUE_FULL
        return 0

    def poll(self, wait_ms: int) -> list[DeliveryReport]:
        """Return the answers; wait for them until the time is up or the loop is woken."""
        demand(not self.is_closed, "polled after the end")
        over = self._world.now + wait_ms / 1000
        while not (self.reports or self.failure or self._is_woken) and self._world.now < over:
            moment = QUICK if self._thread.go_on() else MOMENT
            self._world.pass_time(min(moment, over - self._world.now))
        self._is_woken = False
        reports, self.reports = self.reports, []
        if self.failure is not None and not reports:
            raise self.failure
        return reports

    def wake(self) -> None:
        """End a wait."""
        self._is_woken = True

    def close(self) -> None:
        """Drop the rows in flight."""
        self.is_closed = True
        self.lines, self.reports = {}, []

    # Actions of the broker --------------------------------------------------------------------------------------

    def answer(self, place: tuple[str, int], most: int) -> None:
        """Answer one request of a partition: write it, or reject all of it because of a bad record."""
        line = self.lines[place]
        request = [line.popleft() for _ in range(min(most, len(line)))]
        demand(all(sent.column() is not None for sent in request), "the memory of a row on its way was let go")
        bad = [sent for sent in request if sent.record.fate == BAD]
        if bad and self.skips:
            self._world.excused.update((sent.record.source, sent.record.number) for sent in bad)
        if bad:
            errors = [INVALID_RECORD if sent in bad else DIFFERENT_RECORD for sent in request]
            self.reports.append(_delivery([(sent.number, error, -1, -1) for sent, error in zip(request, errors)]))
            return
        places = [(sent.number, 0, place[1], self._write(sent)) for sent in request]
        if places:
            self.reports.append(_delivery(places))

    def write_unanswered(self, place: tuple[str, int]) -> None:
        """Write the first record of a partition and lose the answer; a retry gets it."""
        if (line := self.lines[place]) and line[0].record.fate != BAD:
            self._write(line[0])

    def expire(self, place: tuple[str, int]) -> None:
        """Abandon the first record of a partition, as after ``delivery.timeout.ms``."""
        sent = self.lines[place].popleft()
        if sent.is_written:
            self.lines[place].appendleft(sent)
        else:
            if self.skips:
                self._world.excused.add((sent.record.source, sent.record.number))
            self.reports.append(_delivery([(sent.number, TIMED_OUT, -1, -1)]))

    def fail(self, *, reports_first: bool) -> None:
        """Raise a fatal error: queued rows are purged."""
        self.failure = KafkaError(OUT_OF_ORDER, "out of order")
        purged = [sent for line in self.lines.values() for sent in line]
        self.lines = {}
        errors = [PURGED_IN_QUEUE if index % 2 else PURGED_IN_FLIGHT for index in range(len(purged))]
        if not reports_first:
            self.reports = []
        elif purged:
            rows = [(sent.number, error, -1, -1) for sent, error in zip(purged, errors)]
            self.reports.append(_delivery(rows))

    def _write(self, sent: _Sent) -> int:
        if not sent.is_written:
            sent.is_written = True
            return self._world.write(sent.record)
        log = self._world.log[sent.record.topic, sent.record.partition]
        return max(offset for offset, record in enumerate(log) if record[:2] == sent.record[:2])


class WorldTransactions(WorldProducer):
    """A producer with transactions: what it writes is in the topics, and its offsets stored, when they are committed.

    The test says when and how a commit ends, ``decide``; one that was under way when the run is killed ends as
    ``outlives`` says.
    """

    def __init__(self, world: World, thread: FakeThread, *, outlives: bool = True) -> None:
        super().__init__(world, thread)
        self.outlives = outlives
        self.is_open = False
        self.commits = 0
        self._pending: list[Record] = []
        self._positions: dict[str | None, int] = {}
        self._deciding: Future[None] | None = None
        self._on_end: Callable[[], None] = lambda: None

    @property
    def skips(self) -> bool:
        """Return False: a transaction has all of its records or none."""
        return False

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Add rows to the transaction."""
        demand(self._deciding is None, "sent while a commit is under way")
        self.is_open = True
        return super().send(outgoing, sequence)

    def send_offsets(self, offsets: Sequence[Outgoing]) -> None:
        """Add offsets."""
        (outgoing,) = offsets
        demand(self._deciding is None and self.in_flight == 0, "offsets are ahead of their records")
        demand(outgoing.topic == OFFSETS_TOPIC, "offsets elsewhere")
        self.is_open = True
        for key, value in zip(outgoing.key.to_pylist(), outgoing.value.to_pylist()):
            connector, partition = json.loads(key)
            demand(connector == "c", "offsets of another")
            self._positions[partition["source"]] = json.loads(value)["number"]

    def commit(self, on_end: Callable[[], None]) -> Future[None]:
        """Start a commit."""
        demand(self.is_open and self.in_flight == 0, "committed what is on its way, or nothing")
        self._deciding, self._on_end = Future(), on_end
        return self._deciding

    def abort(self) -> None:
        """Drop the records at the task's request; they are not read again."""
        aborted = {(record.source, record.number) for record in self._pending}
        self._world.aborted |= aborted
        self._world.excused |= aborted
        self._drop()

    def close(self) -> None:
        """Drop what is not committed; a commit under way may already have happened."""
        deciding, self._deciding = self._deciding, None
        if deciding is not None and self.outlives:
            self._apply()
        self._drop()
        super().close()

    @property
    def is_deciding(self) -> bool:
        """Return whether a commit is under way."""
        return self._deciding is not None

    def decide(self, *, is_well: bool = True) -> None:
        """Let the commit end."""
        deciding, self._deciding = self._deciding, None
        assert deciding is not None
        if is_well:
            self._apply()
            deciding.set_result(None)
        else:
            deciding.set_exception(KafkaError(FENCED, "fenced"))
        self._on_end()

    def _drop(self) -> None:
        self.is_open, self._pending, self._positions = False, [], {}

    def _apply(self) -> None:
        self.commits += 1
        for record in self._pending:
            self._world.write(record)
        self._world.stored.update(self._positions)
        self._drop()

    def _write(self, sent: _Sent) -> int:
        place = sent.record.topic, sent.record.partition
        if not sent.is_written:
            sent.is_written = True
            self._pending.append(sent.record)
        mine = [record for record in self._pending if (record.topic, record.partition) == place]
        return len(self._world.log.get(place, [])) + mine.index(sent.record)


def _delivery(rows: list[tuple[int, int, int, int]]) -> DeliveryReport:
    sequence, error, partition, offset = (np.array(column, np.int64) for column in zip(*rows))
    return DeliveryReport(sequence, error, partition, offset, sequence + 1000)


class WorldPipeline:
    """A pipeline for the test's records; its plugins take time, and a lost host ends the wait for them."""

    def __init__(self, world: World, link: WorldLink | None = None) -> None:
        self._world, self._link = world, link
        self.has_stages, self.is_apart = bool(world.stages), world.stages == APART

    def preparing(self, batches: Sequence[Batch]) -> Callable[[], Prepared]:
        """Return a function that prepares polled records."""
        return partial(self.prepared, batches)

    def prepared(self, batches: Sequence[Batch]) -> Prepared:
        """Return the rows to send, by topic."""
        self._world.pass_time(0.01)
        if self._link is not None and self._link.is_lost:
            raise HostLost("the link to the host is gone")
        texts = {
            row: text
            for batch in batches
            for row, text in zip(rows_of(batch).tolist(), batch.column("value").to_pylist(), strict=True)
        }
        records = [Record(*json.loads(text)) for _, text in sorted(texts.items())]
        failures = [_failure(row) for row, record in enumerate(records) if record.fate == FAILING]
        outgoing = []
        for topic in sorted({record.topic for record in records if _is_sent(record)}):
            rows = [row for row, record in enumerate(records) if _is_sent(record) and record.topic == topic]
            values = pa.array([json.dumps(records[row]).encode() for row in rows], pa.binary())
            partition = np.array([records[row].partition for row in rows], np.int32)
            outgoing.append((Outgoing(topic, values, None, partition), np.array(rows, np.int32)))
        is_together = self._world.sends_together and len(outgoing) > 1
        if is_together:
            outgoing = [self._together(outgoing)]
        return Prepared(outgoing, failures)

    def _together(self, parts: list[tuple[Outgoing, Any]]) -> tuple[Outgoing, Any]:
        """Return rows for several topics in the form of packed records."""
        ends = [*accumulate(len(rows) for _, rows in parts)]
        spans = [*zip([part.topic for part, _ in parts], [0, *ends], ends)]
        whole = Outgoing.join([part for part, _ in parts])
        _, places, content = whole.value.buffers()
        memory = np.frombuffer(content, np.uint8).copy()
        held = pa.py_buffer(memory)
        self._world.memory[held.address] = weakref.ref(memory)
        value = pa.Array.from_buffers(pa.binary(), len(whole.value), [None, places, held])
        return replace(whole, topic="", value=value, spans=spans), np.concatenate([rows for _, rows in parts])


def _is_sent(record: Record) -> bool:
    return record.fate not in (DROPPED, FAILING)


def _failure(row: int) -> Failure:
    return Failure(row, "VALUE_CONVERTER", "Converter", ErrorInfo.of(ValueError("no such bytes")))


class WorldStage:
    """A stage whose task the test controls."""

    def __init__(self, world: World, started: SourceStarted) -> None:
        self._world = world
        self.end_by = float("inf")
        """The time by which a stopping task must have ended."""
        self.is_alive = True
        self.credit = 0
        self.credits: list[int] = []
        self.is_held = False
        self.hold: Future[None] | None = None
        self.reported: dict[int, list[Any]] = {}
        self.commits = 0
        self.is_stopped = False
        self._started = started

    def call(self, call: StartSource | StopSource, timeout: float | None = None) -> SourceStarted:
        """Answer immediately."""
        self._check()
        self.is_stopped = self.is_stopped or isinstance(call, StopSource)
        return self._started

    def begin(self, call: HoldPolling | Ping) -> Future[None]:
        """Accept a request; a hold waits until the task's poll returns."""
        self._check()
        answer: Future[None] = Future()
        if isinstance(call, HoldPolling):
            self.hold, self.end_by = answer, self._world.now + GRACEFUL
        else:
            answer.set_result(None)
        return answer

    def notify(self, notice: Notice) -> None:
        """Accept a notice."""
        self._check()
        if isinstance(notice, AddCredit):
            self.credit += notice.count
            self.credits.append(notice.count)
        elif isinstance(notice, (HoldPolling, ResumePolling)):
            self.is_held = isinstance(notice, HoldPolling)
        elif isinstance(notice, CommitSource):
            self.commits += 1
        else:
            assert isinstance(notice, CommitRecords)
            for number, *place in notice.records:
                demand(number not in self.reported, "a record was told twice")
                self.reported[number] = place

    def timed_out(self, op: str, seconds: float) -> StageTimeout:
        """Return the error of a stage that does not answer."""
        return StageTimeout("c-0", op, seconds, "", "")

    def died(self) -> StageDied:
        """Return the error of a stage that has ended."""
        return StageDied("c-0", -9, "")

    def _check(self) -> None:
        if not self.is_alive:
            raise self.died()


class WorldLink:
    """The host and its offset store."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_lost = False
        self.heard_at = 0.0
        self.pause_detector = PauseDetector(lambda: world.now)
        self._mood = "well"
        self.states: list[str] = []
        self.topics: list[str] = []

    @property
    def mood(self) -> str:
        """Return the host's mood: well, failing, slow or silent; any mood but silent counts as an answer."""
        return self._mood

    @mood.setter
    def mood(self, mood: str) -> None:
        self._mood = mood
        self.heard_at += mood != "silent"

    def status(self, state: str, trace: str | None = None, counts: Any = None) -> None:
        """Record a state."""
        self._check()
        self.states.append(state)

    def add_topics(self, topics: list[str]) -> None:
        """Record topics."""
        demand(not set(self.topics) & set(topics), "a topic was told twice")
        self.topics += topics

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Return the stored offsets."""
        return [None for _ in partitions]

    def write_offsets(self, offsets: list[tuple[Any, Any]], timeout: float) -> None:
        """Store offsets, or fail, depending on the mood."""
        self._check()
        if self.mood == "failing":
            raise ConnectError("the store is away")
        if self.mood != "silent":
            for partition, offset in offsets:
                self._world.stored[partition["source"]] = offset["number"]
        if self.mood in ("slow", "silent"):
            self._world.now += timeout
            self.heard_at += self.mood == "slow"
            raise CallTimeout("no answer to 'offsets.write'")

    def _check(self) -> None:
        if self.is_lost:
            raise ChannelClosed("the other side is gone")


class WorldTopics:
    """Topics whose existence the test controls."""

    def __init__(self) -> None:
        self.are_known = True

    def ensure(self, topic: str) -> bool:
        """Return whether a topic is known."""
        return self.are_known

    def has_all(self, spans: Sequence[tuple[str, int, int]]) -> bool:
        """Return whether topics are known."""
        return self.are_known


class Run:
    """One run of the task."""

    def __init__(
        self,
        world: World,
        *,
        wants_records: bool = True,
        wants_commits: bool = True,
        is_paused: bool = False,
        boundary: str | None = None,
        interval: float = FLUSH_INTERVAL,
    ) -> None:
        """With a ``boundary`` the task writes exactly once."""
        self.world = world
        world.read = {}
        self.thread = FakeThread(world.looks)
        self.transactions = WorldTransactions(world, self.thread)
        self.producer = WorldProducer(world, self.thread) if boundary is None else self.transactions
        self.link, self.topics = WorldLink(world), WorldTopics()
        self.stage = WorldStage(world, SourceStarted(None, wants_records, wants_commits))
        self.handed: list[Record] = []
        self.polls: list[list[Record]] = []
        self.is_over = False
        self.error: Exception | None = None
        plan = task_plan(
            "source",
            flush_interval=FLUSH_INTERVAL,
            flush_timeout=FLUSH_TIMEOUT,
            graceful_timeout=GRACEFUL,
            is_tolerant=world.is_tolerant,
        )
        if boundary is not None:
            plan = replace(
                plan, source=SourcePlan({}, transaction=TransactionPlan("id", (OFFSETS_TOPIC,), boundary, interval))
            )
        self.event_queue = EventQueue()
        around = self.link, self.stage, self.producer, self.topics, WorldPipeline(world, self.link)
        link, stage, producer, topics, pipeline = map(cast_any, around)
        self.observer = TaskObserver("c-0", link, plan.settings)
        conversion: Conversion[Any] = Conversion(
            pipeline, self.event_queue.wake, self.thread, 0 if world.stages else math.inf
        )
        tolerance = Tolerance(plan.settings, self.observer)
        services = TaskServices(self.event_queue, self.observer, tolerance, stage, pipeline, conversion, world.clock)
        started = start_source(stage, source_start(plan, []), is_paused=is_paused)
        self.loop = SourceLoop(
            plan, services, link, producer, topics, started, is_paused=is_paused, joined_rows=world.joined_rows
        )

    @property
    def may_poll(self) -> bool:
        """Return whether the task may poll."""
        return self.stage.is_alive and self.stage.credit > 0 and not self.stage.is_held

    def hand_over(
        self, *parts: tuple[str | None, list[tuple[str, int, str]]], alternate: bool = False
    ) -> list[Record]:
        """Let the task return records, those of a part from one source partition: a batch for each part.

        Or the records of the parts ``alternate``, as many sources return them in one poll.
        """
        self.stage.credit -= 1
        if alternate:
            single = [[(source, [plan]) for plan in plans] for source, plans in parts]
            turns = [each for turn in zip_longest(*single) for each in turn if each is not None]
            polled = [[record for source, plans in turns for record in self.world.poll(source, plans)]]
        else:
            polled = [self.world.poll(source, plans) for source, plans in parts]
        handed = [record for records in polled for record in records]
        self.handed += handed
        self.polls.append(handed)
        for record in handed:
            if record.fate == DROPPED or (record.fate == FAILING and self.world.is_tolerant):
                self.world.excused.add((record.source, record.number))
        together = [Polled(_by_kind(records) if alternate else [_batch(records)]) for records in polled]
        request: Any = SimpleNamespace(message=HandOver.of(together))
        answer_source(self.event_queue.put, cast_any(self.link).read_offsets, request)
        return handed

    def answer_hold(self) -> None:
        """Let the task's poll return."""
        if self.stage.hold is not None and not self.stage.hold.done():
            self.stage.hold.set_result(None)

    def lose_host(self) -> None:
        """Close the link."""
        self.link.is_lost = True
        self.event_queue.put(HostLost("the link to the host is gone"))

    def die(self) -> None:
        """End the stage."""
        self.stage.is_alive = False
        self.event_queue.put(StageEnded(cast_any(self.stage)))
        if self.stage.hold is not None and not self.stage.hold.done():
            self.stage.hold.set_exception(ChannelClosed("the other side closed the connection"))

    def kill(self) -> None:
        """End the run as SIGKILL does."""
        self.producer.close()
        self.is_over = True

    def turn(self) -> None:
        """Let the loop do everything that it can do now."""
        self.producer.is_forbidden = self.link.is_lost
        must_end = self.link.is_lost or self.world.now >= self.stage.end_by
        try:
            self.is_over = not self.loop.turn()
        except Violation as violation:
            raise AssertionError(str(violation)) from violation
        except ConnectError as error:
            self.error, self.is_over = error, True
        if self.is_over:
            assert self.producer.is_closed, "the producer outlived its loop"
        else:
            assert not must_end, "the loop goes on although its host is lost or the time of its stop is over"

    def turn_until(self, is_reached: Callable[[], bool], most: int = 200) -> None:
        """Let the loop continue until a condition holds or it has ended."""
        for _ in range(most):
            if self.is_over or is_reached():
                return
            self.turn()
        raise AssertionError(f"not reached in {most} turns")


def cast_any(value: Any) -> Any:
    """Return a fake under the type that the loop expects."""
    return value


def _by_kind(records: list[Record]) -> list[Batch]:
    """Return a batch for each source partition and topic."""
    kinds: dict[tuple[str | None, str], list[int]] = {}
    for place, record in enumerate(records):
        kinds.setdefault((record.source, record.topic), []).append(place)
    batches = [_batch([records[place] for place in places]) for places in kinds.values()]
    numbers = [pa.array(places, pa.int32()) for places in kinds.values()]
    return [batch.with_columns(row=own) for batch, own in zip(batches, numbers)]


def _batch(records: list[Record]) -> Batch:
    values = [json.dumps(record) for record in records]
    offsets = [json.dumps({"number": record.number}) for record in records]
    # Without a type, Arrow tries an import for each array.
    columns = [pa.array(each, pa.string()) for each in (values, offsets)]
    data = pa.RecordBatch.from_arrays(columns, names=["value", "source_offset"])
    source = records[0].source
    partition = None if source is None else {"source": source}
    return Batch(records[0].topic, None, STRING_SCHEMA, data, partition, TimestampType.CREATE_TIME)
