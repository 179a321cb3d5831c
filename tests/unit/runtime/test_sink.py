"""The sink loop in the situations in which one like it lost records, one by one."""

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
    """Have partitions rest as soon as records are not put."""
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
    """Have the task refuse so many puts that are not its first."""
    world.stage.turns.append(Turn())
    world.stage.turns.extend(Turn("refuse") for _ in range(times))


def test_a_stop_while_a_put_is_refused_leaves_it_and_what_comes_behind_it(world: World) -> None:
    """Nothing newer is put in its place, and the group stands before it: the next run puts it first."""
    refusing(world, 100)
    steps(world, 4)
    stop(world)
    assert world.group[HERE] == 2
    assert [0, 1] in offsets(world)
    assert all(min(put) <= 2 for put in offsets(world))
    world.drain()


def test_a_stop_ends_a_put_that_is_under_way_and_commits_it(world: World) -> None:
    """What the task took is not put again by the next run (Invariant 8)."""
    steps(world, 2)
    stop(world)
    assert world.group[HERE] == max(offsets(world)[-1]) + 1


@pytest.mark.usefixtures("rests_at_once")
@pytest.mark.parametrize("command", ["resume", "context"])
def test_whoever_resumes_while_a_put_is_refused_does_not_let_records_slip_by(world: World, command: str) -> None:
    """Everything rests until the task takes what it refused; then all goes on."""
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
def test_a_rebalance_while_a_put_is_refused_puts_nothing_in_front_of_it(
    world: World, share: list[TopicPartition]
) -> None:
    """What was read ahead goes with its partition; what comes back is read from the group's offset."""
    refusing(world, 5)
    steps(world, 4)
    world.rebalance(share)
    steps(world, 3)
    world.rebalance(PARTITIONS)
    world.drain()


def test_partitions_that_are_given_back_are_not_waited_for(world: World) -> None:
    """A put that is refused in a rebalance is left to the next owner: the group does not wait for the sink."""
    world.stage.turns.extend(Turn("refuse") for _ in range(50))
    world.step()
    before = world.now
    world.rebalance([OTHER])
    world.step()
    assert world.now - before < 1
    assert len(world.stage.turns) >= 48


@pytest.mark.usefixtures("rests_at_once")
def test_a_pause_does_not_outlive_the_partition(world: World) -> None:
    """librdkafka keeps it when a partition goes and comes back; Kafka Connect forgets it."""
    refusing(world, 1)
    steps(world, 3)
    assert HERE in world.consumer.paused
    world.rebalance([])
    world.step()
    world.rebalance([HERE])
    steps(world, 2)
    assert HERE not in world.consumer.paused


def test_a_paused_connector_reads_nothing_of_a_partition_that_comes(world: World) -> None:
    """Partitions that are given to it rest as the others do."""
    world.event_queue.put(Pause())
    world.rebalance([HERE])
    steps(world, 3)
    assert offsets(world) == []
    assert world.states == ["PAUSED"]


def test_a_record_reported_without_tolerance_is_not_passed() -> None:
    """The task fails even if it makes light of the error, and the next run gets the record again."""
    world = World(tolerant=False)
    world.write(HERE, 3)
    world.stage.turns.append(Turn(meanwhile=partial(world.report, (HERE, 1))))
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 3)
    assert world.group.get(HERE, 0) <= 1


def test_a_put_that_fails_says_which_records_it_was_of(world: World) -> None:
    """The task does not; its own error is the cause."""
    world.stage.turns.append(Turn("fail"))
    with pytest.raises(PutFailed, match="Exiting WorkerSinkTask due to unrecoverable exception") as caught:
        steps(world, 3)
    assert f"records: 2, {HERE} from offset 0 to 1" in caught.value.trace
    assert isinstance(caught.value.__cause__, RemoteError)


def test_a_stage_that_ends_in_a_put_says_so_as_well(world: World) -> None:
    """Also where the loop hears of its end before it looks what became of the put."""
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


def test_a_record_the_task_made_is_converted_before_it_is_a_dead_letter(world: World) -> None:
    """By the loop, as no thread that reads from a stage may wait for another; a commit waits for the letter."""
    request = made(world, 5)
    assert [place for place, _ in world.letters] == [(("made", 0), 5)]
    world.confirm_letters()
    assert request.result == "done"


