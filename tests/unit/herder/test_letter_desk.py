"""Requests for a replay of dead letters."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.herder.letter_desk import ReplayRequest, parse_replay
from hearth.kafka.letter_context import LetterContext, StoredLetter
from hearth.kafka.topic_range import RawRecord
from hearth_api import ConfigError


def stored(offset: int) -> StoredLetter:
    """Return a letter of partition 0."""
    context = LetterContext("t", 0, offset, stage="TASK_PUT", exception="E", message="bad\nmore")
    return StoredLetter(RawRecord("dead", 0, offset, None, None, None), context)


def test_a_request_names_letters_by_text_or_place() -> None:
    """Without either it means all."""
    assert parse_replay(None) == ReplayRequest()
    assert parse_replay({"text": "PUT E: bad"}).takes(stored(1))
    assert not parse_replay({"text": "more"}).takes(stored(1))
    placed = parse_replay({"letters": [[0, 2]], "max": 5, "to": "x", "dry_run": True})
    assert (placed.takes(stored(2)), placed.takes(stored(1))) == (True, False)
    assert (placed.most, placed.to, placed.is_dry) == (5, "x", True)


@pytest.mark.parametrize("given", [{"max": 0}, {"max": True}, {"letters": [[1]]}, {"to": 1}, {"unknown": 1}])
def test_wrong_members_are_named(given: dict[str, Any]) -> None:
    """With their value."""
    with pytest.raises(ConfigError, match=r"max|letters|to|unknown"):
        parse_replay(given)
