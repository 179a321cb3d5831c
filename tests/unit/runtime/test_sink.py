"""The sink loop in situations in which a loop like it lost records."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

import pytest

from hearth.link.link_call import ForgetTopics, Pause, Resume, Stop
from hearth.runtime import put_loop
from hearth.runtime.delivery import Delivery, PutFailed, SentPut
from hearth.runtime.event_queue import StageEnded
from hearth.runtime.put_loop import IDLE_SECONDS
from hearth.runtime.sink import POLL_SECONDS
from hearth.staging import tolerance
from hearth_api import STRING_SCHEMA, ConnectError, DataError, SinkRecord, TopicPartition
from hearth_api.batch import records_to_batches
from hearth_execution.failure import ErrorInfo, RemoteError
from hearth_stage.task_call import ReportRecord
from tests.unit.runtime.sink_world import PARTITIONS, BrokenPromise, FakeRequest, Turn, World, cast_any, look

HERE, OTHER = PARTITIONS[0], PARTITIONS[1]


@pytest.fixture
def world() -> World:
    """Provide a world with one partition of eight records, two of them with each poll."""
    world = World(fetch=2)
    world.write(HERE, 8)
    return world


@pytest.fixture
def rests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause partitions as soon as puts are blocked."""
    monkeypatch.setattr(put_loop, "HOLD_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def _reports_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tolerance, "wait", look)


def steps(world: World, count: int) -> None:
    """Let the loop go round."""
    for _ in range(count):
        world.step()


def stop(world: World) -> None:
    """Stop the task in order."""
    world.event_queue.put(Stop())
    world.run()


def offsets(world: World) -> list[list[int]]:
    """Return what was put, put by put, without the empty ones."""
    return [[offset for _, offset in records] for records in world.deliveries if records]


def refusing(world: World, times: int) -> None:
    """Have the task refuse a number of puts after its first."""
    world.stage.turns.append(Turn())
    world.stage.turns.extend(Turn("refuse") for _ in range(times))


def test_a_stop_leaves_a_refused_put_to_the_next_run(world: World) -> None:
    """Nothing newer is put instead, and the committed offset is before it."""
    refusing(world, 100)
    steps(world, 4)
    stop(world)
    assert world.group[HERE] == 2
    assert [0, 1] in offsets(world)
    assert all(min(put) <= 2 for put in offsets(world))
    world.drain()


def test_a_stop_awaits_and_commits_the_put_in_progress(world: World) -> None:
    """The next run does not put those records again (Invariant 8)."""
    steps(world, 2)
    stop(world)
    assert world.group[HERE] == max(offsets(world)[-1]) + 1


@pytest.mark.usefixtures("rests_at_once")
@pytest.mark.parametrize("command", ["resume", "context"])
def test_a_resume_does_not_pass_a_refused_put(world: World, command: str) -> None:
    """All partitions stay paused until the task accepts the put."""
    refusing(world, 3)
    steps(world, 3)
    if command == "resume":
        world.event_queue.put(Pause())
        steps(world, 2)
        world.event_queue.put(Resume())
    else:
        world.request(pause=[list(HERE)])
        world.request(resume=[list(HERE)])
    steps(world, 2)
    assert HERE in world.consumer.paused
    steps(world, 60)
    assert HERE not in world.consumer.paused
    assert world.consumer.position[HERE] == 8
    world.drain()


@pytest.mark.parametrize("share", [PARTITIONS, [OTHER]])
def test_a_rebalance_does_not_pass_a_refused_put(world: World, share: list[TopicPartition]) -> None:
    """Records read ahead are dropped with their partition; it is read again from the committed offset."""
    refusing(world, 5)
    steps(world, 4)
    world.rebalance(share)
    steps(world, 3)
    world.rebalance(PARTITIONS)
    world.drain()


def test_a_revocation_does_not_wait_for_refused_puts(world: World) -> None:
    """They are left to the next owner: the group does not wait for the sink."""
    world.stage.turns.extend(Turn("refuse") for _ in range(50))
    world.step()
    before = world.now
    world.rebalance([OTHER])
    world.step()
    assert world.now - before < 1
    assert len(world.stage.turns) >= 48


@pytest.mark.usefixtures("rests_at_once")
def test_a_pause_ends_with_the_assignment(world: World) -> None:
    """librdkafka keeps it for returning partitions; Kafka Connect does not."""
    refusing(world, 1)
    steps(world, 3)
    assert HERE in world.consumer.paused
    world.rebalance([])
    world.step()
    world.rebalance([HERE])
    steps(world, 2)
    assert HERE not in world.consumer.paused


def test_a_paused_connector_pauses_new_partitions(world: World) -> None:
    """Partitions that are given to it rest as the others do."""
    world.event_queue.put(Pause())
    world.rebalance([HERE])
    steps(world, 3)
    assert offsets(world) == []
    assert world.states == ["PAUSED"]


def test_an_intolerable_report_is_not_committed() -> None:
    """The task fails even if it ignores the error, and the next run gets the record again."""
    world = World(tolerant=False)
    world.write(HERE, 3)
    world.stage.turns.append(Turn(meanwhile=partial(world.report, (HERE, 1))))
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 3)
    assert world.group.get(HERE, 0) <= 1


