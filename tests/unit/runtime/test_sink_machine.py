"""The sink loop under everything that can happen to it, in any order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.link.link_call import Command, Pause, Resume, Stop
from hearth.runtime import tolerance
from hearth_api import ConnectError
from tests.profile import machine_settings
from tests.unit.runtime.sink_world import PARTITIONS, Place, Turn, World, look

ANSWERS = st.sampled_from(["accept", "accept", "refuse", "refuse", "fail", "die", "hang"])
FATES = st.sampled_from(["ok", "refused", "late", "unanswered"])
FLUSHES = st.sampled_from(["accept", "accept", "fail"])
CLOSES = st.sampled_from(["accept", "accept", "accept", "accept", "fail"])
LETTERS = st.sampled_from(["late", "confirmed", "refused"])
"""What becomes of a dead letter for the time being; a late one may be any of it later, or never."""
SHARES = st.sets(st.sampled_from(PARTITIONS))
COMMANDS = st.sampled_from(list[Command]([Pause(), Resume(), Stop()]))


@pytest.fixture(autouse=True)
def _reports_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wait for dead letters see what is there: the world's clock does not move by itself."""
    monkeypatch.setattr(tolerance, "wait", look)


class SinkMachine(RuleBasedStateMachine):
    """Random interleavings of everything the issue names; the world raises when a promise is broken."""

    world: World
    ends_here: bool
    """Whether the last run brings all to a good end, where it can, or another one that begins after a kill."""

    @initialize(tolerant=st.booleans(), fetch=st.integers(1, 6), moving=st.integers(0, 2), ends_here=st.booleans())
    def begin(self, tolerant: bool, fetch: int, moving: int, ends_here: bool) -> None:
        """Begin with some records."""
        self.ends_here = ends_here
        self.world = World(tolerant, fetch, is_plain=False, flush_interval=0.5)
        self.world.moving_coordinator = moving
        for partition in PARTITIONS:
            self.world.write(partition, 4)

    def teardown(self) -> None:
        """All is well again: nothing is lost."""
        if hasattr(self, "world"):
            in_place = self.ends_here and self.world.tolerant
            if in_place:
                self.world.calm()
                self.step(2)  # what failed or was told to stop before ends with it
            self.world.tolerant = True  # somebody mended the records' converter, so to say
            self.world.drain(in_place=in_place)

    @invariant()
    def no_promise_is_broken(self) -> None:
        """Neither now nor while a task ended."""
        assert not getattr(self, "world", None) or not self.world.breaches, self.world.breaches

    # What happens ---------------------------------------------------------------------------------------------

    @rule(partition=st.sampled_from(PARTITIONS), count=st.integers(1, 5))
    def write(self, partition: Any, count: int) -> None:
        """Records come."""
        self.world.write(partition, count)

    @rule(times=st.integers(1, 4))
    def step(self, times: int) -> None:
        """The loop goes round; when the task fails or ends, another run begins, as an operator would have it."""
        for _ in range(times):
            try:
                self.world.step()
            except ConnectError:
                self.world.start()
                return
            if self.world.loop._is_stopping:
                self._end()
                self.world.start()
                return

    @rule(share=SHARES, lost=st.booleans(), cooperative=st.booleans())
    def rebalance(self, share: set[Any], lost: bool, cooperative: bool) -> None:
        """Partitions move with the next poll."""
        self.world.rebalance(share, lost, cooperative)

    @rule(command=COMMANDS)
    def command(self, command: Command) -> None:
        """An operator acts."""
        self.world.inbox.put(command)

    @rule(answer=ANSWERS, data=st.data())
    def next_put(self, answer: str, data: st.DataObject) -> None:
        """The task is going to answer its next put so, and something happens while it is at it."""
        self.world.stage.turns.append(Turn(answer, self._meanwhile(data)))

    @rule(answer=st.sampled_from(["accept", "refuse", "fail", "hang"]), data=st.data())
    def next_flush(self, answer: str, data: st.DataObject) -> None:
        """The task is going to answer its next flush so."""
        self.world.stage.flushes.append(Turn(answer, self._meanwhile(data)))

    @rule(answer=st.sampled_from(["accept", "accept", "fail"]), data=st.data())
    def next_open(self, answer: str, data: st.DataObject) -> None:
        """The task is going to answer its next open so."""
        self.world.stage.opens.append(Turn(answer, self._meanwhile(data)))

    @rule(answer=CLOSES, data=st.data())
    def next_close(self, answer: str, data: st.DataObject) -> None:
        """The task is going to answer its next close so."""
        self.world.stage.closes.append(Turn(answer, self._meanwhile(data)))

    @rule(data=st.data())
    def next_poll(self, data: st.DataObject) -> None:
        """Something happens while the loop reads, on a thread of the task's own, so to say."""
        self.world.consumer.polls.append(self._meanwhile(data))

    @rule(answer=ANSWERS, times=st.integers(1, 2), data=st.data())
    def put(self, answer: str, times: int, data: st.DataObject) -> None:
        """The task is given records, and says something while it has them."""
        self.world.write(data.draw(st.sampled_from(PARTITIONS)), 2)
        self.next_put(answer, data)
        self.step(times)

    @rule(answer=FLUSHES, fate=FATES, data=st.data())
    def flush(self, answer: str, fate: str, data: st.DataObject) -> None:
        """The task asks for a commit, and says something while it flushes for it."""
        self.next_flush(answer, data)
        self.world.commit_fates.append(fate)
        self.world.request(commit=True)
        self.step(2)

    @rule(partition=st.sampled_from(PARTITIONS), offset=st.integers(0, 6))
    def open_elsewhere(self, partition: Any, offset: int) -> None:
        """Partitions come, and the task keeps offsets of its own."""
        ask = partial(self.world.request, rewind=[[*partition, offset]])
        self.world.stage.opens.append(Turn(meanwhile=ask))
        self.world.rebalance(PARTITIONS)
        self.step(1)

    @rule(agrees=st.sampled_from(["all", "less", "nothing", "more"]))
    def agree(self, agrees: str) -> None:
        """The task commits some of what it has."""
        self.world.agrees = agrees

    @rule(fate=FATES)
    def next_commit(self, fate: str) -> None:
        """The next commit ends so."""
        self.world.commit_fates.append(fate)

    @precondition(lambda self: self.world.consumer.in_the_air)
    @rule()
    def land(self) -> None:
        """A commit arrives that took its time."""
        self.world.consumer.land()

    @rule(data=st.data())
    def request(self, data: st.DataObject) -> None:
        """The task asks something of its context."""
        self._request(data)()

    @precondition(lambda self: self.world.stage.kept)
    @rule(data=st.data())
    def report(self, data: st.DataObject) -> None:
        """The task reports a record, now or long after its put."""
        self._report(data.draw(st.sampled_from(self.world.stage.kept)), data.draw(LETTERS))

    @precondition(lambda self: self.world.letters)
    @rule(count=st.integers(1, 5))
    def confirm(self, count: int) -> None:
        """Dead letters arrive."""
        self.world.confirm_letters(count)

    @precondition(lambda self: self.world.letters)
    @rule()
    def refuse(self) -> None:
        """A dead letter is refused for good."""
        self.world.refuse_letter()

    @rule(is_full=st.booleans())
    def fill(self, is_full: bool) -> None:
        """The dead letters' producer holds as much as it may, or no longer."""
        self.world.reporter.is_full = is_full

    @rule(moving=st.integers(1, 3))
    def move_coordinator(self, moving: int) -> None:
        """The group's coordinator goes elsewhere."""
        self.world.moving_coordinator = moving

    @rule(paused=st.booleans())
    def kill(self, paused: bool) -> None:
        """The process ends without a word, and another one begins."""
        self.world.start(paused)

    @rule(share=SHARES, cooperative=st.booleans(), flush=FLUSHES, close=CLOSES, data=st.data())
    def give_back(self, share: set[Any], cooperative: bool, flush: str, close: str, data: st.DataObject) -> None:
        """Partitions move, and the task says something while it flushes or closes them."""
        self.next_flush(flush, data)
        self.next_close(close, data)
        self.world.rebalance(share, cooperative=cooperative)
        self.step(2)

    @rule(seconds=st.sampled_from([1, 10, 130]))
    def wait(self, seconds: int) -> None:
        """Time passes, up to where the answer to a commit is waited for no longer."""
        self.world.now += seconds

    # ----------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        try:
            self.world.run()
        except ConnectError:
            return  # what hung or died on the way out is told to the host

    def _meanwhile(self, data: st.DataObject) -> Callable[[], None]:
        """Return what happens during a call of the task, or beside it."""
        kind = data.draw(st.sampled_from(["report", "report", "report", "request", "command", "rebalance"]))
        if kind == "command":
            command = data.draw(COMMANDS)
            return lambda: self.world.inbox.put(command)
        if kind == "request":
            return self._request(data)
        if kind == "report":
            number, letter = data.draw(st.integers(0, 5)), data.draw(LETTERS)
            return lambda: self._report_one(number, letter)
        if kind == "rebalance":
            share, lost = data.draw(SHARES), data.draw(st.booleans())
            return lambda: self.world.rebalance(share, lost)
        return lambda: None

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

    def _request(self, data: st.DataObject) -> Callable[[], None]:
        kind = data.draw(st.sampled_from(["timeout", "rewind", "pause", "resume", "commit"]))
        topic, number = data.draw(st.sampled_from(PARTITIONS))
        if kind == "timeout":
            milliseconds = data.draw(st.integers(1, 5000))
            return lambda: self.world.request(timeout=milliseconds)
        if kind == "rewind":
            offset = data.draw(st.integers(0, 6))
            return lambda: self.world.request(rewind=[[topic, number, offset]])
        if kind == "commit":
            return lambda: self.world.request(commit=True)
        return lambda: self.world.request(**{kind: [[topic, number]]})


TestSinkMachine = pytest.mark.timeout(900)(SinkMachine.TestCase)
TestSinkMachine.settings = machine_settings(steps=30)
