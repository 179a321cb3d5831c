"""Terms of a host: what the group wants, what the brokers allow, and in which order things end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from hearth.herder.leadership import Leadership
from hearth_api import RetriableError
from tests.timeouts import TIMEOUT, eventually


class Cluster:
    """A right to write that hosts take from each other, and what this host does with it, in order."""

    def __init__(self) -> None:
        self.deeds: list[str] = []
        self.term = 0
        self.is_away = False
        self.ending = threading.Event()
        self.ending.set()

    def claim(self) -> int:
        """Give the right, unless the brokers are away."""
        if self.is_away:
            self.deeds.append("refused")
            raise RetriableError("no broker")
        self.term += 1
        self.deeds.append("claim")
        return self.term

    def relinquish(self) -> None:
        """Take it back."""
        self.deeds.append("relinquish")

    def follow(self) -> None:
        """End what runs, which may take a while."""
        self.deeds.append("follow")
        self.ending.wait(TIMEOUT)


@pytest.fixture
def cluster() -> Cluster:
    """Make a cluster."""
    return Cluster()


@pytest.fixture
def leadership(cluster: Cluster) -> Iterator[Leadership]:
    """Make a host of it that waits for its turn."""
    made = Leadership(cluster, lambda term: cluster.deeds.append(f"lead {term}"), cluster.follow, pause=0.01)
    made.start()
    yield made
    made.leave()


def came(deeds: Callable[[], list[str]], wanted: list[str]) -> bool:
    """Return whether these deeds were done, and no others."""
    eventually(lambda: len(deeds()) >= len(wanted), TIMEOUT)
    return deeds() == wanted


def test_a_host_claims_before_it_leads_and_drains_before_it_gives_up(cluster: Cluster, leadership: Leadership) -> None:
    """Tasks that end in order write their last offsets with the right of their host."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    assert leadership.leads
    leadership.leave()
    assert cluster.deeds == ["claim", "lead 1", "follow", "relinquish"]
    assert not leadership.leads


@pytest.mark.parametrize("loss", ["group", "fenced"])
def test_who_has_lost_its_place_gives_up_the_right_first(cluster: Cluster, leadership: Leadership, loss: str) -> None:
    """Another may lead already: what tasks still say is of no account."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    if loss == "group":
        leadership.on_group(False)
    else:
        leadership.on_fenced()
        leadership.on_group(False)
    assert came(lambda: cluster.deeds, ["claim", "lead 1", "relinquish", "follow", "relinquish"])


def test_a_fenced_host_that_its_group_still_wants_leads_anew(cluster: Cluster, leadership: Leadership) -> None:
    """Two hosts may have led for a moment; who holds the partition is right in the end, with a greater term."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    leadership.on_fenced()
    assert came(lambda: cluster.deeds, ["claim", "lead 1", "relinquish", "follow", "relinquish", "claim", "lead 2"])


def test_a_claim_is_tried_until_the_brokers_are_there(cluster: Cluster, leadership: Leadership) -> None:
    """And not any more when somebody else has the turn."""
    cluster.is_away = True
    leadership.on_group(True)
    assert eventually(lambda: cluster.deeds.count("refused") >= 3, TIMEOUT)
    cluster.is_away = False
    assert eventually(lambda: "lead 1" in cluster.deeds, TIMEOUT)


def test_a_turn_that_comes_back_while_the_host_ends_its_term_begins_another(
    cluster: Cluster, leadership: Leadership
) -> None:
    """What ran has ended before that, for two runs of one task would be out of order (invariant 4)."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    cluster.ending.clear()
    leadership.on_group(False)
    assert came(lambda: cluster.deeds[2:], ["relinquish", "follow"])
    leadership.on_group(True)
    cluster.ending.set()
    assert came(lambda: cluster.deeds[2:], ["relinquish", "follow", "relinquish", "claim", "lead 2"])
