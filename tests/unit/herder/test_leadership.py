"""The terms of a host: the choice of its group, the rights from the brokers, and the order of events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from hearth.herder.leadership import Leadership
from hearth_api import RetriableError
from tests.timeouts import TIMEOUT, eventually


class Cluster:
    """An exclusive right to write, and a record of this host's actions."""

    def __init__(self) -> None:
        self.deeds: list[str] = []
        self.term = 0
        self.is_away = False
        self.ending = threading.Event()
        self.ending.set()

    def claim(self) -> int:
        """Grant the right, unless the brokers are unavailable."""
        if self.is_away:
            self.deeds.append("refused")
            raise RetriableError("no broker")
        self.term += 1
        self.deeds.append("claim")
        return self.term

    def relinquish(self) -> None:
        """Give up the right."""
        self.deeds.append("relinquish")

    def follow(self) -> None:
        """Stop what runs, which may take a while."""
        self.deeds.append("follow")
        self.ending.wait(TIMEOUT)


@pytest.fixture
def cluster() -> Cluster:
    """Return a cluster."""
    return Cluster()


@pytest.fixture
def leadership(cluster: Cluster) -> Iterator[Leadership]:
    """Return a host's leadership that is not chosen yet."""
    made = Leadership(cluster, lambda term: cluster.deeds.append(f"lead {term}"), cluster.follow, pause=0.01)
    made.start()
    yield made
    made.leave()


def came(deeds: Callable[[], list[str]], wanted: list[str]) -> bool:
    """Return whether exactly these actions were taken."""
    eventually(lambda: len(deeds()) >= len(wanted), TIMEOUT)
    return deeds() == wanted


def test_a_host_claims_before_it_leads_and_drains_before_it_gives_up(cluster: Cluster, leadership: Leadership) -> None:
    """Tasks that end in order write their last offsets while their host has the right."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    assert leadership.leads
    leadership.leave()
    assert cluster.deeds == ["claim", "lead 1", "follow", "relinquish"]
    assert not leadership.leads


@pytest.mark.parametrize("loss", ["group", "fenced"])
def test_a_host_that_lost_its_place_gives_up_the_right_first(
    cluster: Cluster, leadership: Leadership, loss: str
) -> None:
    """Another host may lead already, so late reports of tasks do not matter."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    if loss == "group":
        leadership.on_group(False)
    else:
        leadership.on_fenced()
        leadership.on_group(False)
    assert came(lambda: cluster.deeds, ["claim", "lead 1", "relinquish", "follow", "relinquish"])


def test_a_fenced_host_that_is_still_chosen_starts_a_new_term(cluster: Cluster, leadership: Leadership) -> None:
    """Two hosts may have led briefly; the one that holds the partition leads in the end, with a greater term."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    leadership.on_fenced()
    assert came(lambda: cluster.deeds, ["claim", "lead 1", "relinquish", "follow", "relinquish", "claim", "lead 2"])


def test_a_claim_is_retried_until_the_brokers_respond(cluster: Cluster, leadership: Leadership) -> None:
    """Unless another host is chosen meanwhile."""
    cluster.is_away = True
    leadership.on_group(True)
    assert eventually(lambda: cluster.deeds.count("refused") >= 3, TIMEOUT)
    cluster.is_away = False
    assert eventually(lambda: "lead 1" in cluster.deeds, TIMEOUT)


def test_a_host_chosen_again_while_ending_its_term_starts_another(cluster: Cluster, leadership: Leadership) -> None:
    """Everything has ended before that: two runs of one task would break the order (invariant 4)."""
    leadership.on_group(True)
    assert came(lambda: cluster.deeds, ["claim", "lead 1"])
    cluster.ending.clear()
    leadership.on_group(False)
    assert came(lambda: cluster.deeds[2:], ["relinquish", "follow"])
    leadership.on_group(True)
    cluster.ending.set()
    assert came(lambda: cluster.deeds[2:], ["relinquish", "follow", "relinquish", "claim", "lead 2"])
