"""Days of Java's calendar, beside the calendar that counts them one by one."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.calendar import day_of
from hearth_jdbc.calendar_system import from_hybrid, micros_from_hybrid, micros_to_hybrid, to_hybrid

EPOCH = dt.date(1970, 1, 1).toordinal()
DAY = 86_400_000_000


@given(st.lists(st.none() | st.dates(max_value=dt.date(1582, 10, 4)) | st.dates(), min_size=1))
def test_a_date_keeps_its_digits(dates: list[dt.date | None]) -> None:
    """Except the ten days that Java's calendar leaves out; the way back is exact."""
    dates = [each for each in dates if each is None or not dt.date(1582, 10, 4) < each < dt.date(1582, 10, 15)]
    days = pa.array([None if each is None else each.toordinal() - EPOCH for each in dates], pa.int32())
    hybrid = to_hybrid(days)
    found = [None if day is None else tuple(day_of(day)) for day in hybrid.to_pylist()]
    assert found == [None if each is None else (each.year, each.month, each.day) for each in dates]
    is_leap = [each is not None and (each.month, each.day) == (2, 29) for each in dates]
    assert from_hybrid(hybrid).to_pylist() == days.to_pylist() or any(is_leap)


@given(st.dates(max_value=dt.date(1700, 1, 1)), st.integers(0, DAY - 1))
def test_a_timestamp_moves_by_whole_days(date: dt.date, rest: int) -> None:
    """Its time of day stays."""
    if not dt.date(1582, 10, 4) < date < dt.date(1582, 10, 15):
        day = date.toordinal() - EPOCH
        moved = micros_to_hybrid(pa.array([day * DAY + rest, None]))
        assert moved.to_pylist() == [to_hybrid(pa.array([day])).to_pylist()[0] * DAY + rest, None]
        assert micros_from_hybrid(moved).to_pylist() == [day * DAY + rest, None]
