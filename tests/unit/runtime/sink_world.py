"""A model of everything around the sink loop, without Spark, broker or stage process, controlled by the test.

It has all counterparts of the loop: a group with committed offsets, a consumer with rebalances, a task that accepts,
refuses, fails or hangs, a dead letter topic with delayed confirmations, and a clock. The model tracks every record,
and raises as soon as a promise is broken.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.assignment import RebalanceListener
from hearth.kafka.commit_queue import CommitAnswer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth.link.link_call import Pause, Resume, Stop
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.context_request import answer_sink
from hearth.runtime.conversion import Conversion
from hearth.runtime.delivery import MOST_CALLS
from hearth.runtime.event_queue import EventQueue, Item
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.put_format import put_format_of
from hearth.runtime.sink import SinkLoop
from hearth.runtime.task_services import TaskServices
from hearth.staging.sink_stage import start_sink
from hearth.staging.tolerance import Tolerance
from hearth_api import STRING_SCHEMA, ConnectError, DataError, RetriableError, TimestampType, TopicPartition
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, Failure, RemoteError
from hearth_execution.transformation import Outcome
from hearth_stage.call import Call, Message
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    OpenPartitions,
    PreCommit,
    PreCommitted,
    Put,
    PutDone,
    ReportRecord,
    SinkStarted,
    SkipPuts,
    StartSink,
    StopSink,
)
from tests.unit.runtime.piecework import FakeThread
from tests.unit.runtime.sample import task_plan

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
NOT_COORDINATOR, ILLEGAL_GENERATION, MESSAGE_TOO_LARGE = 16, 22, 10
Place = tuple[TopicPartition, int]


class BrokenPromise(AssertionError):
    """The loop broke one of its promises."""


@dataclass
class Turn:
    """The task's answer to one call, and what happens during it."""

    answer: str = "accept"
    """``accept``, ``refuse`` (retriable), ``fail``, ``die`` or ``hang``."""
    meanwhile: Callable[[], object] = lambda: None


class FakeEventQueue(EventQueue):
    """An event queue whose waits advance the model's clock, and which records the events taken."""

    def __init__(self, world: World, is_paused: bool) -> None:
        super().__init__()
        self._world = world
        self.added = self.heard = self.requests = 0
        self.is_paused, self.is_ending = is_paused, False
        """The state after the operator's commands that the loop has received."""

    def put(self, item: Item) -> None:
        """Count the events."""
        self.added += 1
        super().put(item)

    def take(self, seconds: float = 0.0) -> Iterator[Item]:
        """Yield the events; waiting for more advances the clock, unless a conversion makes progress."""
        if self.is_empty and not (seconds and self._world.thread.go_on()):
            self._world.now += seconds
        for item in super().take():
            self.heard += 1
            self.requests += isinstance(item, ContextRequest)
            if isinstance(item, (Pause, Resume)):
                self.is_paused = isinstance(item, Pause)
            self.is_ending = self.is_ending or isinstance(item, Stop)
            yield item


class Answer(Future):  # type: ignore[type-arg]
    """An answer of the task that is computed when the loop first checks for it."""

    def __init__(self, work: Callable[[Answer], None]) -> None:
        super().__init__()
        self._work: Callable[[Answer], None] | None = work

    @property
    def is_over(self) -> bool:
        """Return whether the answer exists, without letting the task work."""
        return super().done()

    def done(self) -> bool:
        """Let the task work; return whether it has answered."""
        work, self._work = self._work, None
        if work is not None:
            work(self)
        return super().done()


@dataclass
class FakeRequest:
    """A call or notice of the stage; ``result`` is the answer to a call."""

    message: Message
    result: Any = None

    def reply(self, answer: Any = None) -> None:
        """Record success."""
        self.result = "done"

    def fail(self, error: BaseException) -> None:
        """Record the error."""
        self.result = error

    def answer(self, handler: Callable[[Any], Any]) -> None:
        """Record the handler's result."""
        try:
            handler(self.message)
            self.reply()
        except ConnectError as error:
            self.fail(error)


class FakeSubscription:
    """Joins the group when first renewed."""

    next_look = math.inf
    _joined = False

    def renew(self, consumer: FakeConsumer) -> bool:
        """Subscribe, once."""
        if self._joined:
            return False
        self._joined = True
        consumer.subscribe(["t", "u"])
        return True


