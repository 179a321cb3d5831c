"""Tasks that are kept between micro-batches."""

from __future__ import annotations

import threading
import time

import pytest

from hearth.datasource.kept_task import KeptTasks
from tests.timeouts import TIMEOUT, eventually


class Task:
    """Something to keep."""

    def __init__(self) -> None:
        self.is_alive = True
        self.closed = threading.Event()

    def close(self) -> None:
        """End it, once."""
        assert not self.closed.is_set()
        self.closed.set()
        self.is_alive = False


def used(tasks: KeptTasks[Task], key: str, seconds: float = 60.0) -> Task:
    """Use what is kept under a key."""
    with tasks.using(key, Task, seconds) as task:
        assert not task.closed.is_set()
    return task


def test_task_is_reused_under_its_key() -> None:
    """No other key gets it."""
    tasks: KeptTasks[Task] = KeptTasks()
    first = used(tasks, "a")
    assert used(tasks, "a") is first
    assert used(tasks, "b") is not first
    tasks.end()
    assert first.closed.is_set()
    assert used(tasks, "a") is not first
    tasks.end()


def test_unused_task_is_closed_after_its_time() -> None:
    """Soon after its time, also where another one is kept longer; nothing waits after the last."""
    tasks: KeptTasks[Task] = KeptTasks()
    long, short = used(tasks, "long", 3.0), used(tasks, "short", 0.05)
    assert short.closed.wait(TIMEOUT)
    assert not long.closed.is_set()
    assert long.closed.wait(TIMEOUT)
    assert eventually(lambda: all(each.name != "kept-tasks" for each in threading.enumerate()), TIMEOUT)
    assert used(tasks, "short", 0.05).closed.wait(TIMEOUT)


def test_task_in_use_is_not_closed() -> None:
    """However long it takes."""
    tasks: KeptTasks[Task] = KeptTasks()
    used(tasks, "a", 0.05)
    with tasks.using("a", Task, 0.05) as task:
        time.sleep(0.2)
        assert not task.closed.is_set()
    tasks.end()


def test_failed_or_dead_task_is_not_reused() -> None:
    """Another task writes its rows again."""
    tasks: KeptTasks[Task] = KeptTasks()
    with pytest.raises(ValueError, match="x"), tasks.using("a", Task, 60) as failed:
        raise ValueError("x")
    assert failed.closed.is_set()
    died = used(tasks, "a")
    assert died is not failed
    died.is_alive = False
    assert used(tasks, "a") is not died
    assert died.closed.is_set()
    tasks.end()


def test_task_is_closed_at_once_without_keep_time() -> None:
    """What a task raises when it is stopped then is the write's."""
    tasks: KeptTasks[Task] = KeptTasks()
    assert used(tasks, "a", 0).closed.is_set()
