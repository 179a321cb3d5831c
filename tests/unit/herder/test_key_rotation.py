"""The leading host, and no other, rotates the session key."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hearth.herder.key_rotation import RETRY_SECONDS, KeyRotation
from hearth.storage import NotLeading
from hearth_api import RetriableError
from tests.profile import machine_settings


class Clock:
    """Timers that a test fires, and brokers that may fail."""

    def __init__(self) -> None:
        self.alarms: list[RestartTimer] = []
        self.written = 0
        self.error: Exception | None = None

    def later(self, seconds: float, act: Callable[[], None]) -> RestartTimer:
        """Set a timer."""
        self.alarms.append(RestartTimer(self, seconds, act))
        return self.alarms[-1]

    def write(self) -> None:
        """Write a key, or raise the current error."""
        if self.error is not None:
            raise self.error
        self.written += 1


class RestartTimer:
    """A timer."""

    def __init__(self, clock: Clock, seconds: float, act: Callable[[], None]) -> None:
        self.clock, self.seconds, self.act = clock, seconds, act

    def cancel(self) -> None:
        """Cancel it."""
        if self in self.clock.alarms:
            self.clock.alarms.remove(self)

    def ring(self) -> None:
        """Fire it."""
        self.cancel()
        self.act()


def test_the_key_is_rotated_at_a_fixed_interval() -> None:
    """The interval starts with the key written at the start of the term."""
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


def test_a_failed_rotation_is_retried() -> None:
    """Soon, but no sooner than the interval."""
    clock = Clock()
    rotation = KeyRotation(60, clock.write, clock.later)
    rotation.begin()
    clock.error = RetriableError("no broker")
    clock.alarms[0].ring()
    assert [alarm.seconds for alarm in clock.alarms] == [RETRY_SECONDS]
    clock.error = None
    clock.alarms[0].ring()
    assert ([alarm.seconds for alarm in clock.alarms], clock.written) == ([60], 1)


def test_zero_disables_rotation() -> None:
    """As in Kafka Connect."""
    clock = Clock()
    KeyRotation(0, clock.write, clock.later).begin()
    assert clock.alarms == []


class RotationMachine(RuleBasedStateMachine):
    """Terms start and end, brokers fail and recover, and timers fire, even ones cancelled too late."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.rotation = KeyRotation(60, self.clock.write, self.clock.later)
        self.leads = False
        self.late: list[RestartTimer] = []

    @rule(leads=st.booleans())
    def change(self, leads: bool) -> None:
        """This host starts a term, starts another, or stops leading."""
        self.late += self.clock.alarms
        self.leads = leads
        self.rotation.begin() if leads else self.rotation.end()

    @rule(error=st.sampled_from([None, RetriableError("no broker"), NotLeading("another leads")]))
    def brokers(self, error: Exception | None) -> None:
        """Set or clear an error."""
        self.clock.error = error

    @precondition(lambda self: self.clock.alarms)
    @rule()
    def ring(self) -> None:
        """Fire a timer."""
        before = self.clock.written
        self.clock.alarms[0].ring()
        assert self.clock.written == before + (self.clock.error is None)

    @precondition(lambda self: self.late)
    @rule()
    def ring_late(self) -> None:
        """Fire a timer that was just being cancelled."""
        before = self.clock.written
        self.late.pop().act()
        assert self.clock.written == before, "a term that is over writes no key"

    @invariant()
    def one_alarm_while_it_leads(self) -> None:
        """Exactly one timer is set while the host leads, otherwise none."""
        assert len(self.clock.alarms) == self.leads


TestRotation = RotationMachine.TestCase
TestRotation.settings = machine_settings(steps=20)
