"""A round trip counts only its own lines, and distinguishes loss, repetition and disorder."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.cli import round_trip
from hearth.cli.line_origin import LineFile
from hearth.cli.round_trip import RoundTrip
from hearth.cli.written_lines import LinesInFile
from hearth_api import ConnectError


@pytest.fixture
def trip(tmp_path: Path) -> RoundTrip:
    """Send three lines after two older ones, of which the sink has written one."""
    (tmp_path / "test.txt").write_text("old 1\nold 2\n")
    (tmp_path / "sink.txt").write_text("old 1\n")
    found = RoundTrip(LineFile(tmp_path / "test.txt"), LinesInFile(tmp_path / "sink.txt"))
    found.send(3)
    return found


def deliver(trip: RoundTrip, *numbers: int) -> None:
    """Write lines as a sink does."""
    with trip.sink.open("a") as file:
        file.writelines(f"Hello from Hearth, line {number}\n" for number in numbers)


def test_numbers_continue_after_the_lines_of_the_file(trip: RoundTrip) -> None:
    """Every line that was ever sent is another one."""
    assert trip.source.path.read_text().splitlines()[-1] == "Hello from Hearth, line 5"


def test_complete_trip_is_verified_despite_earlier_lines(trip: RoundTrip) -> None:
    """A late line of an earlier run does not count."""
    trip.sink.write_text(trip.sink.read_text() + "old 2\n")
    deliver(trip, 3, 4, 5)
    assert list(trip.wait()) == []
    trip.verify()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [((3, 5), "1 lost"), ((3, 4, 5, 5), "1 more than once"), ((3, 5, 4), "not in order")],
)
def test_error_counts_lost_and_repeated_lines(trip: RoundTrip, numbers: tuple[int, ...], words: str) -> None:
    """The error counts, and names both files to compare."""
    deliver(trip, *numbers)
    with pytest.raises(ConnectError, match=words) as caught:
        trip.verify()
    assert str(trip.sink) in str(caught.value)


def test_line_counts_once_it_is_complete(trip: RoundTrip) -> None:
    """A sink may be in the middle of writing."""
    trip.newly_arrived()
    deliver(trip, 3)
    with trip.sink.open("a") as file:
        file.write("Hello from Hear")
    assert trip.newly_arrived() == ["Hello from Hearth, line 3"]
    with trip.sink.open("a") as file:
        file.write("th, line 4\n")
    assert trip.newly_arrived() == ["Hello from Hearth, line 4"]


def test_wait_ends_with_an_error_that_counts(trip: RoundTrip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that never arrive do not keep anyone waiting for ever."""
    monkeypatch.setattr(round_trip, "_TIMEOUT", 0.0)
    deliver(trip, 3)
    with pytest.raises(ConnectError, match="2 of 3 lines did not arrive"):
        list(trip.wait())