def test_a_record_the_task_made_and_no_converter_takes_is_told_to_the_task(world: World) -> None:
    """It is an error of its own, as in Java, and the task goes on."""
    world.is_broken = lambda offset: offset == 5  # type: ignore[method-assign]
    assert isinstance(made(world, 5).result, DataError)
    assert world.letters == []
    steps(world, 3)


def test_a_record_reported_late_holds_back_the_commit_of_its_offset() -> None:
    """Also when its put was accepted long ago, as long as its offset is not committed."""
    world = World(tolerant=False, fetch=1)
    world.write(HERE, 3)
    steps(world, 8)
    world.report((HERE, 1))
    world.confirm_letters()
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        world.step()
    assert world.group[HERE] == 1


def test_a_report_that_comes_with_a_flush_is_waited_for(world: World) -> None:
    """A sink that buffers finds its bad records when it flushes: that commit does not pass them."""
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
def test_a_report_that_comes_with_a_close_is_waited_for(world: World, is_confirmed: bool) -> None:
    """A sink that finds its bad records as it closes a partition: the commit of what goes does not pass them."""

    def report() -> None:
        world.report((HERE, 0))
        if is_confirmed:
            world.confirm_letters()

    steps(world, 3)
    world.stage.closes.append(Turn(meanwhile=report))
    world.rebalance([])
    steps(world, 1)
    assert (world.group.get(HERE, 0) > 0) is is_confirmed


def test_a_record_reported_in_close_without_tolerance_is_not_passed() -> None:
    """The commit comes after the close, so the next run gets the record again."""
    world = World(tolerant=False, fetch=1)
    world.write(HERE, 3)
    steps(world, 5)
    world.stage.closes.append(Turn(meanwhile=partial(world.report, (HERE, 0))))
    world.rebalance([])
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 1)
    assert world.group.get(HERE, 0) == 0


def test_a_flush_that_nobody_waits_for_is_not_answered_for_by_a_later_one() -> None:
    """It may have lost what was put, so the next run gets all of it again."""
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


def test_a_flush_that_failed_is_not_answered_for_by_a_later_one_although_the_close_fails_as_well() -> None:
    """What stays with the task may have been in the flush, too."""
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


def test_a_refused_dead_letter_fails_the_task_and_is_not_passed(world: World) -> None:
    """Its record is nowhere; what was before it is committed no further than the task can answer for."""
    steps(world, 3)
    world.report((HERE, 1))
    world.refuse_letter()
    with pytest.raises(ConnectError):
        steps(world, 2)
    assert world.group.get(HERE, 0) == 0


def test_partitions_rest_only_if_a_task_refuses_records_for_long(world: World) -> None:
    """To let them flow again takes a fetch, which a task that wants records again in a moment is not to wait for."""
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
def test_no_more_records_come_while_the_dead_letters_producer_is_full(world: World) -> None:
    """An outage of the dead letter topic holds up the task instead of its letters."""
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


def test_an_offset_requested_in_open_counts_from_the_first_record_on(world: World) -> None:
    """A sink that keeps its own offsets is not given what it has already."""
    world.stage.opens.append(Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 4]])))
    steps(world, 4)
    assert offsets(world)[0][0] == 4


def test_a_flush_that_fails_before_the_first_commit_goes_back_to_where_reading_began() -> None:
    """Not to the beginning of the topic, which ``auto.offset.reset=latest`` may have left out."""
    world = World()
    world.write(HERE, 9)
    world.group[HERE] = 6
    world.stage.flushes.append(Turn("fail"))
    steps(world, 2)
    world.request(commit=True)
    steps(world, 4)
    assert min(min(put) for put in offsets(world)) == 6
    assert offsets(world).count([6, 7, 8]) == 2


def test_a_flush_that_fails_while_partitions_go_does_not_fail_the_task(world: World) -> None:
    """Kafka Connect warns and goes on: their next owner puts again what is not committed."""
    steps(world, 2)
    world.stage.flushes.append(Turn("fail"))
    world.rebalance([])
    steps(world, 2)
    assert world.group == {}
    world.rebalance([HERE])
    steps(world, 2)
    world.drain()


def test_a_flush_that_fails_while_some_partitions_go_is_one_of_those_that_stay(world: World) -> None:
    """With cooperative assignment others stay; what the task buffered of them may be gone with the flush."""
    world.write(OTHER, 2)
    steps(world, 6)
    world.stage.flushes.append(Turn("fail"))
    world.rebalance([HERE], cooperative=True)
    steps(world, 8)
    assert [place for records in world.deliveries for place in records].count((HERE, 0)) == 2
    world.drain()