def test_a_failed_put_names_its_records(world: World) -> None:
    """The task's error does not, and is the cause."""
    world.stage.turns.append(Turn("fail"))
    with pytest.raises(PutFailed, match="Exiting WorkerSinkTask due to unrecoverable exception") as caught:
        steps(world, 3)
    assert f"records: 2, {HERE} from offset 0 to 1" in caught.value.trace
    assert isinstance(caught.value.__cause__, RemoteError)


def test_a_stage_that_dies_in_a_put_names_its_records(world: World) -> None:
    """Even if the loop is notified of its end before the answer."""
    world.stage.turns.append(Turn("fail"))
    steps(world, 1)
    world.event_queue.put(StageEnded(cast_any(world.stage)))
    with pytest.raises(PutFailed) as caught:
        steps(world, 2)
    assert f"records: 2, {HERE} from offset 0 to 1" in caught.value.trace


def made(world: World, offset: int) -> FakeRequest:
    """Have the task report a record that it made, and let the loop hear of it."""
    (batch,) = records_to_batches([SinkRecord("made", 0, None, None, STRING_SCHEMA, "v", offset)])
    request = FakeRequest(ReportRecord(ErrorInfo("data", "E", "bad", "trace"), batch, made=True))
    world.answer(cast_any(request))
    assert (world.letters, request.result) == ([], None)
    world.step()
    return request


def test_a_task_created_record_is_converted_for_its_dead_letter(world: World) -> None:
    """By the loop, because a stage's reader thread must not wait; a commit waits for the letter."""
    request = made(world, 5)
    assert [place for place, _ in world.letters] == [(("made", 0), 5)]
    world.confirm_letters()
    assert request.result == "done"


def test_an_unconvertible_task_created_record_fails_its_report(world: World) -> None:
    """It is a separate error, as in Java, and the task continues."""
    world.is_broken = lambda offset: offset == 5  # type: ignore[method-assign]
    assert isinstance(made(world, 5).result, DataError)
    assert world.letters == []
    steps(world, 3)


def test_a_late_report_holds_back_the_commit() -> None:
    """Even if its put was accepted long ago, while its offset is not committed."""
    world = World(tolerant=False, fetch=1)
    world.write(HERE, 3)
    steps(world, 8)
    world.report((HERE, 1))
    world.confirm_letters()
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        world.step()
    assert world.group[HERE] == 1


def test_a_flush_waits_for_reports_it_causes(world: World) -> None:
    """A sink that buffers finds bad records when it flushes: that commit does not pass them."""
    steps(world, 3)
    world.stage.flushes.append(Turn(meanwhile=partial(world.report, (HERE, 0))))
    world.request(commit=True)
    steps(world, 2)
    assert world.group.get(HERE, 0) == 0
    world.confirm_letters()
    world.request(commit=True)
    steps(world, 2)
    assert world.group[HERE] > 0


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_a_close_waits_for_reports_it_causes(world: World, is_confirmed: bool) -> None:
    """A sink may find bad records when it closes a partition: the last commit does not pass them."""

    def report() -> None:
        world.report((HERE, 0))
        if is_confirmed:
            world.confirm_letters()

    steps(world, 3)
    world.stage.closes.append(Turn(meanwhile=report))
    world.rebalance([])
    steps(world, 1)
    assert (world.group.get(HERE, 0) > 0) is is_confirmed


