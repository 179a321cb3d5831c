"""The end of a run that was told to stop: waits for another attempt end, and so does what hangs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hearth.runtime import task as module
from hearth.runtime.link import TaskLink, Welcome
from hearth.runtime.task import TaskRun
from hearth_stage.call import Notice
from tests.unit.runtime.sample import task_plan


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


def running(stage: Any) -> TaskRun:
    """Return a run with a stage; it may take no time to drain."""
    run = TaskRun(Welcome(task_plan("source", graceful_timeout=0.0), is_paused=False), TaskLink())
    run._keep(stage)
    return run


def test_a_stage_that_hangs_when_its_run_is_to_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever call of the plugin the loop waits, also in its start, where nobody looks at commands."""
    monkeypatch.setattr(module, "HANGING_SECONDS", 0.05)
    stage = Stage()
    run = running(stage)
    run._on_command("stop")
    assert run._stopping.is_set()
    assert stage.killed.wait(10)
    assert stage.notices == ["stopping"]


def test_a_run_that_has_ended_kills_nothing() -> None:
    """The rule: who is through in time is left alone, and a second command changes nothing."""
    stage = Stage()
    run = running(stage)
    run._on_command("stop")
    run._on_command("stop")
    run._over.set()
    for thread in threading.enumerate():
        if thread.name == "stop":
            thread.join(10)
    assert not stage.killed.is_set()


def test_pause_ends_nothing() -> None:
    """Only a stop does."""
    run = running(Stage())
    run._on_command("pause")
    assert not run._stopping.is_set()
