"""Rules of the file source's task: what a poll returns, where it resumes, when it waits."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth_api import STRING_SCHEMA, ConnectError, SourceRecord
from hearth_api.batch import batch_to_source_records
from hearth_api.testing import MemorySourceTaskContext
from hearth_file import source_task
from hearth_file.source_task import FileStreamSourceTask
from hearth_file.stream import StandardInput

Poll = Callable[[FileStreamSourceTask], "list[SourceRecord] | None"]


def poll_records(task: FileStreamSourceTask) -> list[SourceRecord] | None:
    """Poll in the form of records."""
    return task.poll()


def poll_columns(task: FileStreamSourceTask) -> list[SourceRecord] | None:
    """Poll in the form of batches, seen as records."""
    batches = task.poll_batch()
    return None if batches is None else [record for batch in batches for record in batch_to_source_records(batch)]


FORMS = pytest.mark.parametrize("poll", [poll_records, poll_columns])


@pytest.fixture
def started() -> Iterator[Callable[..., FileStreamSourceTask]]:
    """Return a function that starts a task, which is stopped after the test."""
    tasks = []

    def start(file: Path, offset: dict[str, Any] | None = None, **props: str) -> FileStreamSourceTask:
        task = FileStreamSourceTask()
        offsets = [] if offset is None else [({"filename": str(file)}, offset)]
        task.initialize(MemorySourceTaskContext(offsets=offsets))
        task.start({"topic": "t", "file": "" if file == Path() else str(file), **props})
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.stop()


Started = Callable[..., FileStreamSourceTask]


def brief(records: list[SourceRecord] | None) -> list[tuple[Any, Any]] | None:
    """Return values and positions."""
    return None if records is None else [(each.value, (each.source_offset or {})["position"]) for each in records]


@FORMS
def test_a_line_becomes_a_record_as_in_kafka(poll: Poll, started: Started, tmp_path: Path) -> None:
    """Topic, STRING value, no key, no Kafka partition, the present time, and the position after the line."""
    file = tmp_path / "f"
    file.write_text("hello\n")
    before = int(time.time() * 1000)
    records = poll(started(file))
    assert records is not None
    timestamp = records[0].timestamp
    assert timestamp is not None
    assert before <= timestamp <= time.time() * 1000
    expected = SourceRecord(
        {"filename": str(file)}, {"position": 6}, "t",
        value_schema=STRING_SCHEMA, value="hello", timestamp=timestamp,
    )  # fmt: skip
    assert records == [expected]


@FORMS
def test_empty_poll_returns_none(poll: Poll, started: Started, tmp_path: Path) -> None:
    """So does a poll that finds only the beginning of a line."""
    file = tmp_path / "f"
    file.write_text("partial")
    task = started(file)
    assert poll(task) is None
    with file.open("a") as writer:
        writer.write(" line\n")
    assert brief(poll(task)) == [("partial line", 13)]
    assert poll(task) is None


@FORMS
def test_the_end_of_a_file_is_known(poll: Poll, started: Started, tmp_path: Path) -> None:
    """Once a poll has found nothing there, until something is appended or the file is another; never of a pipe."""
    file, other, pipe = tmp_path / "f", tmp_path / "g", tmp_path / "p"
    task = started(file)
    poll(task)
    assert not task.is_exhausted()  # it may come
    file.write_text("one\npart")
    poll(task)
    assert not task.is_exhausted()
    poll(task)
    assert task.is_exhausted()
    with file.open("a") as writer:
        writer.write("ial\n")
    assert not task.is_exhausted()
    poll(task), poll(task)
    assert task.is_exhausted()
    other.write_text("two\n")
    other.replace(file)
    assert not task.is_exhausted()
    os.mkfifo(pipe)
    piped = started(pipe)
    poll(piped)
    assert not piped.is_exhausted()


@FORMS
def test_reading_continues_at_the_stored_position(poll: Poll, started: Started, tmp_path: Path) -> None:
    """Lines before the committed offset are not read again."""
    file = tmp_path / "f"
    file.write_text("één\ntwee\n")
    assert brief(poll(started(file, {"position": 6}))) == [("twee", 11)]
    assert brief(poll(started(file, {"position": None}))) == [("één", 6), ("twee", 11)]


@FORMS
def test_a_stored_position_beyond_the_end_starts_over(poll: Poll, started: Started, tmp_path: Path) -> None:
    """The file is another one, so all of it is new."""
    file = tmp_path / "f"
    file.write_text("new\n")
    assert brief(poll(started(file, {"position": 100}))) == [("new", 4)]


@FORMS
@pytest.mark.parametrize("position", ["4", 4.0, True])
def test_a_stored_position_of_another_type_is_refused(
    poll: Poll, started: Started, tmp_path: Path, position: Any
) -> None:
    """The message is Kafka's."""
    file = tmp_path / "f"
    file.write_text("line\n")
    with pytest.raises(ConnectError, match=r"^Offset position is the incorrect type$"):
        poll(started(file, {"position": position}))