def test_an_intolerable_report_in_close_is_not_committed() -> None:
    """The commit follows the close, so the next run gets the record again."""
    world = World(tolerant=False, fetch=1)
    world.write(HERE, 3)
    steps(world, 5)
    world.stage.closes.append(Turn(meanwhile=partial(world.report, (HERE, 0))))
    world.rebalance([])
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 1)
    assert world.group.get(HERE, 0) == 0


def test_an_abandoned_flush_is_not_covered_by_a_later_one() -> None:
    """Its records may be lost, so the next run gets them all again."""
    world = World(tolerant=False, fetch=1)
    world.write(HERE, 3)
    steps(world, 5)

    def report() -> None:
        world.report((HERE, 2))
        world.confirm_letters()

    world.stage.flushes.append(Turn("hang", report))
    world.request(commit=True)
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 2)
    assert HERE not in world.group
    assert world.breaches == []


def test_a_failed_flush_is_not_covered_by_a_later_one() -> None:
    """It may have included partitions that stay, even if the close fails as well."""
    world = World(fetch=1)
    for partition in PARTITIONS:
        world.write(partition, 1)
    steps(world, 5)
    world.stage.flushes.append(Turn("fail"))
    world.stage.closes.append(Turn("fail"))
    world.rebalance([HERE], cooperative=True)
    with pytest.raises(ConnectError, match="broken"):
        steps(world, 1)
    assert HERE not in world.group
    assert world.breaches == []


def test_a_refused_dead_letter_fails_the_task(world: World) -> None:
    """Its record would be lost; no commit passes it."""
    steps(world, 3)
    world.report((HERE, 1))
    world.refuse_letter()
    with pytest.raises(ConnectError):
        steps(world, 2)
    assert world.group.get(HERE, 0) == 0


def test_partitions_are_paused_only_for_long_retries(world: World) -> None:
    """Resuming them costs a fetch, which a short retry must not wait for."""
    assert not rests(world, refusals=3)  # for 0.1, 0.2 and 0.4 seconds
    assert rests(world, refusals=6)
    world.drain()


def rests(world: World, refusals: int) -> bool:
    """Have the task refuse records, and tell whether their partition rests at some time before it takes them."""
    refusing(world, refusals)
    world.write(HERE, 8)
    rested = False
    for _ in range(200):
        world.step()
        rested = rested or HERE in world.consumer.paused
    assert HERE not in world.consumer.paused
    return rested


@pytest.mark.usefixtures("rests_at_once")
def test_reading_stops_while_dead_letters_are_full(world: World) -> None:
    """An outage of the dead letter topic blocks the task and loses no letters."""
    steps(world, 2)
    world.reporter.is_full = True
    steps(world, 5)
    before = len(offsets(world))
    steps(world, 5)
    assert len(offsets(world)) == before
    assert HERE in world.consumer.paused
    world.reporter.is_full = False
    world.confirm_letters()
    steps(world, 6)
    assert len(offsets(world)) > before


def test_an_offset_requested_in_open_is_the_first_read(world: World) -> None:
    """A sink that keeps its own offsets gets no records again."""
    world.stage.opens.append(Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 4]])))
    steps(world, 4)
    assert offsets(world)[0][0] == 4


def test_a_flush_failure_before_the_first_commit_rewinds_to_the_start() -> None:
    """To the first read offset, not to that of the topic, which ``auto.offset.reset=latest`` may skip."""
    world = World()
    world.write(HERE, 9)
    world.group[HERE] = 6
    world.stage.flushes.append(Turn("fail"))
    steps(world, 2)
    world.request(commit=True)
    steps(world, 4)
    assert min(min(put) for put in offsets(world)) == 6
    assert offsets(world).count([6, 7, 8]) == 2


def test_a_flush_failure_in_a_revocation_does_not_fail_the_task(world: World) -> None:
    """Kafka Connect warns and continues: the next owner puts uncommitted records again."""
    steps(world, 2)
    world.stage.flushes.append(Turn("fail"))
    world.rebalance([])
    steps(world, 2)
    assert world.group == {}
    world.rebalance([HERE])
    steps(world, 2)
    world.drain()


