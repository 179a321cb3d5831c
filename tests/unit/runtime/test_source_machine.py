"""The source loop keeps its promises after every step, under all events in any order."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.link.link_call import Pause, Resume, Stop
from hearth.runtime.poll_queue import JOINED_ROWS
from tests.profile import machine_settings
from tests.unit.runtime.source_world import APART, BAD, CROWDED, DROPPED, FAILING, HUGE, OK, TOGETHER, Run, World

pytestmark = pytest.mark.timeout(900)  # half a minute of work, and several on a busy machine

PLACES = [("t", 0), ("t", 1), ("u", 0)]

sources = st.sampled_from(["a", "a", "a", "b", "b", None])
fates = [OK] * 8 + [DROPPED, FAILING, BAD, BAD, HUGE, CROWDED]
plans = st.sampled_from([(place, fate) for fate in fates for place in PLACES])
parts = st.lists(st.tuples(sources, st.lists(plans, min_size=1, max_size=4)), min_size=1, max_size=2)
Polled = tuple["str | None", list[tuple[tuple[str, int], str]]]
chance = random.Random(1)
scripts = [[chance.randrange(100) for _ in range(chance.randrange(5))] for _ in range(5000)]
acts = st.sampled_from(sorted(scripts, key=len))
"""A script of events, drawn at once, because drawing is most of a step's cost."""


