"""A loop that did not look at the clock for a while has to ask, and knows it until it has."""

from __future__ import annotations

from hearth.runtime.standstill import MOST_SECONDS, Standstill


def test_who_did_not_look_for_a_while_has_to_ask() -> None:
    """However often it looks from then on; and not again once it has asked."""
    now = [0.0]
    standstill = Standstill(lambda: now[0])
    for _ in range(3):
        now[0] += MOST_SECONDS
        assert not standstill.look()
    now[0] += MOST_SECONDS + 0.1
    assert [standstill.look(), standstill.look(), standstill.is_open] == [True] * 3
    standstill.end()
    assert not standstill.look()