def test_a_flush_failure_in_a_revocation_rewinds_the_others(world: World) -> None:
    """With cooperative assignment others stay, and the flush may have lost their records too."""
    world.write(OTHER, 2)
    steps(world, 6)
    world.stage.flushes.append(Turn("fail"))
    world.rebalance([HERE], cooperative=True)
    steps(world, 8)
    assert [place for records in world.deliveries for place in records].count((HERE, 0)) == 2
    world.drain()


@pytest.mark.parametrize("fate", ["refused", "late", "unanswered"])
def test_an_unconfirmed_commit_is_repeated(world: World, fate: str) -> None:
    """It counts when the broker confirms it; a clean stop causes no repeats."""
    world.commit_fates.append(fate)
    steps(world, 6)
    world.request(commit=True)
    steps(world, 3)
    stop(world)
    assert world.group[HERE] == 8


def test_an_unconfirmed_lower_commit_leaves_the_offset_uncertain(world: World) -> None:
    """The group may have either offset: the requested one is committed, even if it was once before."""
    steps(world, 6)
    world.request(commit=True)
    steps(world, 3)
    before = world.group[HERE]
    world.agrees = "less"
    world.commit_fates.append("unanswered")
    world.request(commit=True)
    steps(world, 3)
    assert world.group[HERE] < before
    world.agrees = "all"
    stop(world)
    assert world.group[HERE] == before == 8


def test_a_commit_failure_in_a_revocation_does_not_fail_the_task(world: World) -> None:
    """As in Kafka Connect."""
    world.commit_fates.append("refused")
    steps(world, 2)
    world.rebalance([])
    steps(world, 2)
    assert not world.is_over


def test_accepted_puts_are_committed_during_an_outage(world: World) -> None:
    """A kill in a long outage repeats refused records, and none accepted before."""
    refusing(world, 1000)
    steps(world, 3)
    world.request(commit=True)
    steps(world, 3)
    assert world.group[HERE] == 2
    assert (HERE, 2) not in world.taken


def test_a_hanging_flush_fails_the_task_after_one_timeout(world: World) -> None:
    """It is not retried as a failed flush: the next call would hang as well."""
    steps(world, 2)
    world.stage.flushes.append(Turn("hang"))
    world.request(commit=True)
    before = world.now
    with pytest.raises(ConnectError, match=r"sink\.pre_commit hangs"):
        steps(world, 2)
    assert world.now - before < 310
    assert not world.stage.is_alive


def test_a_stop_limits_a_hanging_put(world: World) -> None:
    """A task has only the graceful stop's time left, wherever it is."""
    steps(world, 1)
    world.stage.turns.append(Turn("hang", meanwhile=lambda: world.event_queue.put(Stop())))
    before = world.now
    with pytest.raises(ConnectError, match=r"sink\.put hangs"):
        steps(world, 2)
    assert world.now - before < 10
    assert world.group.get(HERE, 0) == 0


def test_the_offset_lookup_is_retried_while_the_coordinator_moves(world: World) -> None:
    """A rolling restart of brokers fails no task."""
    world.moving_coordinator = 3
    world.group[HERE] = 2
    steps(world, 3)
    assert offsets(world)[0][0] == 2


def test_a_suspended_task_puts_no_records_of_others(world: World) -> None:
    """Its group gave its partitions to another run; it is notified of that only some polls later."""
    steps(world, 2)
    world.stand_still(60, polls=3)
    before = len(world.deliveries)
    steps(world, 3)
    assert world.is_out
    assert world.deliveries[before:] == []
    world.request(commit=True)
    steps(world, 4)
    assert offsets(world)[before] == [0, 1]
    world.drain(in_place=True)


def test_a_suspended_task_that_is_still_a_member_continues(world: World) -> None:
    """A slow plugin costs one query; a group that does not answer is asked again."""
    steps(world, 2)
    world.stand_still(60)
    steps(world, 1)
    assert offsets(world) == [[0, 1], [2, 3], [4, 5]]
    world.silent_group = 2
    world.stand_still(60)
    steps(world, 2)
    assert offsets(world) == [[0, 1], [2, 3], [4, 5]]
    began = world.now
    steps(world, 2)
    assert offsets(world)[3:] == [[6, 7]]
    assert world.now - began < 1


def test_a_seek_in_a_put_drops_records_read_ahead(world: World) -> None:
    """Java's consumer would not have read them yet."""
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 0]]))]
    steps(world, 6)
    after = offsets(world)[offsets(world).index([2, 3]) + 1 :]
    assert after[0][0] == 0


