"""Rules for following a file: nothing is lost or read twice when it is cut short or replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth_file.line import take_lines
from hearth_file.stream import FollowedFile, StandardInput
from hearth_file.window import Window


def lines(window: Window) -> list[tuple[bytes, int | None]]:
    """Take all complete lines, and move on to the successors of the file."""
    return [line for _ in range(4) for line in take_lines(window, 100)]


def append(path: Path, data: bytes) -> None:
    """Write at the end of a file as a logger does."""
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with one line and the beginning of a second one."""
    path = tmp_path / "app.log"
    path.write_bytes(b"one\ntw")
    return path


def test_an_appended_file_is_followed(path: Path) -> None:
    """A line is taken once, when its end is written."""
    window = Window(FollowedFile(str(path)))
    assert lines(window) == [(b"one", 4)]
    append(path, b"o\nthree\n")
    assert lines(window) == [(b"two", 8), (b"three", 14)]
    assert lines(window) == []
    window.close()


def test_a_replaced_file_is_read_to_its_end_first(path: Path) -> None:
    """The rest of the old file comes first, and its end also ends its last line."""
    window = Window(FollowedFile(str(path)))
    assert lines(window) == [(b"one", 4)]
    old = path.rename(path.with_suffix(".1"))
    append(old, b"o\nend")
    assert lines(window) == [(b"two", 8)]
    path.write_bytes(b"new\n")
    assert lines(window) == [(b"end", 12), (b"new", 4)]
    append(path, b"newer\n")
    assert lines(window) == [(b"newer", 10)]
    window.close()


def test_a_removed_file_is_kept_until_there_is_another(path: Path) -> None:
    """An empty path, as in the middle of a rotation, ends nothing."""
    window = Window(FollowedFile(str(path)))
    path.unlink()
    assert lines(window) == [(b"one", 4)]
    path.write_bytes(b"new\n")
    assert lines(window) == [(b"tw", 7), (b"new", 4)]
    window.close()


def test_a_file_that_was_cut_short_is_read_from_its_start(path: Path) -> None:
    """The end of the old content ends its last line; positions count from 0 again."""
    window = Window(FollowedFile(str(path)))
    assert lines(window) == [(b"one", 4)]
    path.write_bytes(b"1\n")
    assert lines(window) == [(b"tw", 7), (b"1", 2)]
    append(path, b"2\n")
    assert lines(window) == [(b"2", 4)]
    window.close()


def test_a_complete_last_line_is_not_ended_twice(path: Path) -> None:
    """The change of files makes no empty line."""
    append(path, b"o\n")
    window = Window(FollowedFile(str(path)))
    assert lines(window) == [(b"one", 4), (b"two", 8)]
    path.write_bytes(b"")
    assert lines(window) == []
    append(path, b"1\n")
    assert lines(window) == [(b"1", 2)]
    window.close()


def test_a_waiting_carriage_return_ends_with_its_file(path: Path) -> None:
    """A carriage return at the very end needs no next byte when none can come."""
    append(path, b"o\r")
    window = Window(FollowedFile(str(path)))
    assert lines(window) == [(b"one", 4)]
    path.write_bytes(b"1\n")
    assert lines(window) == [(b"two", 9), (b"1", 2)]
    window.close()


def test_reading_resumes_at_a_position(path: Path) -> None:
    """At that of an earlier run; a position beyond the end is ignored."""
    file = FollowedFile(str(path))
    assert file.resume(4)
    append(path, b"o\n")
    window = Window(file)
    assert lines(window) == [(b"two", 8)]
    window.close()
    shorter = FollowedFile(str(path))
    assert not shorter.resume(9)
    assert shorter.position == 0
    shorter.close()


def test_a_named_pipe_can_be_read(tmp_path: Path) -> None:
    """Opening waits for no writer, and a pipe without data is empty, not over."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    window = Window(FollowedFile(str(pipe)))
    assert lines(window) == []
    writer = os.open(pipe, os.O_WRONLY)
    assert lines(window) == []
    os.write(writer, b"x\ny")
    assert lines(window) == [(b"x", 2)]
    os.close(writer)
    window.close()


def test_the_standard_input_has_no_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a pipe come without positions; its end is just silence, and it is left open."""
    reading, writing = os.pipe()
    monkeypatch.setattr(StandardInput, "_DESCRIPTOR", reading)
    window = Window(StandardInput())
    assert lines(window) == []
    os.write(writing, b"a\nb\nc")
    assert lines(window) == [(b"a", None), (b"b", None)]
    os.close(writing)
    assert lines(window) == []
    window.close()
    os.close(reading)


def test_a_file_has_news_unless_all_of_it_was_read(path: Path, tmp_path: Path) -> None:
    """A longer, a shorter, a replaced or a removed file must be checked."""
    window = Window(FollowedFile(str(path)))

    def is_quiet_when_read() -> bool:
        lines(window)
        return not window.has_news()

    assert window.has_news()
    assert is_quiet_when_read()
    append(path, b"o\n")
    assert window.has_news()
    assert is_quiet_when_read()
    path.write_bytes(b"one\n")
    assert window.has_news()
    assert is_quiet_when_read()
    path.unlink()
    assert window.has_news()
    lines(window)
    assert window.has_news(), "the file may have gone elsewhere and grow there"
    path.write_bytes(b"")
    assert window.has_news()
    assert is_quiet_when_read()
    window.close()


def test_a_pipe_always_may_have_news(tmp_path: Path) -> None:
    """Its size says nothing."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    window = Window(FollowedFile(str(pipe)))
    lines(window)
    assert window.has_news()
    window.close()
