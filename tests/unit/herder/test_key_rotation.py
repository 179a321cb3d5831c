"""The key by which hosts sign is exchanged while one of them leads, and by nobody else."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hearth.herder.key_rotation import RETRY_SECONDS, KeyRotation
from hearth.storage import NotLeading
from hearth_api import RetriableError
from tests.profile import machine_settings


class Clock:
    """Alarms that ring when a test lets them, and the brokers."""

    def __init__(self) -> None:
        self.alarms: list[RestartTimer] = []
        self.written = 0
        self.error: Exception | None = None

    def later(self, seconds: float, act: Callable[[], None]) -> RestartTimer:
        """Set an alarm."""
        self.alarms.append(RestartTimer(self, seconds, act))
        return self.alarms[-1]

    def write(self) -> None:
        """Write a key, unless something is wrong."""
        if self.error is not None:
            raise self.error
        self.written += 1


class RestartTimer:
    """An alarm."""

    def __init__(self, clock: Clock, seconds: float, act: Callable[[], None]) -> None:
        self.clock, self.seconds, self.act = clock, seconds, act

    def cancel(self) -> None:
        """Call it off."""
        if self in self.clock.alarms:
            self.clock.alarms.remove(self)

    def ring(self) -> None:
        """Ring."""
        self.cancel()
        self.act()


def test_a_key_is_exchanged_after_every_so_many_seconds_of_a_term() -> None:
    """Counted from the one with which the term began."""
    clock = Clock()
    rotation = KeyRotation(60, clock.write, clock.later)
    assert clock.alarms == []
    rotation.begin()
    for number in range(3):
        assert [alarm.seconds for alarm in clock.alarms] == [60]
        clock.alarms[0].ring()
        assert clock.written == number + 1
    rotation.end()
    assert clock.alarms == []


def test_brokers_that_are_away_are_asked_again() -> None:
    """Soon, but no sooner than a key would be exchanged."""
    clock = Clock()
    rotation = KeyRotation(60, clock.write, clock.later)
    rotation.begin()
    clock.error = RetriableError("no broker")
    clock.alarms[0].ring()
    assert [alarm.seconds for alarm in clock.alarms] == [RETRY_SECONDS]
    clock.error = None
    clock.alarms[0].ring()
    assert ([alarm.seconds for alarm in clock.alarms], clock.written) == ([60], 1)


def test_zero_is_never() -> None:
    """As in Kafka Connect."""
    clock = Clock()
    KeyRotation(0, clock.write, clock.later).begin()
    assert clock.alarms == []


class RotationMachine(RuleBasedStateMachine):
    """Terms begin and end, brokers come and go, alarms ring, those that were called off too late as well."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.rotation = KeyRotation(60, self.clock.write, self.clock.later)
        self.leads = False
        self.late: list[RestartTimer] = []

    @rule(leads=st.booleans())
    def change(self, leads: bool) -> None:
        """This host begins to lead, or anew, or leads no more."""
        self.late += self.clock.alarms
        self.leads = leads
        self.rotation.begin() if leads else self.rotation.end()

    @rule(error=st.sampled_from([None, RetriableError("no broker"), NotLeading("another leads")]))
    def brokers(self, error: Exception | None) -> None:
        """Something becomes wrong, or right."""
        self.clock.error = error

    @precondition(lambda self: self.clock.alarms)
    @rule()
    def ring(self) -> None:
        """An alarm rings."""
        before = self.clock.written
        self.clock.alarms[0].ring()
        assert self.clock.written == before + (self.clock.error is None)

    @precondition(lambda self: self.late)
    @rule()
    def ring_late(self) -> None:
        """One rings that was about to be called off."""
        before = self.clock.written
        self.late.pop().act()
        assert self.clock.written == before, "a term that is over writes no key"

    @invariant()
    def one_alarm_while_it_leads(self) -> None:
        """And none otherwise."""
        assert len(self.clock.alarms) == self.leads


TestRotation = RotationMachine.TestCase
TestRotation.settings = machine_settings(steps=20)