def test_a_pause_in_a_put_applies_at_once(world: World) -> None:
    """Even if more was read ahead; that is put when the task resumes it."""
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(pause=[[*HERE]]))]
    steps(world, 6)
    before = offsets(world)
    assert before[-1] == [2, 3]
    world.request(resume=[[*HERE]])
    steps(world, 4)
    assert offsets(world)[len(before)][0] == 4


def test_one_read_becomes_several_puts() -> None:
    """A put has at most ``max.poll.records``."""
    world = World(fetch=8, most=3)
    world.write(HERE, 8)
    steps(world, 6)
    assert offsets(world) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    world.drain()


def test_the_group_is_polled_during_puts() -> None:
    """A revocation does not wait until everything read is put."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    steps(world, 2)
    world.rebalance([OTHER])
    world.now += POLL_SECONDS
    steps(world, 3)
    assert offsets(world) == [[0], [1]]
    assert world.group[HERE] == 2


def test_a_pause_stops_puts_of_records_read_ahead() -> None:
    """They are read again when the operator resumes the connector."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    steps(world, 2)
    world.event_queue.put(Pause())
    steps(world, 3)
    assert offsets(world) == [[0], [1]]
    world.event_queue.put(Resume())
    steps(world, 2)
    assert offsets(world)[2] == [2]
    world.drain()


def test_records_before_an_unreadable_one_are_put() -> None:
    """As if each put were read separately; the task fails at the bad record."""
    world = World(tolerant=False, fetch=8, is_plain=False, most=2)
    world.write(HERE, 8)
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 5)
    assert offsets(world) == [[0, 1], [2]]


def test_a_timeout_requested_in_a_put_does_not_apply_later() -> None:
    """More records were ready, so there was nothing to wait for; a later refusal waits as usual."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    world.stage.turns += [Turn(meanwhile=lambda: world.request(timeout=60_000)), Turn(), Turn("refuse")]
    steps(world, 4)
    world.now += 1
    steps(world, 2)
    assert offsets(world)[2:4] == [[2], [2]]


def test_a_timeout_requested_in_a_refused_put_applies_to_its_retry() -> None:
    """Even if the answer is late and the loop runs meanwhile."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    world.request(timeout=1)
    world.loop._calls.serve()
    put_loop = world.loop._put_loop
    put_loop._sent.add(SentPut(Delivery(), Future(), follows=False))
    put_loop.due(world.now)
    assert world.loop._requests.take_timeout() == 0.001


def following() -> World:
    """Return a world whose stage takes puts behind the one it is at, and eight records that are read at once."""
    world = World(fetch=8, most=1, takes_next=True)
    world.write(HERE, 8)
    return world


def sent(world: World) -> list[int]:
    """Return the first offset of each put that is under way, worked out or not."""
    return [put.delivery.starts[HERE] for put in world.loop._put_loop._sent._puts]


def test_puts_are_sent_while_one_is_in_progress() -> None:
    """One at first, and more with each accepted call; a stop waits for none that has not started."""
    world = following()
    steps(world, 2)
    assert sent(world) == [0, 1]
    steps(world, 3)
    assert sent(world) == [2, 3, 4]
    assert offsets(world) == [[0], [1]]
    world.event_queue.put(Stop())
    world.run()
    assert offsets(world) == [[0], [1], [2]]
    assert (world.group[HERE], world.observer.counts.put) == (3, 3)


def calls(world: World) -> list[int]:
    """Return how many puts each call has that is under way."""
    return [put.delivery.read for put in world.loop._put_loop._sent._puts]


def quick() -> World:
    """Return a world whose task has taken puts in silence, so that it is given several with a call."""
    world = following()
    world.write(HERE, 32)
    for _ in range(40):
        world.step()
        if max(calls(world), default=0) > 2:
            return world
    raise AssertionError(f"no call has several puts: {calls(world)}")


def test_a_quick_task_is_given_several_puts_with_a_call() -> None:
    """Each of as many records as any put, in their order, and counted once."""
    world = quick()
    steps(world, 40)
    assert offsets(world) == [[number] for number in range(40)]
    world.event_queue.put(Stop())
    world.run()
    assert (world.group[HERE], world.observer.counts.put) == (40, 40)


