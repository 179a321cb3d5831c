"""The id under which a task connects, and what it needs for that."""

from __future__ import annotations

import pickle

import pytest

from hearth.link.admission import LinkAddress, task_id
from tests.unit.link.link_world import Guest, Host


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("c", 0), ("c", 1)),
        (("c", 1), ("d", 1)),
        (("c1", 1), ("c", 11)),
        (("c-1", 1), ("c", -11)),
        (("c", 1), ("C", 1)),
    ],
)
def test_each_task_has_an_id_of_its_own(one: tuple[str, int], other: tuple[str, int]) -> None:
    """Names that are equal when joined with a number get distinct ids."""
    assert task_id(*one) == task_id(*one)
    assert task_id(*one) != task_id(*other)


def test_task_id_fits_into_a_hello() -> None:
    """An unknown peer may send no more than a hello, whatever its connector's name."""
    assert {len(task_id(name, 0)) for name in ("", "c", "ü" * 20_000, '"]\n\0')} == {64}


def test_connector_with_a_long_name_is_admitted(host: Host, guests: list[Guest]) -> None:
    """Its id is short, however long the name."""
    name = "ü" * 20_000
    guests[0].join(host.expect(name, 0, 1), name).link.status("RUNNING")
    assert host.next_event().connector == name


def test_address_survives_pickling() -> None:
    """It is sent to an executor in a pickle."""
    address = LinkAddress("host.example", 4711, "token", "certificate")
    assert pickle.loads(pickle.dumps(address)) == address
