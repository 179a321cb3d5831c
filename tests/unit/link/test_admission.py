"""Under which name a task asks to be let in, and what it is told for that."""

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
    """Names that read the same when they are put together with a number are kept apart."""
    assert task_id(*one) == task_id(*one)
    assert task_id(*one) != task_id(*other)


def test_id_of_a_task_is_short_and_fits_into_a_greeting() -> None:
    """A stranger may send no more than a greeting takes, whatever its connector is called."""
    assert {len(task_id(name, 0)) for name in ("", "c", "ü" * 20_000, '"]\n\0')} == {64}


def test_connector_with_a_long_name_is_admitted(host: Host, guests: list[Guest]) -> None:
    """However long a name is, what introduces the task is short."""
    name = "ü" * 20_000
    guests[0].join(host.expect(name, 0, 1), name).link.status("RUNNING")
    assert host.next_event().connector == name


def test_address_reaches_a_task_as_it_was() -> None:
    """It travels to an executor in a pickle."""
    address = LinkAddress("host.example", 4711, "token", "certificate")
    assert pickle.loads(pickle.dumps(address)) == address