def test_puts_before_a_refused_one_in_a_call_count() -> None:
    """The refused one is put again, then those after it."""
    world = quick()
    begun = len(offsets(world))
    world.stage.turns += [Turn()] * 8 + [Turn("refuse")]
    while not world.refused:
        world.step()
    steps(world, 1)
    ((_, refused),) = world.refused
    assert begun < refused == world.loop._positions.done([HERE])[HERE]
    world.now += 1
    steps(world, 60)
    assert offsets(world) == [[number] for number in [*range(refused + 1), *range(refused, 40)]]
    assert (world.observer.counts.put, world.observer.counts.retried) == (41, 1)


def test_a_stop_waits_for_the_put_in_progress_of_a_call() -> None:
    """It counts, with those before it; the rest is left to the next run."""
    world = quick()
    world.stage.turns += [Turn()] * 8 + [Turn(meanwhile=lambda: world.event_queue.put(Stop()))]
    world.run()
    last = len(offsets(world))
    assert offsets(world) == [[number] for number in range(last)]
    assert last < 40
    assert (world.group[HERE], world.observer.counts.put) == (last, last)


def test_a_slow_task_gets_one_put_per_call() -> None:
    """Puts that were skipped come with the next call, before anything newer."""
    world = quick()
    world.stage.is_slow = True
    steps(world, 60)
    assert offsets(world) == [[number] for number in range(40)]
    world.write(HERE, 8)
    world.step()
    world.step()
    assert set(calls(world)) == {1}


@pytest.mark.parametrize("end", ["fail", "die"])
def test_a_failed_put_of_a_call_is_named(end: str) -> None:
    """If the stage dies it is unknown which one failed, so all of the call are named."""
    world = quick()
    world.stage.turns += [Turn()] * 8 + [Turn(end)]
    with pytest.raises(ConnectError) as failed:
        steps(world, 40)
    last = len(offsets(world)) - 1
    if end == "fail":
        assert f"t-0 from offset {last} to {last}\n" in ErrorInfo.of(failed.value).trace
    assert world.group.get(HERE, 0) <= last


def test_a_pause_skips_waiting_puts_and_resumes_them() -> None:
    """None is lost, put twice or counted before it has started."""
    world = following()
    steps(world, 2)
    world.event_queue.put(Pause())
    steps(world, 20)
    assert offsets(world) == [[0]]
    assert (world.observer.counts.put, world.group[HERE]) == (1, 1)
    world.event_queue.put(Resume())
    steps(world, 20)
    assert offsets(world) == [[number] for number in range(8)]
    assert world.observer.counts.put == 8
    assert world.loop._put_loop._sent._most > 1  # so puts that followed were taken again


def test_puts_sent_after_a_refused_one_follow_its_retry() -> None:
    """They were not given to the task, and are no longer in progress."""
    world = following()
    world.stage.turns += [Turn(), Turn("refuse")]
    steps(world, 5)
    assert offsets(world)[:2] == [[0], [1]]
    assert sent(world) == []
    world.now += 1
    steps(world, 20)
    assert offsets(world)[2:] == [[number] for number in range(1, 8)]
    assert (world.observer.counts.put, world.observer.counts.retried) == (9, 1)


def test_puts_sent_after_a_request_are_skipped() -> None:
    """The task seeks elsewhere: records in between are neither put nor counted."""
    world = following()
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 6]]))]
    steps(world, 20)
    assert offsets(world) == [[0], [1], [6], [7]]
    assert world.observer.counts.put == 4


def test_requests_made_during_an_assignment_are_kept() -> None:
    """They are carried out between puts: records after it are neither put nor lost."""
    world = following()
    world.share = {HERE}
    world.stage.turns.append(Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 6]])))
    steps(world, 2)
    assert sent(world) == [0, 1]
    world.rebalance([HERE, OTHER], cooperative=True)
    world.now += POLL_SECONDS
    steps(world, 20)
    assert offsets(world) == [[0], [6], [7]]


def test_a_revocation_drops_waiting_puts() -> None:
    """The put in progress is awaited and committed; the rest is left to the next owner."""
    world = following()
    steps(world, 2)
    world.rebalance([OTHER])
    world.now += POLL_SECONDS
    steps(world, 1)
    assert offsets(world) == [[0]]
    assert world.group[HERE] == 1