class FakeConsumer:
    """A consumer like librdkafka's: pauses survive an assignment."""

    wants_timestamps = True

    def __init__(self, world: World) -> None:
        self._world = world
        self.listener: RebalanceListener
        self.position: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.moves: deque[tuple[set[TopicPartition], bool, bool]] = deque()
        self.answers: list[CommitAnswer] = []
        self.in_the_air: list[tuple[dict[TopicPartition, int], int]] = []
        self.is_fenced = False
        self.polls: deque[Callable[[], object]] = deque()
        """Actions that run during the loop's next polls."""

    def listen(self, listener: RebalanceListener) -> None:
        """Store the listener."""
        self.listener = listener

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join the group; the next poll assigns partitions."""
        self.moves.append((set(self._world.share), False, False))

    def poll(self, wait_ms: int, most: int = 5000) -> list[Incoming]:
        """Move partitions, then read those that are not paused; a wake ends the wait early."""
        self.is_woken = False
        self._world.tell_of_loss()
        while self.moves:
            self._move(*self.moves.popleft())
        if self.polls:
            self.polls.popleft()()
        self._world.check_rest()
        parts, left = [], min(most, self._world.fetch)
        for partition in sorted(self.position.keys() - self.paused):
            offsets = self._world.between(partition, self.position[partition])[:left]
            if offsets and left:
                left -= len(offsets)
                self.position[partition] = offsets[-1] + 1
                parts.append(_incoming(partition, offsets))
        if not parts and not self.is_woken and not self._world.thread.go_on():
            self._world.now += max(wait_ms, 1) / 1000
        return parts

    def is_member(self) -> bool:
        """Return whether the group knows the member; a silent group answers no."""
        if self._world.silent_group:
            self._world.silent_group -= 1
            return False
        return not self._world.is_out

    def wake(self) -> None:
        """End a wait."""
        self.is_woken = True

    def _move(self, wanted: set[TopicPartition], lost: bool, cooperative: bool) -> None:
        before = set(self.position)
        taken = before - wanted if cooperative else before
        if taken:
            self._take(taken, lost)
        given = sorted(wanted - self.position.keys())
        if given:
            offsets: Mapping[TopicPartition, int] = {}
            try:
                offsets = self.listener.on_assign(given)
                self._world.check_start(offsets)
            finally:  # librdkafka gets the partitions even if the listener raises
                for partition in given:
                    self.position[partition] = offsets.get(partition, 0)
                    self._world.expect(partition, self.position[partition])
            self.listener.on_assigned()

    def _take(self, taken: set[TopicPartition], lost: bool) -> None:
        self.is_fenced = lost
        try:
            self.listener.on_revoke(sorted(taken), lost)
        finally:
            self.is_fenced = False
            for partition in taken:
                self.position.pop(partition, None)

    def commit(self, offsets: Mapping[TopicPartition, int], number: int) -> None:
        """Send a commit; the world decides its result."""
        self._world.check_commit(self, offsets)
        fate = self._world.commit_fates.popleft() if self._world.commit_fates else "ok"
        if fate == "refused" or self._world.is_out:
            self.answers.append(CommitAnswer(number, {each: KafkaError(ILLEGAL_GENERATION) for each in offsets}))
        elif fate == "late":
            self.in_the_air.append((dict(offsets), number))
        else:
            self._world.group.update(offsets)
            if fate == "ok":
                self.answers.append(CommitAnswer(number, {}))

    def land(self) -> None:
        """Complete a delayed commit, for the partitions that this member still owns."""
        offsets, number = self.in_the_air.pop(0)
        owned = {each: offset for each, offset in offsets.items() if each in self.position}
        self._world.group.update(owned)
        refused = {each: KafkaError(ILLEGAL_GENERATION) for each in offsets.keys() - owned.keys()}
        self.answers.append(CommitAnswer(number, refused))

    def commit_answers(self, wait_ms: int = 0) -> list[CommitAnswer]:
        """Return the answers received so far."""
        answers, self.answers = self.answers, []
        if not answers:
            self._world.now += wait_ms / 1000
        return answers

    def committed(self, partitions: Iterable[TopicPartition], wait_ms: int = 0) -> dict[TopicPartition, int]:
        """Return the group's offsets; raise while its coordinator moves."""
        if self._world.moving_coordinator:
            self._world.moving_coordinator -= 1
            raise KafkaError(NOT_COORDINATOR)
        return {each: self._world.group[each] for each in partitions if each in self._world.group}

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Change positions; raise for a partition that is not assigned."""
        for partition, offset in offsets.items():
            if partition not in self.position:
                raise self._world.broken(f"{partition} was sought and is not assigned")
            self.position[partition] = offset
            self._world.expect_elsewhere(partition, offset)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Pause partitions."""
        self.paused |= set(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Resume partitions."""
        self.paused -= set(partitions)

    def close(self, seconds: float = 0, *, hands_over: bool = False) -> None:
        """Return all partitions to the group."""
        if self.position:
            self._take(set(self.position), lost=False)


class FakeStage:
    """A task in its stage; ``turns`` and ``flushes`` set its answers, which accept by default."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_alive = True
        self.turns: deque[Turn] = deque()
        self.flushes: deque[Turn] = deque()
        self.opens: deque[Turn] = deque()
        self.closes: deque[Turn] = deque()
        self.kept: list[Place] = []
        """Records that the task received and may still report."""
        self.is_opening = False
        self.asked_in_open: dict[TopicPartition, int] = {}
        """The offsets that the task requested while it opened partitions."""
        self.requests_in_put = 0
        """The number of events sent to the loop before the last put was answered."""
        self.requests_made = self.times_left_out = 0
        """The number of requests, reports and calls to skip puts; and of these calls alone."""
        self.is_slow = False
        """Whether one put uses up the time of the whole call."""
        self._is_taken = False
        self._pending: list[Answer] = []

    def call(self, call: StartSink) -> SinkStarted:
        """Answer ``sink.start``, the only synchronous call."""
        assert isinstance(call, StartSink)
        return SinkStarted(is_batch=True, columns=self._world.columns, takes_next=self._world.takes_next)

    def begin(self, call: Call[Any]) -> Answer:
        """Queue a call; the task answers in order."""
        if not self.is_alive:
            raise ConnectError("the stage is gone")
        follows = isinstance(call, Put) and call.heard is not None
        if not follows:
            for earlier in self._pending:
                earlier.done()
        self._pending = [each for each in self._pending if not each.is_over]
        works: dict[type[Any], Callable[[Any, Answer], None]] = {
            Put: self._put,
            PreCommit: self._pre_commit,
            OpenPartitions: self._open,
            ClosePartitions: self._close,
            StopSink: self._close,
        }
        if isinstance(call, Put):
            self._world.check_sent(self, call, len(self._pending))
            if not follows:
                (batches,) = call.puts()
                self._world.check_put(_places(batches))
        answer = Answer(partial(self._in_turn, partial(works[type(call)], call)))
        self._pending.append(answer)
        return answer

    def _in_turn(self, work: Callable[[Answer], None], answer: Answer) -> None:
        """Answer the earlier calls, then this one; a call that hangs blocks those behind it."""
        earlier = self._pending[: self._pending.index(answer)]
        if all(each.done() for each in earlier):
            work(answer)

    def notify(self, notice: SkipPuts) -> None:
        """Skip the puts that follow; every other time also the first one, if the task has not started it."""
        if self.times_left_out % 2 == 0 and self._pending:
            self._pending[0].done()
        self.requests_made += 1
        self.times_left_out += 1

    def result(self, answer: Answer, op: str, timeout: Any = None) -> Any:
        """Return the answer, or raise it if it is an error."""
        return answer.result(0)

    def timed_out(self, op: str, seconds: float) -> ConnectError:
        """Return the error of a task that hangs."""
        return ConnectError(f"{op} hangs")

    def kill(self) -> None:
        """End the stage's process."""
        self.is_alive = False

    def _put(self, call: Put, answer: Answer) -> None:
        puts = [_places(batches) for batches in call.puts()]
        if call.heard is None:
            self._is_taken = True
        taken = 0
        while self._is_taken and taken < len(puts) and call.heard in (None, self.requests_made):
            if call.heard is not None:
                self._world.check_put(puts[taken])
            if not self._put_one(puts[taken], answer, taken):
                self._is_taken = False
                return
            taken += 1
            if self.is_slow:
                break
        self._is_taken = taken == len(puts)
        answer.set_result(PutDone(taken, seconds=1.0 if self.is_slow else 0.0))
        self.requests_in_put = self._world.event_queue.added

    def _put_one(self, records: list[Place], answer: Answer, taken: int) -> bool:
        """Let the task answer the next put of its call, after the ``taken`` ones; return whether it accepted it."""
        turn = self.turns[0] if self.turns else Turn()
        if turn.answer == "refuse":
            self._world.refused = set(records)
        one = Answer(lambda _: None)
        self._answer(self.turns, one, PutDone(), lambda: self._take(records))
        self.requests_in_put = self._world.event_queue.added
        if one.is_over and (error := one.exception()) is not None:
            if taken and isinstance(error, RemoteError):
                answer.set_result(PutDone(taken, error=error.info))
            else:
                answer.set_exception(error)
        return turn.answer == "accept"

    def _take(self, records: list[Place]) -> None:
        self.kept += records
        self._world.take(records)

    def _pre_commit(self, call: PreCommit, answer: Answer) -> None:
        asked = dict(call.offsets)
        if self._world.agrees == "less":
            asked = {partition: max(0, offset - 2) for partition, offset in asked.items()}
        elif self._world.agrees == "nothing":
            asked = {}
        elif self._world.agrees == "more":
            asked = {partition: offset + 5 for partition, offset in asked.items()}
        if self.flushes and self.flushes[0].answer != "accept":
            self._world.forget_what_is_not_flushed()
        self._answer(self.flushes, answer, PreCommitted(asked), lambda: self._world.flush(asked))

    def _open(self, call: OpenPartitions, answer: Answer) -> None:
        self.is_opening, self.asked_in_open = True, {}
        self._answer(self.opens, answer, None, lambda: None)
        self.is_opening = False

    def _close(self, call: ClosePartitions | StopSink, answer: Answer) -> None:
        self._answer(self.closes, answer, None, lambda: None)

    def _answer(self, turns: deque[Turn], answer: Answer, reply: Any, accepted: Callable[[], None]) -> None:
        turn = turns.popleft() if turns else Turn()
        if turn.answer == "accept":
            accepted()
        turn.meanwhile()
        if turn.answer == "accept":
            answer.set_result(reply)
        elif turn.answer == "refuse":
            answer.set_exception(ErrorInfo.of(RetriableError("not now")).to_error())
        elif turn.answer == "fail":
            answer.set_exception(ErrorInfo.of(ConnectError("broken")).to_error())
        elif turn.answer == "die":
            self.is_alive = False
            answer.set_exception(ConnectError("the stage died"))


class FakePipeline:
    """A pipeline that reads text; it filters some records and fails for others."""

    hops: tuple[Any, ...] = ()
    wants_headers = True

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_apart = world.is_apart

    def deserializing(self, part: Incoming, first: int) -> Callable[[], Outcome]:
        """Return a function that returns a batch of the readable records."""
        return partial(self._deserialized, part, first)

    def _deserialized(self, part: Incoming, first: int) -> Outcome:
        keep = np.array([not self._world.is_broken(offset) for offset in part.offset.tolist()])
        error = ErrorInfo("data", "E", "broken", "trace")
        failures = [Failure(first + row, "VALUE_CONVERTER", "C", error) for row in np.flatnonzero(~keep).tolist()]
        columns = {
            "partition": pa.array(part.partition[keep]),
            "offset": pa.array(part.offset[keep]),
            "row": pa.array(np.flatnonzero(keep).astype(np.int32) + first),
            "value": part.value.filter(pa.array(keep)).cast(pa.string()),
        }
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        batch = Batch(part.topic, None, STRING_SCHEMA, data, None, TimestampType.CREATE_TIME, part.topic)
        return Outcome([batch] if batch.num_rows else [], failures)

    def unread(self, batch: Batch) -> Incoming:
        """Return the consumed message of a record, unless it cannot be converted."""
        (offset,) = batch.column("offset").to_pylist()
        if self._world.is_broken(offset):
            raise DataError("broken")
        return _incoming(TopicPartition(batch.topic or "", 0), [offset])

    def transform(self, batches: Sequence[Batch]) -> Outcome:
        """Filter records."""
        offsets = [batch.column("offset").to_pylist() for batch in batches]
        masks = [pa.array([not self._world.is_dropped(each) for each in own], pa.bool_()) for own in offsets]
        left = [batch.filter(mask) for batch, mask in zip(batches, masks)]
        return Outcome([batch for batch in left if batch.num_rows], [])


class FakeReporter:
    """A dead letter topic whose confirmations the test controls."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_full = False

    def report(self, failure: Failure, record: Consumed) -> Future[None]:
        """Accept a letter."""
        done: Future[None] = Future()
        self._world.letters.append(((record.partition, record.offset), done))
        self._world.unsafe.add((record.partition, record.offset))
        return done

    def close(self) -> None:
        """Do nothing."""


class World:
    """The state of every record, and the loop under test."""

    def __init__(
        self,
        tolerant: bool = True,
        fetch: int = 4,
        is_plain: bool = True,
        flush_interval: float = 10.0,
        most: int = 100,
        takes_next: bool = False,
        quick: float = math.inf,
        looks: int = 0,
        is_apart: bool = False,
    ) -> None:
        self.now = 0.0
        self.flush_interval = flush_interval
        self.fetch = fetch
        """The maximum number of records per poll."""
        self._most, self.takes_next = most, takes_next
        self._quick, self._looks = quick, looks
        """Whether two threads convert records, one after the other."""
        self.is_apart = is_apart
        self._is_plain = is_plain
        self.tolerant = tolerant
        self.ends = dict.fromkeys(PARTITIONS, 0)
        self.share: set[TopicPartition] = set(PARTITIONS)
        self.group: dict[TopicPartition, int] = {}
        self.taken: set[Place] = set()
        """Records whose put the task accepted."""
        self._flushed: set[Place] = set()
        self.refused: set[Place] = set()
        """Records that the task refused and must receive again before newer ones."""
        self.safe: set[Place] = set()
        """Records with a confirmed dead letter, if failures are tolerated; otherwise they fail the task every time."""
        self.unsafe: set[Place] = set()
        """Records whose dead letter is not confirmed."""
        self.skipped: set[Place] = set()
        """Records that the task asked to skip."""
        self.letters: list[tuple[Place, Future[None]]] = []
        self.commit_fates: deque[str] = deque()
        self.moving_coordinator = 0
        self.silent_group = 0
        """How many times the group does not answer a question about its members."""
        self._polls_until_removal: int | None = None
        """The number of polls until a member learns that the group has removed it."""
        self.agrees = "all"
        self.columns: list[str] | None = None
        """The columns that the task reads."""
        self.deliveries: list[list[Place]] = []
        self._expected: dict[TopicPartition, int] = {}
        self.states: list[str] = []
        self.topics: list[str] = []
        self.breaches: list[str] = []
        """Broken promises; kept here because the ending loop may swallow exceptions."""
        self.is_over = False
        self.start()

    # What the test does ---------------------------------------------------------------------------------------

    def start(self, paused: bool = False) -> None:
        """Start a run of the task, as after a kill or a stop: only the group's offsets are known."""
        plan = task_plan("sink", flush_interval=self.flush_interval, flush_timeout=2.0, is_tolerant=self.tolerant)
        self.reporter = FakeReporter(self)
        link: Any = SimpleNamespace(status=lambda state: self.states.append(state), add_topics=self.topics.extend)
        subscription: Any = FakeSubscription()
        self.consumer, self.stage, self.event_queue = FakeConsumer(self), FakeStage(self), FakeEventQueue(self, paused)
        consumer, stage, pipeline = (cast_any(each) for each in (self.consumer, self.stage, FakePipeline(self)))
        self.thread = FakeThread(self._looks)
        self.letters.clear()
        self.reports = 0
        self.unsafe.clear()
        self.topics.clear()
        self.forget_what_is_not_flushed()
        self.observer = TaskObserver("c-0", link, plan.settings)
        tolerance = Tolerance(plan.settings, self.observer, self.reporter)
        self.answer = partial(answer_sink, self.event_queue, tolerance)
        started = start_sink(stage, plan, [], has_reporter=tolerance.is_reporting, is_tolerant=tolerance.is_all)
        conversion: Conversion[Any] = Conversion(pipeline, self.event_queue.wake, self.thread, self._quick)
        services = TaskServices(self.event_queue, self.observer, tolerance, stage, pipeline, conversion, self.clock)
        put_format, pause_detector = put_format_of(started, self._most), PauseDetector(self.clock)
        self.loop = SinkLoop(plan, services, consumer, subscription, put_format, pause_detector, is_paused=paused)
        self.is_over = False
        self._polls_until_removal = None

    def clock(self) -> float:
        """Return the time."""
        return self.now

    def step(self) -> None:
        """Run one round of the loop; an error ends the task as in production."""
        try:
            self.loop.turn()
        except ConnectError:
            self.is_over = True
            self.loop._close_after_failure()
            raise

    def run(self) -> None:
        """Let the loop run until it ends by itself."""
        try:
            self.loop.execute()
        finally:
            self.is_over = True

    def write(self, partition: TopicPartition, count: int = 1) -> None:
        """Append records to a partition."""
        self.ends[partition] += count

    def rebalance(self, wanted: Iterable[TopicPartition], lost: bool = False, cooperative: bool = False) -> None:
        """Assign these partitions to the task with its next poll."""
        self.share = set(wanted)
        self.consumer.moves.append((self.share, lost, cooperative))

    def stand_still(self, seconds: float, polls: int | None = None) -> None:
        """Suspend the task's process; with ``polls`` the group removes it and reports that after this many polls."""
        self.now += seconds
        self._polls_until_removal = polls

    @property
    def is_out(self) -> bool:
        """Return whether others own the partitions of a task that does not know it yet."""
        return self._polls_until_removal is not None

    def tell_of_loss(self) -> None:
        """Tell a removed member when its time has come; it joins again."""
        if self._polls_until_removal is None:
            return
        self._polls_until_removal -= 1
        if self._polls_until_removal < 0:
            self._polls_until_removal = None
            self.rebalance(self.share, lost=True)

    def request(self, **requests: Any) -> None:
        """Have the task make a request to its context."""
        requests["rewind"] = {TopicPartition(*each[:2]): each[2] for each in requests.get("rewind", ())}
        for name in ("pause", "resume"):
            requests[name] = [TopicPartition(*each) for each in requests.get(name, ())]
        for partition, offset in requests["rewind"].items():
            self._skip(partition, offset)
        if self.stage.is_opening:
            self.stage.asked_in_open |= requests["rewind"]
        self.stage.requests_made += 1
        self.answer(cast_any(FakeRequest(ContextRequest(**requests))))

    def report(self, place: Place) -> FakeRequest:
        """Have the task report a record that it received at any time."""
        partition, offset = place
        row = _incoming(partition, [offset])
        columns = {"partition": row.partition, "offset": row.offset, "key": row.key, "value": row.value}
        data = pa.RecordBatch.from_arrays([pa.array(each) for each in columns.values()], names=list(columns))
        record = Batch(partition.topic, None, None, data)
        request = FakeRequest(ReportRecord(ErrorInfo("data", "E", "bad", "trace"), record))
        sent = [each.get(partition, 0) for each in (self.group, *(offsets for offsets, _ in self.consumer.in_the_air))]
        if not self.tolerant and offset >= max(sent):
            self.taken.discard(place)  # and must come again; a commit that is done or under way cannot be corrected
        self.stage.requests_made += 1
        self.answer(cast_any(request))
        self.reports += 1
        return request

    def confirm_letters(self, count: int | None = None) -> None:
        """Confirm dead letters."""
        some, self.letters = self.letters[:count], self.letters[len(self.letters[:count]) :]
        for place, done in some:
            if self.tolerant:
                self.safe.add(place)
            self.unsafe.discard(place)
            done.set_result(None)

    def refuse_letter(self, index: int = 0) -> None:
        """Refuse a dead letter permanently, the first one by default."""
        _, done = self.letters.pop(index)
        done.set_exception(KafkaError(MESSAGE_TOO_LARGE))

    # What is true ---------------------------------------------------------------------------------------------

    def is_dropped(self, offset: int) -> bool:
        """Return whether the transformations filter a record."""
        return not self._is_plain and offset % 7 == 3

    def is_broken(self, offset: int) -> bool:
        """Return whether the converter cannot read a record."""
        return not self._is_plain and offset % 11 == 5

    def broken(self, text: str) -> BrokenPromise:
        """Record a broken promise, and return it as an error."""
        self.breaches.append(text)
        return BrokenPromise(text)

    def between(self, partition: TopicPartition, start: int) -> list[int]:
        """Return the offsets of a partition from a position on."""
        return list(range(start, self.ends[partition]))

    def is_settled(self, place: Place) -> bool:
        """Return whether a record is put, filtered, certainly dead-lettered, or skipped at the task's request."""
        if place in self.unsafe:
            return False
        is_filtered = self.is_dropped(place[1]) and not self.is_broken(place[1])
        return is_filtered or place in self.skipped or place in self.safe or place in self.taken

    def expect(self, partition: TopicPartition, offset: int) -> None:
        """Record where reading starts again: the next put of this partition must start there."""
        self.refused = {place for place in self.refused if place[0] != partition}
        self._expected[partition] = offset

    def expect_elsewhere(self, partition: TopicPartition, offset: int) -> None:
        """Record a seek: records that the task has not accepted still come first, unless it asked to skip them."""
        between = range(self._expected[partition], offset)
        if all((partition, each) in self.skipped for each in between):
            self._expected[partition] = offset

    def take(self, records: list[Place]) -> None:
        """Record what the task accepted."""
        self.taken |= set(records)
        self.refused -= set(records)
        for partition, offset in records:
            self._expected[partition] = offset + 1

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        """Have the task flush what it agrees to commit."""
        self._flushed |= {place for place in self.taken if place[1] < ends.get(place[0], 0)}

    def forget_what_is_not_flushed(self) -> None:
        """Have the task lose what it has not flushed; those records must come again."""
        self.taken &= self._flushed

    def check_sent(self, stage: FakeStage, put: Put, pending: int) -> None:
        """Raise unless a put may be sent now, alone or behind the one under way."""
        if pending >= (1 if put.heard is None else MOST_CALLS):
            raise self.broken("a task is given more before it answered for what it has")
        if put.heard is None and self.event_queue.heard < stage.requests_in_put:
            raise self.broken("a task is given more before its requests during the last put were handled")
        heard = self.event_queue.requests + self.reports + stage.times_left_out
        if put.heard is not None and (not self.takes_next or put.heard > heard):
            raise self.broken("more requests were handled than made")
        if self.event_queue.is_ending:
            raise self.broken("a task is given more after its stop")
        if self.reporter.is_full:
            raise self.broken("a task is given more while more dead letters are under way than may be")
        if self.is_out:
            raise self.broken("a task is given more that stood still, and others have its partitions")
        puts = [_places(batches) for batches in put.puts()]
        if put.heard is None and len(puts) > 1:
            raise self.broken("a task is given several puts at once that follow no other")
        for records in puts:
            if len(records) > self._most:
                raise self.broken(f"a task is given {len(records)} records and takes {self._most}")
            if self.event_queue.is_paused and not self.refused.issuperset(records):
                raise self.broken("a paused connector is given what it did not refuse before")

    def check_put(self, records: list[Place]) -> None:
        """Raise unless a put has assigned partitions only, and continues behind the last accepted record."""
        self.deliveries.append(records)
        expected = dict(self._expected)
        for partition, offset in records:
            if partition not in self.consumer.position:
                raise self.broken(f"{partition}@{offset} is put and its partition is not assigned")
            rest = (each for each in self.between(partition, expected[partition]) if self._reaches_task(each))
            wanted = next(rest, None)
            if offset != wanted and (partition, offset) not in self.refused:
                raise self.broken(f"{partition}@{offset} is put where {wanted} comes next")
            expected[partition] = offset + 1

    def check_start(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Raise unless reading starts at the offsets that the task requested when it opened its partitions."""
        for partition, offset in self.stage.asked_in_open.items():
            if offsets.get(partition, offset) != offset:
                raise self.broken(f"{partition} begins at {offsets[partition]} and its task asked for {offset}")

    def check_rest(self) -> None:
        """Raise if a paused connector reads."""
        if self.event_queue.is_paused and self.consumer.position.keys() - self.consumer.paused:
            raise self.broken("a paused connector reads")

    def check_commit(self, consumer: FakeConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        """Raise if a commit passes an unsettled record, or names a partition that is not assigned."""
        for partition, offset in offsets.items():
            if consumer.is_fenced or partition not in consumer.position:
                raise self.broken(f"{partition} is committed by a task that does not have it")
            for earlier in range(min(offset, self.ends[partition])):
                if not self.is_settled((partition, earlier)):
                    raise self.broken(f"{partition} is committed at {offset} and {earlier} is not settled")

    def check_all_settled(self) -> None:
        """Raise if a record was lost although there was time to put everything."""
        for partition, end in self.ends.items():
            for offset in range(end):
                if not self.is_settled((partition, offset)):
                    raise self.broken(f"{partition}@{offset} was lost")

    def calm(self) -> None:
        """Stop all faults: nothing is refused, fails, pauses or moves from now on."""
        for script in (self.stage.turns, self.stage.flushes, self.stage.opens, self.stage.closes, self.consumer.polls):
            script.clear()
        self.commit_fates.clear()
        self.moving_coordinator = self.silent_group = 0
        self._polls_until_removal = 0 if self.is_out else None
        self.agrees = "all"
        self.reporter.is_full = False
        self.now += 200.0  # no retry or commit is waiting after this
        self.event_queue.put(Resume())
        self.request(resume=PARTITIONS)

    def drain(self, *, in_place: bool = False) -> None:
        """Stop all faults, and check that this run or a new one delivers and commits every record."""
        self.calm()
        if not in_place:
            self.start()
        self.rebalance(PARTITIONS, cooperative=in_place)
        for _ in range(200 + 10 * sum(self.ends.values())):
            self.reporter.is_full = False
            self.loop.turn()
            self.confirm_letters()
            is_read = all(self.consumer.position.get(each) == end for each, end in self.ends.items())
            is_any_left = self.loop._positions.is_any_due or self.loop._conversion.is_busy or self.loop._put_loop._sent
            if is_read and not is_any_left:
                break
        self.event_queue.put(Stop())
        self.run()
        self.check_all_settled()
        if late := {each for each, end in self.ends.items() if self._is_owed(each, end)}:
            raise self.broken(f"a clean stop left uncommitted: {late}")

    def _is_owed(self, partition: TopicPartition, end: int) -> bool:
        """Return whether a commit is missing; a task that seeks behind the last record has nothing to commit."""
        uncommitted = range(self.group.get(partition, 0), end)
        return not self.skipped.issuperset((partition, offset) for offset in uncommitted)

    def _reaches_task(self, offset: int) -> bool:
        return not self.is_dropped(offset) and not self.is_broken(offset)

    def _skip(self, partition: TopicPartition, offset: int) -> None:
        """Record that the task skips the records before an offset."""
        self.skipped |= {(partition, each) for each in range(offset)}


def look(futures: list[Future[None]], timeout: float) -> tuple[set[Future[None]], set[Future[None]]]:
    """Return which futures are done, like ``concurrent.futures.wait``, without waiting."""
    done = {each for each in futures if each.done()}
    return done, set(futures) - done


def cast_any(value: Any) -> Any:
    """Return a fake under the type that the loop expects."""
    return value


def _places(batches: list[Batch]) -> list[Place]:
    found: list[Place] = []
    for batch in batches:
        if batch.column("row") is not None:
            numbers, offsets = (batch.column(name).to_pylist() for name in ("partition", "offset"))
            found += [(TopicPartition(batch.topic or "", number), offset) for number, offset in zip(numbers, offsets)]
    return found


def _incoming(partition: TopicPartition, offsets: list[int]) -> Incoming:
    count = len(offsets)
    return Incoming(
        topic=partition.topic,
        partition=np.full(count, partition.partition, np.int32),
        offset=np.array(offsets, np.int64),
        key=pa.nulls(count, pa.binary()),
        value=pa.array([b"%d" % offset for offset in offsets], pa.binary()),
        timestamp=np.array(offsets, np.int64),
        timestamp_type=1,
        headers=None,
    )
