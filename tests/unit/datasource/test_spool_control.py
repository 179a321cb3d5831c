"""Messages between a read and its tasks on executors: partial files are ignored, and silence is measured."""

from __future__ import annotations

from pathlib import Path

from hearth.datasource.spool_control import RUNS, Control, SilenceTimer, TaskReport, message_bytes, read_message
from hearth.datasource.spool_directory import DirectoryStore


def test_message_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    """Whole, or not at all."""
    store = DirectoryStore(tmp_path)
    report = TaskReport(3, RUNS, "machine:7", "it broke", "Traceback")
    control = Control(9, is_over=False, is_full=True, tasks={"0": [2, 5]})
    assert read_message(store, "report", TaskReport) is None
    store.put("report", message_bytes(report))
    store.put("control", message_bytes(control))
    assert (read_message(store, "report", TaskReport), read_message(store, "control", Control)) == (report, control)
    store.put("report", message_bytes(report)[:-5])
    assert read_message(store, "report", TaskReport) is None


def test_repeated_beat_counts_as_silence() -> None:
    """The same again is no sign of life."""
    times = iter([0.0, 2.0, 5.0, 6.0, 7.0])
    pulse = SilenceTimer(lambda: next(times))
    assert [pulse.is_heard, pulse.hear(1), pulse.is_heard] == [False, True, True]
    assert pulse.hear(1) is False
    assert pulse.silent_seconds == 3.0
    assert pulse.hear(2) is True
    assert pulse.silent_seconds == 1.0
