"""The dirty data is equal in every run, fails with the stated share, and is readable where it arrives."""

from __future__ import annotations

import json

import pytest

from tests.bench import dirty_data
from tests.bench.dirty import CASES, ROWS, Row

_COUNT = 2_000


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_messages_are_equal_in_every_run(row: Row) -> None:
    """Sides and pairs read equal data of the requested number, or fewer if the messages are large."""
    found = list(row.messages(_COUNT))
    assert len(found) == _COUNT or (row.group == "sizes" and 20 <= len(found) < _COUNT)
    assert found == list(row.messages(_COUNT))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_last_message_arrives(row: Row) -> None:
    """A run ends with a record that is observed, even if all others fail."""
    *_, last = row.messages(_COUNT)
    assert last.arrives


def test_optional_members_exist_with_their_probability() -> None:
    """Each of eight members exists in about four of five records."""
    values = [json.loads(message.value or b"") for message in dirty_data.members(0.8)(_COUNT)]
    assert sum(map(len, values)) / 8 / _COUNT == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("messages", [dirty_data.broken(0.1), dirty_data.numbers(0.1), dirty_data.lines(0.1)])
def test_share_of_failures_is_as_requested(messages: dirty_data.Messages) -> None:
    """About one of ten fails."""
    assert sum(not message.arrives for message in messages(_COUNT)) / _COUNT == pytest.approx(0.1, abs=0.02)


def test_failing_messages_are_not_json() -> None:
    """Those that arrive are objects, the others raise."""
    for message in dirty_data.broken(0.5)(_COUNT):
        if message.arrives:
            assert json.loads(message.value or b"")["id"] >= 0
        else:
            with pytest.raises(ValueError, match="line 1"):
                json.loads(message.value or b"")


def test_schemas_alternate() -> None:
    """Ten alternating schemas differ by one member each."""
    messages = [json.loads(message.value or b"") for message in dirty_data.enveloped(10)(20)]
    assert [len(each["schema"]["fields"]) for each in messages] == [*range(5, 15)] * 2


def test_row_names_are_unique() -> None:
    """A row and a group are cases, and no name means two things."""
    assert len(CASES) == 1 + len({row.name for row in ROWS}) + len({row.group for row in ROWS})
