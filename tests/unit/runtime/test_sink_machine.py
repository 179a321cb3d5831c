"""The sink loop under all events, in any order."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.link.link_call import Command, Pause, Resume, Stop
from hearth.runtime.sink import POLL_SECONDS
from hearth.staging import tolerance
from hearth_api import ConnectError
from tests.profile import machine_settings
from tests.unit.runtime.sink_world import PARTITIONS, Place, Turn, World, look

Act = tuple[Any, ...]
"""The name of an event and its argument: see `SinkMachine._do`."""
ANSWERS = st.sampled_from(["accept", "accept", "refuse", "refuse", "fail", "die", "hang"])
FATES = st.sampled_from(["ok", "refused", "late", "unanswered"])
FLUSHES = st.sampled_from(["accept", "accept", "fail"])
CLOSES = st.sampled_from(["accept", "accept", "accept", "accept", "fail"])
LETTERS = ["late", "confirmed", "refused"]
"""The first result of a dead letter; a late one gets any result later, or none."""
STANDS_STILL = 60.0
SHARES = [set(each) for count in range(4) for each in combinations(PARTITIONS, count)]
COMMANDS: list[Command] = [Pause(), Resume(), Stop()]

# Drawing costs more than running, so events are drawn at once. All kinds of requests are equally likely, and
# reports are half of the events during a call.
REQUESTS: list[Act] = [
    *(("request", {"commit": True}) for _ in range(21)),
    *(("request", {"timeout": milliseconds}) for milliseconds in range(1, 5001, 249)),
    *(("request", {"rewind": [[*place, offset]]}) for place in PARTITIONS for offset in range(7)),
    *(("request", {word: [[*place]]}) for word in ("pause", "resume") for place in PARTITIONS for _ in range(7)),
]
MEANWHILE = st.sampled_from(
    [
        *(("report", number, letter) for number in range(6) for letter in LETTERS for _ in range(17)),
        *REQUESTS,
        *(("command", command) for command in COMMANDS for _ in range(35)),
        *(("rebalance", share, lost) for share in SHARES for lost in (False, True) for _ in range(7)),
        *(("stand still", polls) for polls in (None, 0, 1, 3) for _ in range(7)),
    ]
)


@pytest.fixture(autouse=True)
def _reports_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wait for dead letters return at once: the world's clock does not move by itself."""
    monkeypatch.setattr(tolerance, "wait", look)


