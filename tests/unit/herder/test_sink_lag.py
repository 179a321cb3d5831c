"""The lag of sinks: what is asked, when, and for how long a record waits."""

from __future__ import annotations

import math
import threading

from hearth.herder.sink_lag import REFRESH_SECONDS, Access, Place, SinkLag
from hearth_api import RetriableError
from tests.timeouts import TIMEOUT
from tests.unit.metric.test_task_metric import Clock

HERE, THERE = ("t", 0), ("u", 3)
ACCESS: Access = (("bootstrap.servers", "a:1"),)


class Brokers:
    """Brokers with ends of partitions that a test moves."""

    def __init__(self) -> None:
        self.ends = {HERE: 10, THERE: 5}
        self.asked: list[list[Place]] = []
        self.connections: list[Access] = []
        self.are_away = False
        self.gate: threading.Event | None = None

    def connect(self, access: Access) -> Brokers:
        """Note a connection."""
        self.connections.append(access)
        return self

    def end_offsets(self, places: list[Place], timeout: float) -> dict[Place, int]:
        """Return the ends."""
        self.asked.append(places)
        if self.gate is not None:
            assert self.gate.wait(TIMEOUT)
        if self.are_away:
            raise RetriableError("away")
        return {place: self.ends[place] for place in places}


class World:
    """A sink's lag, its brokers and a clock."""

    def __init__(self) -> None:
        self.clock, self.brokers = Clock(), Brokers()
        self.lag = SinkLag(self.brokers.connect, self.clock)

    def look(self, seconds: float = 0.0) -> None:
        """Let time pass, look, and wait for the answer."""
        self.clock.now += seconds
        if (asking := self.lag.look({ACCESS: {HERE, THERE}})) is not None:
            asking.join(TIMEOUT)

    def of(self, **committed: int) -> list[tuple[int | None, float, float]]:
        """Return end, records and seconds of the partition whose offset is given."""
        return [(each.end, each.records, each.seconds) for each in self.lag.of(ACCESS, {HERE: committed["t"]})]


def test_lag_is_the_distance_from_the_commit_to_the_end() -> None:
    """One request for all partitions, with one client."""
    world = World()
    world.look()
    assert world.of(t=4) == [(10, 6, 0)]
    assert world.of(t=10) == [(10, 0, 0)]
    world.look(REFRESH_SECONDS)
    assert (world.brokers.asked, len(world.brokers.connections)) == ([[HERE, THERE]] * 2, 1)


def test_the_age_is_that_of_the_oldest_record_that_was_not_committed() -> None:
    """Also while the topic grows, and it falls as soon as a commit passes that record."""
    world = World()
    world.look()
    for end in (20, 30, 40):
        world.brokers.ends[HERE] = end
        world.look(60.0)
    assert world.of(t=10) == [(40, 30, 120.0)]
    assert world.of(t=20) == [(40, 20, 60.0)]
    assert world.of(t=40) == [(40, 0, 0)]


def test_nothing_is_asked_again_within_half_a_minute() -> None:
    """However many look; and nothing where there are no sinks."""
    world = World()
    world.look()
    world.look(REFRESH_SECONDS - 1)
    assert len(world.brokers.asked) == 1
    world.clock.now += 60
    assert world.lag.look({}) is None


def test_a_look_never_waits_for_brokers() -> None:
    """What is not known is NaN, and a request that hangs is not repeated."""
    world = World()
    world.brokers.gate = threading.Event()
    asking = world.lag.look({ACCESS: {HERE}})
    world.clock.now += 2 * REFRESH_SECONDS
    assert world.lag.look({ACCESS: {HERE}}) is None
    ((end, records, seconds),) = world.of(t=4)
    assert end is None
    assert math.isnan(records)
    assert math.isnan(seconds)
    world.brokers.gate.set()
    assert asking is not None
    asking.join(TIMEOUT)
    assert world.of(t=4) == [(10, 6, 0)]


def test_brokers_that_are_away_leave_what_is_known() -> None:
    """The age goes on."""
    world = World()
    world.look()
    world.brokers.are_away = True
    world.look(60.0)
    assert world.of(t=4) == [(10, 6, 60.0)]


def test_a_commit_beyond_the_known_end_is_no_lag() -> None:
    """The end was asked for before."""
    world = World()
    world.look()
    assert world.of(t=25) == [(25, 0, 0)]
