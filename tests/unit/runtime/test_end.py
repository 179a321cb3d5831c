"""Ending a run from outside: a stop that has no effect, and a lost host."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.link.link_call import Pause, Replace, Stop
from hearth.runtime import end as module
from hearth.runtime.end import RunEnd
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.link import HostLost
from hearth_stage.call import Notice
from tests.timeouts import TIMEOUT


class Stage:
    """A stage that hangs in whatever it does."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.killed = threading.Event()

    def notify(self, notice: Notice) -> None:
        """Take note."""
        self.notices.append(notice.op)

    def kill(self) -> None:
        """End."""
        self.killed.set()


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the last resort come after a moment, and take note of it."""
    noted: list[int] = []
    monkeypatch.setattr(module, "LAST_RESORT_SECONDS", 0.1)
    monkeypatch.setattr("os._exit", noted.append)
    return noted


def running(stage: Any) -> RunEnd:
    """Return the end of a run with a stage; it may take no time to drain."""
    end = RunEnd("c-0", EventQueue())
    end.watch(stage)
    end.guard(0.0)
    return end


def await_guards() -> None:
    """Wait until no guard and no last resort of a run is left."""
    for thread in threading.enumerate():
        if thread.name in ("stop", "last-resort"):
            thread.join(TIMEOUT)
            assert not thread.is_alive()


def test_a_stage_that_hangs_during_a_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In any plugin call, also in its start, where commands are not checked."""
    monkeypatch.setattr(module, "HANGING_SECONDS", 0.05)
    stage = Stage()
    end = running(stage)
    end.on_command(Stop())
    assert end.begun.is_set()
    assert stage.killed.wait(TIMEOUT)
    assert stage.notices == ["stopping"]


def test_a_stop_before_guard_is_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host sends its last command with the welcome."""
    monkeypatch.setattr(module, "HANGING_SECONDS", 0.05)
    end, stage = RunEnd("c-0", EventQueue()), Stage()
    end.on_command(Replace())
    end.watch(stage)  # type: ignore[arg-type]
    end.guard(0.0)
    assert stage.killed.wait(TIMEOUT)


def test_a_run_that_has_ended_kills_nothing() -> None:
    """A run that ends in time is left alone, and a second command has no effect."""
    stage = Stage()
    end = running(stage)
    end.on_command(Stop())
    end.on_command(Stop())
    end.complete()
    await_guards()
    assert not stage.killed.is_set()


def test_a_completed_run_leaves_no_guard_thread() -> None:
    """Its process may run another task."""
    stage = Stage()
    running(stage).complete()
    await_guards()
    assert not stage.killed.is_set()
    assert stage.notices == []


def test_pause_does_not_end_the_run() -> None:
    """Only a stop does."""
    end = running(Stage())
    end.on_command(Pause())
    assert not end.begun.is_set()
    end.complete()


def test_commands_wait_for_the_loop() -> None:
    """In the order they came, however early."""
    event_queue = EventQueue()
    end = RunEnd("c-0", event_queue)
    end.on_command(Pause())
    end.on_command(Stop())
    assert list(event_queue.take()) == [Pause(), Stop()]


def test_run_that_hangs_after_its_host_was_lost_is_killed(exits: list[int]) -> None:
    """Another run may have started elsewhere (invariant 4)."""
    event_queue = EventQueue()
    end = RunEnd("c-0", event_queue)
    end.on_lost()
    await_guards()
    assert exits == [1]
    assert end.begun.is_set()
    assert [type(item) for item in event_queue.take()] == [HostLost]


def test_run_that_ends_in_time_is_left_alone(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may already run another task."""
    monkeypatch.setattr(module, "LAST_RESORT_SECONDS", 30)
    end = RunEnd("c-0", EventQueue())
    end.on_lost()
    end.complete()
    await_guards()
    assert exits == []


def test_lost_host_ends_waits_for_plugins(exits: list[int]) -> None:
    """A call that may take minutes ends at once, and so does one of a stage started later."""
    gone: list[Exception] = []
    early, late = (SimpleNamespace(let_go=gone.append) for _ in range(2))
    end = RunEnd("c-0", EventQueue())
    end.watch(early)  # type: ignore[arg-type]
    end.on_lost()
    end.watch(late)  # type: ignore[arg-type]
    assert [type(each) for each in gone] == [HostLost, HostLost]
    end.complete()
    await_guards()
