"""When a host that does not lead starts a standby Spark application."""

from __future__ import annotations

import pytest

from hearth.cli.standby import PAUSE_SECONDS, WARM_SECONDS, Standby, wait_until_warm


class Host:
    """A host in a cluster with a leader, and the standbys that it started."""

    def __init__(self) -> None:
        self.leads, self.present, self.is_ready = False, 7, True
        self.begun: list[int] = []
        self.standby = Standby(lambda: self.leads, lambda: self.present, self._begin)

    def _begin(self, present: int) -> bool:
        if self.is_ready:
            self.begun.append(present)
        return self.is_ready

    def look(self, times: int) -> list[int]:
        """Look the given number of times; return all starts so far."""
        for _ in range(times):
            self.standby.look()
        return self.begun


def test_standby_starts_once_per_leader() -> None:
    """At once for the first leader, and a moment after a new one leads."""
    host = Host()
    assert host.look(3) == [7]
    host.present = 9
    assert host.look(1) == [7]
    assert host.look(3) == [7, 9]


def test_frequent_leader_changes_start_no_standby() -> None:
    """No standby starts for a leader that is soon replaced."""
    host = Host()
    for host.present in range(5):
        host.look(1)
    assert host.begun == []


def test_failed_start_is_retried() -> None:
    """The start fails while the JVM is still starting, for example."""
    host = Host()
    host.is_ready = False
    assert host.look(3) == []
    host.is_ready = True
    assert host.look(1) == [7]


def test_standby_starts_after_a_host_stops_leading() -> None:
    """Also for the leader that it followed before."""
    host = Host()
    host.look(2)
    host.leads = True
    host.look(2)
    host.leads = False
    assert host.look(2) == [7, 7]


@pytest.mark.parametrize(
    ("warm_after", "led_until", "seconds"), [(3, 99, 3), (99, 2, 2), (0, 99, 0), (99, 0, 0), (99, 99, WARM_SECONDS)]
)
def test_starting_host_waits_until_warm_while_another_leads(
    warm_after: float, led_until: float, seconds: float
) -> None:
    """It stops waiting when its Spark has started, when no other host leads, or after a limit."""
    waited: list[float] = []
    wait_until_warm(lambda: sum(waited) >= warm_after, lambda: sum(waited) < led_until, waited.append)
    assert (sum(waited), set(waited) <= {PAUSE_SECONDS}) == (seconds, True)