@pytest.mark.parametrize("fate", ["refused", "late", "unanswered"])
def test_a_commit_that_is_not_confirmed_is_committed_again(world: World, fate: str) -> None:
    """It counts when the broker says so; a clean stop leaves nothing to be repeated."""
    world.commit_fates.append(fate)
    steps(world, 6)
    world.request(commit=True)
    steps(world, 3)
    stop(world)
    assert world.group[HERE] == 8


def test_a_lower_commit_that_nobody_confirmed_is_not_taken_for_the_one_before(world: World) -> None:
    """The group may have either: what the task wants committed is committed, also where it was once before."""
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


def test_a_commit_that_fails_while_partitions_go_does_not_fail_the_task(world: World) -> None:
    """As in Kafka Connect."""
    world.commit_fates.append("refused")
    steps(world, 2)
    world.rebalance([])
    steps(world, 2)
    assert not world.is_over


def test_what_was_put_before_an_outage_is_committed_during_it(world: World) -> None:
    """A kill in a long outage repeats what was refused, and nothing that was taken before."""
    refusing(world, 1000)
    steps(world, 3)
    world.request(commit=True)
    steps(world, 3)
    assert world.group[HERE] == 2
    assert (HERE, 2) not in world.taken


def test_a_flush_that_hangs_fails_the_task_after_one_deadline(world: World) -> None:
    """It is no failed flush to be tried again: the next call would hang as well."""
    steps(world, 2)
    world.stage.flushes.append(Turn("hang"))
    world.request(commit=True)
    before = world.now
    with pytest.raises(ConnectError, match=r"sink\.pre_commit hangs"):
        steps(world, 2)
    assert world.now - before < 310
    assert not world.stage.is_alive


def test_a_stop_bounds_a_put_that_hangs(world: World) -> None:
    """The time for a stop in order is all a task has left, wherever it is."""
    steps(world, 1)
    world.stage.turns.append(Turn("hang", meanwhile=lambda: world.event_queue.put(Stop())))
    before = world.now
    with pytest.raises(ConnectError, match=r"sink\.put hangs"):
        steps(world, 2)
    assert world.now - before < 10
    assert world.group.get(HERE, 0) == 0


def test_a_coordinator_that_moves_between_assignment_and_offsets_is_asked_again(world: World) -> None:
    """A rolling restart of brokers fails no task."""
    world.moving_coordinator = 3
    world.group[HERE] = 2
    steps(world, 3)
    assert offsets(world)[0][0] == 2


def test_a_task_that_stood_still_is_given_nothing_that_others_have(world: World) -> None:
    """Its group gave its partitions to another run meanwhile; it hears of that only some polls later."""
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


def test_a_task_that_stood_still_and_is_a_member_goes_on_at_once(world: World) -> None:
    """A plugin that takes its time costs a question, and a group that does not answer is asked again."""
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


def test_a_task_that_asks_in_a_put_to_read_elsewhere_gets_nothing_in_between(world: World) -> None:
    """What was read ahead meanwhile stands behind a gap, and Java's consumer would not have read it yet."""
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 0]]))]
    steps(world, 6)
    after = offsets(world)[offsets(world).index([2, 3]) + 1 :]
    assert after[0][0] == 0


def test_a_partition_that_is_paused_in_a_put_rests_from_then_on(world: World) -> None:
    """Also where more of it was read ahead; that is put when the task resumes it."""
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(pause=[[*HERE]]))]
    steps(world, 6)
    before = offsets(world)
    assert before[-1] == [2, 3]
    world.request(resume=[[*HERE]])
    steps(world, 4)
    assert offsets(world)[len(before)][0] == 4


def test_much_is_read_at_once_and_put_by_the_few() -> None:
    """A task is given no more than ``max.poll.records`` with a put, one put after the other."""
    world = World(fetch=8, most=3)
    world.write(HERE, 8)
    steps(world, 6)
    assert offsets(world) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    world.drain()