def test_a_seek_drops_refused_records(world: World) -> None:
    """The task gets the records at the new offset, and none from before."""
    refusing(world, 1)
    steps(world, 3)
    world.request(rewind=[[*HERE, 6]])
    steps(world, 4)
    assert offsets(world)[-1] == [6, 7]


def test_a_topic_is_reported_with_its_first_put(world: World) -> None:
    """When a put starts, not when it is read or accepted, and only once (KIP-558)."""
    world.write(PARTITIONS[2], 4)
    steps(world, 1)
    assert world.topics == ["t"]
    refusing(world, 2)
    steps(world, 30)
    assert sorted(world.topics) == ["t", "u"]


def test_a_reset_topic_is_reported_again_with_new_records(world: World) -> None:
    """Not because of earlier puts."""
    world.write(PARTITIONS[2], 4)
    steps(world, 30)
    world.topics.clear()
    world.event_queue.put(ForgetTopics())
    steps(world, 3)
    assert world.topics == []
    world.write(PARTITIONS[2], 4)
    steps(world, 30)
    assert len(world.topics) == 1


def test_a_topic_without_convertible_records_is_not_reported() -> None:
    """Records that transformations drop count as read, as in Kafka Connect."""
    world = World(is_plain=False, fetch=1)
    world.group[HERE] = 5  # which no converter reads
    world.group[PARTITIONS[2]] = 3  # which is dropped
    world.write(HERE, 6)
    world.write(PARTITIONS[2], 4)
    steps(world, 10)
    assert offsets(world) == []
    assert world.topics == ["u"]


def test_the_observer_counts_what_becomes_of_records() -> None:
    """What was put again counts twice, what was dropped is neither put nor failed."""
    world = World(is_plain=False)
    world.write(HERE, 7)
    world.stage.turns.append(Turn("refuse"))
    steps(world, 4)
    world.confirm_letters()
    stop(world)
    counts = world.observer.counts
    assert (counts.read, counts.failed, counts.dead_lettered, counts.retried) == (7, 1, 1, 3)
    assert counts.put == 5 + 3
    assert (counts.accepted, counts.dead_letters, counts.dead_letters_refused) == (5, 1, 0)
    assert (counts.commits, counts.commits_begun, counts.commits_passed) == (1, 1, 0)
    assert (counts.active, counts.active_most, counts.partitions) == (0, 7, 0)


def settled(world: World) -> int:
    """Read and put what there is, and return how many puts there were."""
    steps(world, 20)
    return len(world.deliveries)


def test_an_idle_task_gets_empty_puts(world: World) -> None:
    """However often the loop wakes up meanwhile."""
    before, began = settled(world), world.now
    for _ in range(1000):
        world.consumer.polls.append(world.event_queue.wake)
        world.step()
    assert (world.now, len(world.deliveries)) == (began, before)
    while world.now < began + 60:
        world.step()
    assert 60 / IDLE_SECONDS - 1 <= len(world.deliveries) - before <= 60 / IDLE_SECONDS + 7  # with its commits


def test_a_requested_timeout_survives_earlier_wakeups(world: World) -> None:
    """``context.timeout`` sets the time of the next put, even an empty one."""
    before, began = settled(world), world.now
    world.request(timeout=500)
    for _ in range(3):
        world.consumer.polls.append(world.event_queue.wake)
        world.step()
    assert len(world.deliveries) == before
    world.step()
    assert len(world.deliveries) == before + 1
    assert world.now == pytest.approx(began + 0.5)


def test_the_sink_model_detects_a_broken_promise(world: World) -> None:
    """A commit beyond what the task accepted raises an error."""
    steps(world, 1)
    with pytest.raises(BrokenPromise, match="is not settled"):
        world.consumer.commit({HERE: 8}, 1)
    with pytest.raises(BrokenPromise, match="does not have it"):
        world.consumer.commit({TopicPartition("strange", 0): 0}, 1)


@pytest.mark.parametrize(
    ("columns", "are_wanted"), [(None, True), (["value"], False), (["headers", "value"], True)], ids=str
)
def test_headers_are_converted_if_the_task_reads_them(
    world: World, columns: list[str] | None, are_wanted: bool
) -> None:
    """Otherwise a converter that accepts any bytes skips them."""
    world.columns = columns
    world.start()
    assert world.loop._pipeline.wants_headers is are_wanted
