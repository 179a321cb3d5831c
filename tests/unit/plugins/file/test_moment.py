"""Many timestamps are printed together as each by itself, in any time zone of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hearth_api import Timestamp
from hearth_api.java import java_text
from hearth_api.layout import join
from hearth_file import moment

HOUR = 3_600_000
# Summer time, a zone of a quarter, one that was 20 minutes ahead of another to the second, one that skipped a day.
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Europe/Amsterdam", "Pacific/Apia", "<+07>-7"]
AROUND = st.sampled_from([0, -2_208_988_800_000, -1_025_741_972_000, 1_325_239_200_000, 1_774_746_000_000])
MOMENTS = st.builds(int.__add__, AROUND, st.integers(-5 * HOUR, 5 * HOUR)) | st.integers(-(10**13), 10**14)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run in a time zone, which a process has from its start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        moment._quarter.cache_clear()
        yield
    time.tzset()
    moment._quarter.cache_clear()


@settings(deadline=None)
@given(millis=st.lists(MOMENTS, min_size=1, max_size=6))
@example(millis=[-1, 0, 999, 1000, 899_999, 900_000])
@pytest.mark.usefixtures("zone")
def test_moments_are_printed_as_single_ones_are(millis: list[int]) -> None:
    """Also for hours that occur twice or never, and for local times of towns."""
    texts = join(moment.moments(np.array(millis)), len(millis)).to_pylist()
    assert [each.decode() for each in texts] == [
        java_text(Timestamp.to_logical(Timestamp.SCHEMA, each)) for each in millis
    ]


@pytest.mark.usefixtures("zone")
def test_seconds_of_an_hour_are_not_printed_one_by_one() -> None:
    """Printing one costs more than the rest of a record."""
    moment.moments(np.arange(1_700_000_000_000, 1_700_003_600_000, 500))
    assert moment._quarter.cache_info().currsize == 5