class SourceMachine(RuleBasedStateMachine):
    """Successive runs of one source task in a world where events happen at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[int] = []
        self.checked: dict[str | None, int] = {}
        self.reported = 0

    @initialize(
        is_tolerant=st.sampled_from([True, True, True, False]),
        wants_records=st.booleans(),
        stages=st.sampled_from(["", TOGETHER, APART]),
        joined_rows=st.sampled_from([1, 4, JOINED_ROWS]),
        looks=st.integers(0, 3),
        sends_together=st.booleans(),
    )
    def begin(
        self, is_tolerant: bool, wants_records: bool, stages: str, joined_rows: int, looks: int, sends_together: bool
    ) -> None:
        """Start the first run."""
        self.world = World(
            is_tolerant=is_tolerant, stages=stages, joined_rows=joined_rows, looks=looks, sends_together=sends_together
        )
        self.world.meanwhile = self.play
        self.wants_records = wants_records
        self.run = self.new_run()

    def new_run(self) -> Run:
        """Start a run."""
        return Run(self.world, wants_records=self.wants_records)

    # Events at any time, also while the loop waits ---------------------------------------------------------------

    def play(self) -> None:
        """Run the next event of the script."""
        if self.script:
            number = self.script.pop()
            happenings = self.happenings()
            happenings[number % len(happenings)]()

    def happenings(self) -> list[Callable[[], None]]:
        """Return the possible events; likely ones occur more than once."""
        run, producer = self.run, self.run.producer
        busy = [place for place in PLACES if producer.lines.get(place)]
        answers = [lambda place=place, most=most: producer.answer(place, most) for place in busy for most in (1, 2, 9)]
        moods = ["well", "well", "failing", "slow", "silent"]
        usual: list[Callable[[], None]] = [
            lambda: run.event_queue.put(Pause()),
            lambda: run.event_queue.put(Resume()),
            lambda: run.event_queue.put(Resume()),
            run.answer_hold,
            lambda: setattr(run.topics, "are_known", not run.topics.are_known),
            *(lambda mood=mood: setattr(run.link, "mood", mood) for mood in moods),
            self.stand_still,
        ]
        bad: list[Callable[[], None]] = [lambda: run.event_queue.put(Stop())]
        bad += [run.lose_host] if not run.link.is_lost else []
        bad += [run.die] if run.stage.is_alive else []
        if producer.failure is None:
            bad += [lambda: producer.fail(reports_first=True), lambda: producer.fail(reports_first=False)]
        odd = [lambda place=place: producer.write_unanswered(place) for place in busy]
        odd += [lambda place=place: producer.expire(place) for place in busy[:1]]
        return answers * 2 + usual * 3 + odd + bad

    def stand_still(self) -> None:
        """Suspend the process for longer than it waits for any host."""
        self.world.now += 60.0

    # The rules ------------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.run.is_over and self.run.may_poll)
    @rule(polled=parts, alternate=st.booleans())
    def poll(self, polled: list[Polled], alternate: bool) -> None:
        """The task returns records."""
        plans = [(source, [(*place, fate) for place, fate in rows]) for source, rows in polled]
        self.run.hand_over(*plans, alternate=alternate)

    @precondition(lambda self: not self.run.is_over)
    @rule(script=acts)
    def turn(self, script: list[int]) -> None:
        """The loop runs a round, and events happen while it waits."""
        self.script = [*script]
        self.run.turn()
        self.script = []

    @precondition(lambda self: not self.run.is_over and self.run.may_poll)
    @rule(polled=parts, alternate=st.booleans(), script=acts)
    def poll_and_turn(self, polled: list[Polled], alternate: bool, script: list[int]) -> None:
        """The loop receives the task's records."""
        self.poll(polled, alternate)
        self.turn(script)

    @precondition(lambda self: not self.run.is_over)
    @rule(number=st.integers(0, 99))
    def happen(self, number: int) -> None:
        """An event happens between two rounds."""
        self.script = [number]
        self.play()

    @precondition(lambda self: not self.run.is_over and any(self.run.producer.lines.values()))
    @rule(number=st.integers(0, 99), most=st.sampled_from([1, 2, 3, 9]))
    def answer(self, number: int, most: int) -> None:
        """The broker answers a request."""
        busy = [place for place in PLACES if self.run.producer.lines.get(place)]
        self.run.producer.answer(busy[number % len(busy)], most)

    @precondition(lambda self: not self.run.is_over)
    @rule()
    def wait_for_a_commit(self) -> None:
        """Time passes."""
        self.world.now += 2.5

    @precondition(lambda self: self.run.is_over or len(self.run.handed) > 5)
    @rule(script=acts)
    def restart(self, script: list[int]) -> None:
        """The run is killed unless it has ended, and another one starts at the stored positions."""
        run = self.run
        if not run.is_over:
            for number in script:
                busy = [place for place in PLACES if run.producer.lines.get(place)]
                if busy:
                    run.producer.answer(busy[number % len(busy)], 1 + number % 3)
            run.kill()
        self.world.mend()
        self.reported = 0
        self.run = self.new_run()

    # The promises ---------------------------------------------------------------------------------------------

    @invariant()
    def no_position_passes_a_gap(self) -> None:
        """Up to a stored position every record is written, filtered or a tolerated failure (2, 3)."""
        if not hasattr(self, "world"):
            return
        written = {record[:2] for log in self.world.log.values() for record in log}
        for source, position in self.world.stored.items():
            for number in range(self.checked.get(source, 0) + 1, position + 1):
                place = source, number
                assert place in written or place in self.world.excused, f"{place} is lost, {position} is stored"
            assert position >= self.checked.get(source, 0), "a position went back"
            self.checked[source] = position

    @invariant()
    def order_holds_per_source_partition(self) -> None:
        """By their last appearances the records up to a stored position come in order (4).

        One that was skipped may have been written by a run before, which is its last appearance and no promise.
        """
        if not hasattr(self, "world"):
            return
        for log in self.world.log.values():
            last: dict[str | None, list[int]] = {}
            seen: set[tuple[str | None, int]] = set()
            for record in reversed(log):
                is_stored = record.number <= self.world.stored.get(record.source, 0)
                if record[:2] not in seen and is_stored and record[:2] not in self.world.excused:
                    last.setdefault(record.source, []).append(record.number)
                seen.add(record[:2])  # whatever its fate was, which somebody may have corrected since
            for numbers in last.values():
                assert numbers == sorted(numbers, reverse=True), f"out of order: {numbers[::-1]}"

    @invariant()
    def a_task_is_told_the_truth(self) -> None:
        """``commit_record`` is called once for a record, with its place in the topic, or without one."""
        if not hasattr(self, "world"):
            return
        for number, place in list(self.run.stage.reported.items())[self.reported :]:
            record = self.run.handed[number]
            topic, partition, offset, timestamp = place
            if topic is None:
                assert record[:2] in self.world.excused, f"{record} was told as dropped"
            elif record[:2] not in self.world.aborted:  # which had a place, as in Kafka Connect
                assert self.world.log[topic, partition][offset][:2] == record[:2]
                assert timestamp == number + 1000
        self.reported = len(self.run.stage.reported)

    @invariant()
    def told_topics_have_records(self) -> None:
        """A topic is active after its first acknowledged record, so it has records."""
        if hasattr(self, "world"):
            assert set(self.run.link.topics) <= {topic for (topic, _), log in self.world.log.items() if log}

    def can_go_well(self) -> bool:
        """Return whether a run exists that can complete everything that was polled."""
        if not hasattr(self, "world"):
            return False
        run = self.run
        is_sound = run.stage.is_alive and not run.link.is_lost and run.producer.failure is None
        return is_sound and not run.is_over and run.stage.hold is None

    def teardown(self) -> None:
        """Without further faults, everything that was polled is written, stored and reported."""
        if not self.can_go_well():
            return
        run, self.script = self.run, []
        run.link.mood, run.topics.are_known = "well", True
        self.world.meanwhile = self.answer_all
        for _ in range(100):
            if run.is_over or (
                run.loop._send_buffer.is_empty and run.event_queue.is_empty and run.loop._polls.is_empty
            ):
                break
            self.answer_all()
            run.turn()
        run.event_queue.put(Stop())
        run.turn_until(lambda: False)
        self.no_position_passes_a_gap()
        self.order_holds_per_source_partition()
        self.a_task_is_told_the_truth()
        if run.error is not None:
            assert not self.world.is_tolerant, f"failed although it tolerates: {run.error!r}"
            return
        for source in ("a", "b"):
            assert self.world.stored.get(source, 0) == self.world.read.get(source, self.world.stored.get(source, 0))
        if self.wants_records:
            assert len(run.stage.reported) == len(run.handed), "the task does not know of every record"

    def answer_all(self) -> None:
        """Let broker and stage answer all requests."""
        self.run.answer_hold()
        for place in PLACES:
            if self.run.producer.lines.get(place):
                self.run.producer.answer(place, 3)


TestSource = SourceMachine.TestCase
TestSource.settings = machine_settings(steps=25)