def test_the_group_is_looked_after_while_what_was_read_is_put() -> None:
    """A partition that goes meanwhile is not waited for until all of it is put."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    steps(world, 2)
    world.rebalance([OTHER])
    world.now += POLL_SECONDS
    steps(world, 3)
    assert offsets(world) == [[0], [1]]
    assert world.group[HERE] == 2


def test_a_pause_ends_the_puts_of_what_was_read() -> None:
    """What the task does not have by then is read again when the operator resumes it."""
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


def test_what_comes_before_a_record_that_cannot_be_read_is_put_although_it_was_read_with_it() -> None:
    """As where no more is read than a put takes; the task fails when it is the record's turn."""
    world = World(tolerant=False, fetch=8, is_plain=False, most=2)
    world.write(HERE, 8)
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        steps(world, 5)
    assert offsets(world) == [[0, 1], [2]]


def test_a_time_a_task_asked_for_in_a_put_is_not_that_of_a_later_one() -> None:
    """More was there at once, so there was nothing to wait for; what is refused then waits as long as any."""
    world = World(fetch=8, most=1)
    world.write(HERE, 8)
    world.stage.turns += [Turn(meanwhile=lambda: world.request(timeout=60_000)), Turn(), Turn("refuse")]
    steps(world, 4)
    world.now += 1
    steps(world, 2)
    assert offsets(world)[2:4] == [[2], [2]]


def test_a_time_a_task_asked_for_in_a_put_that_it_refuses_counts_though_its_answer_is_late() -> None:
    """The loop goes round meanwhile, and asks when something is due."""
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


def test_puts_are_sent_behind_the_one_that_is_under_way() -> None:
    """One to begin with, and more with each call that is taken; a stop waits for none that has not begun."""
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


def test_of_several_puts_those_before_one_that_is_refused_are_done() -> None:
    """That one comes again, and those behind it after it."""
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


def test_of_several_puts_a_stop_waits_for_the_one_that_is_under_way() -> None:
    """It counts, with those before it; the rest is left to the next run."""
    world = quick()
    world.stage.turns += [Turn()] * 8 + [Turn(meanwhile=lambda: world.event_queue.put(Stop()))]
    world.run()
    last = len(offsets(world))
    assert offsets(world) == [[number] for number in range(last)]
    assert last < 40
    assert (world.group[HERE], world.observer.counts.put) == (last, last)


def test_a_task_that_becomes_slow_is_given_one_put_with_a_call_again() -> None:
    """What it was not given of a call comes with the next, before anything newer."""
    world = quick()
    world.stage.is_slow = True
    steps(world, 60)
    assert offsets(world) == [[number] for number in range(40)]
    world.write(HERE, 8)
    world.step()
    world.step()
    assert set(calls(world)) == {1}


@pytest.mark.parametrize("end", ["fail", "die"])
def test_of_several_puts_the_one_that_fails_is_named(end: str) -> None:
    """Where a stage ends nobody knows which one it was at, so all that it was given with the call are named."""
    world = quick()
    world.stage.turns += [Turn()] * 8 + [Turn(end)]
    with pytest.raises(ConnectError) as failed:
        steps(world, 40)
    last = len(offsets(world)) - 1
    if end == "fail":
        assert f"t-0 from offset {last} to {last}\n" in ErrorInfo.of(failed.value).trace
    assert world.group.get(HERE, 0) <= last


def test_a_pause_leaves_out_what_waits_behind_a_put_and_goes_on_with_it() -> None:
    """Nothing of it is lost, given twice or counted before it has begun."""
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


def test_what_was_sent_behind_a_refused_put_comes_after_it() -> None:
    """It was not given to the task, and is no longer under way."""
    world = following()
    world.stage.turns += [Turn(), Turn("refuse")]
    steps(world, 5)
    assert offsets(world)[:2] == [[0], [1]]
    assert sent(world) == []
    world.now += 1
    steps(world, 20)
    assert offsets(world)[2:] == [[number] for number in range(1, 8)]
    assert (world.observer.counts.put, world.observer.counts.retried) == (9, 1)


def test_what_was_sent_behind_a_put_that_asked_for_something_is_not_given_before_that_was_heard() -> None:
    """The task wants to read elsewhere: what lies in between is not put, and not counted."""
    world = following()
    world.stage.turns += [Turn(), Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 6]]))]
    steps(world, 20)
    assert offsets(world) == [[0], [1], [6], [7]]
    assert world.observer.counts.put == 4