class SinkMachine(RuleBasedStateMachine):
    """Random interleavings of all events; the world raises when a promise is broken."""

    world: World
    ends_here: bool
    """Whether the last run completes everything if it can, or a new one after a kill."""

    @initialize(
        tolerant=st.booleans(),
        fetch=st.integers(1, 6),
        most=st.sampled_from([1, 2, 3, 100]),
        takes_next=st.booleans(),
        thread=st.sampled_from([(math.inf, 0), (0, 0), (0, 1), (0, 2), (0, 3), (0, 5)]),
        apart=st.booleans(),
        moving=st.integers(0, 2),
        ends_here=st.booleans(),
    )
    def begin(
        self,
        tolerant: bool,
        fetch: int,
        most: int,
        takes_next: bool,
        thread: tuple[float, int],
        apart: bool,
        moving: int,
        ends_here: bool,
    ) -> None:
        """Begin with some records; ``thread`` is whether another one converts them, and how slow that is.

        With ``apart`` there are two, one behind the other.
        """
        self.ends_here = ends_here
        self.world = World(tolerant, fetch, False, 0.5, most, takes_next, *thread, apart)
        self.world.moving_coordinator = moving
        for partition in PARTITIONS:
            self.world.write(partition, 4)

    def teardown(self) -> None:
        """After all faults end, nothing is lost."""
        if hasattr(self, "world"):
            in_place = self.ends_here and self.world.tolerant
            if in_place:
                self.world.calm()
                self.step(2)  # a run that failed or was stopped before ends here
            self.world.tolerant = True  # as if somebody had corrected the records' converter
            self.world.drain(in_place=in_place)

    @invariant()
    def no_promise_is_broken(self) -> None:
        """No promise is broken, now or while a task ended."""
        assert not getattr(self, "world", None) or not self.world.breaches, self.world.breaches

    # Events ---------------------------------------------------------------------------------------------------

    @rule(partition=st.sampled_from(PARTITIONS), count=st.integers(1, 5))
    def write(self, partition: Any, count: int) -> None:
        """Records arrive."""
        self.world.write(partition, count)

    @rule(times=st.integers(1, 4))
    def step(self, times: int) -> None:
        """The loop runs a round; when the task fails or ends, another run starts, as after an operator's restart."""
        for _ in range(times):
            try:
                self.world.step()
            except ConnectError:
                self.world.start()
                return
            if self.world.loop._calls.is_ending:
                self._end()
                self.world.start()
                return

    @rule(is_slow=st.booleans())
    def pace(self, is_slow: bool) -> None:
        """The task becomes slow or quick."""
        self.world.stage.is_slow = is_slow

    @rule(share=st.sampled_from(SHARES), lost=st.booleans(), cooperative=st.booleans())
    def rebalance(self, share: set[Any], lost: bool, cooperative: bool) -> None:
        """Partitions move with the next poll."""
        self.world.rebalance(share, lost, cooperative)

    @rule(command=st.sampled_from(COMMANDS))
    def command(self, command: Command) -> None:
        """An operator acts."""
        self.world.event_queue.put(command)

    @rule(answer=ANSWERS, meanwhile=MEANWHILE)
    def next_put(self, answer: str, meanwhile: Act) -> None:
        """Set the answer to the next put, and an event during it."""
        self.world.stage.turns.append(Turn(answer, partial(self._do, meanwhile)))

    @rule(answer=st.sampled_from(["accept", "refuse", "fail", "hang"]), meanwhile=MEANWHILE)
    def next_flush(self, answer: str, meanwhile: Act) -> None:
        """Set the answer to the next flush."""
        self.world.stage.flushes.append(Turn(answer, partial(self._do, meanwhile)))

    @rule(answer=st.sampled_from(["accept", "accept", "fail"]), meanwhile=MEANWHILE)
    def next_open(self, answer: str, meanwhile: Act) -> None:
        """Set the answer to the next open."""
        self.world.stage.opens.append(Turn(answer, partial(self._do, meanwhile)))

    @rule(answer=CLOSES, meanwhile=MEANWHILE)
    def next_close(self, answer: str, meanwhile: Act) -> None:
        """Set the answer to the next close."""
        self.world.stage.closes.append(Turn(answer, partial(self._do, meanwhile)))

    @rule(meanwhile=MEANWHILE)
    def next_poll(self, meanwhile: Act) -> None:
        """An event happens while the loop polls, as from a thread of the task."""
        self.world.consumer.polls.append(partial(self._do, meanwhile))

    @rule(answer=ANSWERS, times=st.integers(1, 2), partition=st.sampled_from(PARTITIONS), meanwhile=MEANWHILE)
    def put(self, answer: str, times: int, partition: Any, meanwhile: Act) -> None:
        """The task makes a request during a put."""
        self.world.write(partition, 2)
        self.next_put(answer, meanwhile)
        self.step(times)

    @rule(
        answer=ANSWERS, partition=st.sampled_from(PARTITIONS), share=st.sampled_from(SHARES), offset=st.integers(0, 6)
    )
    def come(self, answer: str, partition: Any, share: set[Any], offset: int) -> None:
        """A rebalance happens while the task has records of a partition in which it seeks."""
        self.world.write(partition, 3)
        self.step(2)
        self.next_put(answer, ("request", {"rewind": [[*partition, offset]]}))
        self.world.now += POLL_SECONDS
        self.world.rebalance(share | {partition}, cooperative=True)
        self.step(2)

    @rule(answer=FLUSHES, fate=FATES, meanwhile=MEANWHILE)
    def flush(self, answer: str, fate: str, meanwhile: Act) -> None:
        """The task requests a commit, and makes a request while it flushes."""
        self.next_flush(answer, meanwhile)
        self.world.commit_fates.append(fate)
        self.world.request(commit=True)
        self.step(2)

    @rule(partition=st.sampled_from(PARTITIONS), offset=st.integers(0, 6))
    def open_elsewhere(self, partition: Any, offset: int) -> None:
        """Partitions are assigned to a task that stores offsets itself."""
        ask = partial(self.world.request, rewind=[[*partition, offset]])
        self.world.stage.opens.append(Turn(meanwhile=ask))
        self.world.rebalance(PARTITIONS)
        self.step(1)

    @rule(agrees=st.sampled_from(["all", "less", "nothing", "more"]))
    def agree(self, agrees: str) -> None:
        """The task agrees to commit a part of its records."""
        self.world.agrees = agrees

    @rule(fate=FATES)
    def next_commit(self, fate: str) -> None:
        """Set the result of the next commit."""
        self.world.commit_fates.append(fate)

    @precondition(lambda self: self.world.consumer.in_the_air)
    @rule()
    def land(self) -> None:
        """A delayed commit completes."""
        self.world.consumer.land()

    @rule(act=st.sampled_from(REQUESTS))
    def request(self, act: Act) -> None:
        """The task makes a request to its context."""
        self._do(act)

    @precondition(lambda self: self.world.stage.kept)
    @rule(number=st.integers(0, 99), letter=st.sampled_from(LETTERS))
    def report(self, number: int, letter: str) -> None:
        """The task reports a record, now or long after its put."""
        self._report(self.world.stage.kept[number % len(self.world.stage.kept)], letter)

    @precondition(lambda self: self.world.letters)
    @rule(count=st.integers(1, 5))
    def confirm(self, count: int) -> None:
        """Dead letters arrive."""
        self.world.confirm_letters(count)

    @precondition(lambda self: self.world.letters)
    @rule()
    def refuse(self) -> None:
        """A dead letter is refused permanently."""
        self.world.refuse_letter()

    @rule(is_full=st.booleans())
    def fill(self, is_full: bool) -> None:
        """The buffer of dead letters becomes full, or has room again."""
        self.world.reporter.is_full = is_full

    @rule(moving=st.integers(1, 3))
    def move_coordinator(self, moving: int) -> None:
        """The group's coordinator moves."""
        self.world.moving_coordinator = moving

    @rule(paused=st.booleans())
    def kill(self, paused: bool) -> None:
        """The process is killed, and another one starts."""
        self.world.start(paused)

    @rule(
        share=st.sampled_from(SHARES),
        cooperative=st.booleans(),
        flush=FLUSHES,
        close=CLOSES,
        acts=st.tuples(MEANWHILE, MEANWHILE),
    )
    def give_back(self, share: set[Any], cooperative: bool, flush: str, close: str, acts: tuple[Act, Act]) -> None:
        """Partitions move, and the task makes a request while it flushes or closes them."""
        self.next_flush(flush, acts[0])
        self.next_close(close, acts[1])
        self.world.rebalance(share, cooperative=cooperative)
        self.step(2)

    @rule(polls=st.sampled_from([None, 0, 1, 3]), silent=st.integers(0, 2))
    def stand_still(self, polls: int | None, silent: int) -> None:
        """The process is suspended, and another run may get its partitions; the group does not always report it."""
        self.world.silent_group = silent
        self._do(("stand still", polls))
        self.step(2)

    @rule(seconds=st.sampled_from([1, 10, 130]))
    def wait(self, seconds: int) -> None:
        """Time passes, up to the timeout of a commit."""
        self.world.now += seconds

    # ----------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        try:
            self.world.run()
        except ConnectError:
            return  # a hang or death during the stop is reported to the host

    def _do(self, act: Act) -> None:
        """Run an event, during a call of the task or outside."""
        match act:
            case ("report", number, letter):
                self._report_one(number, letter)
            case ("request", asked):
                self.world.request(**asked)
            case ("command", command):
                self.world.event_queue.put(command)
            case ("rebalance", share, lost):
                self.world.rebalance(share, lost)
            case ("stand still", polls):
                self.world.stand_still(STANDS_STILL, polls)

    def _report_one(self, number: int, letter: str) -> None:
        """Have the task report one of its last records."""
        kept = self.world.stage.kept
        if kept:
            self._report(kept[-1 - number % len(kept)], letter)

    def _report(self, place: Place, letter: str) -> None:
        self.world.report(place)
        if letter == "confirmed":
            self.world.confirm_letters()
        elif letter == "refused":
            self.world.refuse_letter(-1)


TestSinkMachine = pytest.mark.timeout(900)(SinkMachine.TestCase)
TestSinkMachine.settings = machine_settings(steps=30)