@FORMS
@pytest.mark.parametrize(("size", "expected"), [("2", 2), ("1", 1), ("0", 1), ("-5", 1)])
def test_a_poll_returns_at_most_batch_size_lines(
    poll: Poll, started: Started, tmp_path: Path, size: str, expected: int
) -> None:
    """As in Kafka sizes below 1 count as 1; unlike there the other lines follow with the next poll."""
    file = tmp_path / "f"
    file.write_text("a\nb\nc\n")
    task = started(file, **{"batch.size": size})
    polled = [poll(task) or [] for _ in range(4)]
    assert len(polled[0]) == expected
    assert [value for records in polled for value, _ in brief(records) or []] == ["a", "b", "c"]


def test_a_batch_may_be_larger_where_batch_size_is_not_set(started: Started, tmp_path: Path) -> None:
    """Records keep Kafka's 2000; columns take 10,000; a size that is set binds both."""
    file = tmp_path / "f"
    file.write_text("x\n" * 15_000)
    records = started(file).poll()
    batches = started(file).poll_batch()
    bound = started(file, **{"batch.size": "2000"}).poll_batch()
    assert records is not None
    assert batches is not None
    assert bound is not None
    assert (len(records), batches[0].num_rows, bound[0].num_rows) == (2000, 10_000, 2000)


@FORMS
def test_a_missing_file_is_waited_for(
    poll: Poll, started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No file is no error, and one line in the log says so."""
    file = tmp_path / "f"
    task = started(file)
    assert poll(task) is None
    assert poll(task) is None
    assert [record.getMessage() for record in caplog.records] == [
        f"file {str(file)!r} does not exist yet, waiting for it"
    ]
    file.write_text("here\n")
    assert brief(poll(task)) == [("here", 5)]


@FORMS
def test_stop_wakes_a_waiting_poll(
    poll: Poll, started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a wait would be, a stop ends it, and nothing is read afterwards."""
    monkeypatch.setattr(source_task, "LONGEST_PAUSE", 60)
    file = tmp_path / "f"
    task = started(file)
    task._last_line -= 10_000
    waiting = threading.Thread(target=poll, args=(task,))
    waiting.start()
    task.stop()
    waiting.join(timeout=30)
    assert not waiting.is_alive()
    file.write_text("late\n")
    assert poll(task) is None


@FORMS
def test_a_file_that_cannot_be_read_fails_the_task(poll: Poll, started: Started, tmp_path: Path) -> None:
    """The error names the file and the cause."""
    with pytest.raises(ConnectError, match=r"cannot read file '.*': Is a directory"):
        poll(started(tmp_path))


@FORMS
def test_the_standard_input_is_read_without_positions(
    poll: Poll, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka the partition names no file and the position is null; an empty file name means the same."""
    reading, writing = os.pipe()
    monkeypatch.setattr(StandardInput, "_DESCRIPTOR", reading)
    os.write(writing, b"typed\n")
    records = poll(started(Path()))
    assert records is not None
    assert records[0].source_partition == {"filename": None}
    assert brief(records) == [("typed", None)]
    os.close(writing)
    os.close(reading)


@FORMS
def test_a_rotated_file_is_followed(poll: Poll, started: Started, tmp_path: Path) -> None:
    """After the rest of the old file comes the new one, from position 0."""
    file = tmp_path / "f"
    file.write_text("old\n")
    task = started(file)
    assert brief(poll(task)) == [("old", 4)]
    file.rename(tmp_path / "f.1")
    file.write_text("new\n")
    polled = [poll(task) or [] for _ in range(4)]
    assert [each for records in polled for each in brief(records) or []] == [("new", 4)]


def test_an_initially_empty_file_is_checked_less_often(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred files that start together would keep a machine busy; the first line speeds the checks up."""
    file = tmp_path / "f"
    file.touch()
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    task = started(file)
    waits: list[float] = []
    monkeypatch.setattr(task, "_wait", waits.append)
    task.poll()
    file.write_text("here\n")
    assert brief(task.poll()) == [("here", 5)]
    task.poll()
    assert waits == pytest.approx([0.1, 0.001])


def test_an_idle_file_is_checked_less_and_less(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait grows with the idle time: from 1 ms to 20 ms, after twenty seconds until the next second."""
    file = tmp_path / "f"
    file.write_text("")
    task = started(file)
    waits: list[float] = []
    monkeypatch.setattr(task, "_wait", waits.append)
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    task._last_line = now
    for silence in (0, 0.16, 1, 12, 600, 600.001, 600.7):
        now = 1000.0 + silence
        task.poll()
    assert waits == pytest.approx([0.001, 0.01, 0.02, 0.55, 1.0, 0.999, 0.3])