def test_what_a_task_asks_for_while_other_partitions_come_is_not_lost() -> None:
    """It is heard as those are opened, and done when nothing is put: what follows is neither put nor passed over."""
    world = following()
    world.share = {HERE}
    world.stage.turns.append(Turn(meanwhile=lambda: world.request(rewind=[[*HERE, 6]])))
    steps(world, 2)
    assert sent(world) == [0, 1]
    world.rebalance([HERE, OTHER], cooperative=True)
    world.now += POLL_SECONDS
    steps(world, 20)
    assert offsets(world) == [[0], [6], [7]]


def test_a_partition_that_goes_takes_what_waits_behind_a_put_with_it() -> None:
    """The put is waited for, and committed; the rest is left to who has the partition next."""
    world = following()
    steps(world, 2)
    world.rebalance([OTHER])
    world.now += POLL_SECONDS
    steps(world, 1)
    assert offsets(world) == [[0]]
    assert world.group[HERE] == 1


def test_records_refused_and_then_sought_elsewhere_are_not_put_again(world: World) -> None:
    """A task that asks to read elsewhere gets what stands there, and nothing of before."""
    refusing(world, 1)
    steps(world, 3)
    world.request(rewind=[[*HERE, 6]])
    steps(world, 4)
    assert offsets(world)[-1] == [6, 7]


def test_a_topic_is_told_once_something_of_it_was_handed_to_the_task(world: World) -> None:
    """When a put begins, not when it is read or accepted, nor again (KIP-558)."""
    world.write(PARTITIONS[2], 4)
    steps(world, 1)
    assert world.topics == ["t"]
    refusing(world, 2)
    steps(world, 30)
    assert sorted(world.topics) == ["t", "u"]


def test_a_topic_that_was_forgotten_is_told_again_when_more_of_it_comes(world: World) -> None:
    """Not because of what was put before."""
    world.write(PARTITIONS[2], 4)
    steps(world, 30)
    world.topics.clear()
    world.event_queue.put(ForgetTopics())
    steps(world, 3)
    assert world.topics == []
    world.write(PARTITIONS[2], 4)
    steps(world, 30)
    assert len(world.topics) == 1


def test_a_topic_of_which_nothing_can_be_converted_is_not_told() -> None:
    """What transformations drop was read all the same, as in Kafka Connect."""
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
    assert (counts.polled, counts.failed, counts.dead_lettered, counts.retried) == (7, 1, 1, 3)
    assert counts.put == 5 + 3
    assert counts.commits == 1


def settled(world: World) -> int:
    """Read and put what there is, and return how many puts there were."""
    steps(world, 20)
    return len(world.deliveries)


def test_an_idle_task_is_told_from_time_to_time_that_nothing_came(world: World) -> None:
    """However often the loop is woken meanwhile; that is no answer to anything."""
    before, began = settled(world), world.now
    for _ in range(1000):
        world.consumer.polls.append(world.event_queue.wake)
        world.step()
    assert (world.now, len(world.deliveries)) == (began, before)
    while world.now < began + 60:
        world.step()
    assert 60 / IDLE_SECONDS - 1 <= len(world.deliveries) - before <= 60 / IDLE_SECONDS + 7  # with its commits


def test_a_time_a_task_asked_for_stands_although_the_loop_is_woken_before(world: World) -> None:
    """``context.timeout`` says when it is to be given something again, be it nothing."""
    before, began = settled(world), world.now
    world.request(timeout=500)
    for _ in range(3):
        world.consumer.polls.append(world.event_queue.wake)
        world.step()
    assert len(world.deliveries) == before
    world.step()
    assert len(world.deliveries) == before + 1
    assert world.now == pytest.approx(began + 0.5)


def test_a_world_notices_a_broken_promise(world: World) -> None:
    """What the machine trusts in is itself looked at: a commit beyond what the task took is not let pass."""
    steps(world, 1)
    with pytest.raises(BrokenPromise, match="is not settled"):
        world.consumer.commit({HERE: 8}, 1)
    with pytest.raises(BrokenPromise, match="does not have it"):
        world.consumer.commit({TopicPartition("strange", 0): 0}, 1)


@pytest.mark.parametrize(
    ("columns", "are_wanted"), [(None, True), (["value"], False), (["headers", "value"], True)], ids=str
)
def test_headers_are_wanted_where_the_task_reads_them(
    world: World, columns: list[str] | None, are_wanted: bool
) -> None:
    """Otherwise a converter that reads any bytes leaves them alone."""
    world.columns = columns
    world.start()
    assert world.loop._pipeline.wants_headers is are_wanted
