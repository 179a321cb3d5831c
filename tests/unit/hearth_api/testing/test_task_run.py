"""A run in memory makes a host's calls, in its order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hearth_api import ConnectError, RetriableError, SinkRecord, TopicPartition
from hearth_api.testing import MemoryConnectorContext, SinkRun, SourceRun, Violation
from tests.unit.hearth_api.testing.test_acceptance import CONFIG, WORLD, LinesSink, LinesSource, LinesTask, WritingTask

PLACE = TopicPartition("t", 0)
RECORDS = [SinkRecord("t", 0, None, None, None, f"value {each}", each) for each in range(3)]


def test_next_run_resumes_after_the_taken_records() -> None:
    """Records polled but not taken are lost, as with a killed host."""
    with SourceRun(LinesSource, CONFIG) as run:
        assert [each.value for each in run.take(4)] == WORLD[:4]
    with SourceRun(LinesSource, CONFIG, run.committed) as again:
        assert [each.value for each in again.take(2)] == WORLD[4:6]


def test_calls_follow_the_hosts_order_on_one_thread_per_task() -> None:
    """The task starts after its connector and stops before it."""
    calls: list[tuple[str, int]] = []

    class NotedTask(WritingTask):
        """Records its calls."""

        def __getattribute__(self, name: str) -> Any:
            """Note it."""
            if name in ("initialize", "start", "open", "put", "pre_commit", "close", "stop"):
                calls.append((name, threading.get_ident()))
            return super().__getattribute__(name)

    class NotedSink(LinesSink):
        """Has that task."""

        task = NotedTask

    with SinkRun(NotedSink, CONFIG, [PLACE]) as run:
        run.put(RECORDS)
        assert run.pre_commit() == {PLACE: (3, "")}
    assert [name for name, _ in calls] == ["initialize", "start", "open", "put", "pre_commit", "close", "stop"]
    on_thread = {thread for name, thread in calls if name in ("start", "stop")}
    assert len(on_thread) <= 2


def test_put_is_repeated_after_a_retriable_error() -> None:
    """With the same records."""
    refusals = [RetriableError("not yet"), RetriableError("not yet")]

    class HesitantTask(WritingTask):
        """Refuses twice."""

        def put(self, records: Any) -> None:
            """Take them the third time."""
            if refusals:
                raise refusals.pop()
            super().put(records)

    class HesitantSink(LinesSink):
        """Has that task."""

        task = HesitantTask

    LinesSink.written.clear()
    with SinkRun(HesitantSink, CONFIG, [PLACE]) as run:
        run.put(RECORDS)
        run.pre_commit()
    assert LinesSink.written == ["value 0", "value 1", "value 2"]


def test_started_instances_are_stopped_if_a_task_fails_to_start() -> None:
    """The plugin's own error is raised."""
    stopped: list[str] = []

    class FailingTask(LinesTask):
        """Does not start."""

        def start(self, props: Any) -> None:
            """Refuse."""
            raise ConnectError("no")

    class StoppedSource(LinesSource):
        """Notes its stop."""

        task = FailingTask

        def stop(self) -> None:
            """Note it."""
            stopped.append("connector")

    with pytest.raises(ConnectError, match="no"), SourceRun(StoppedSource, CONFIG):
        raise AssertionError("it started")
    assert stopped == ["connector"]


def test_hanging_call_is_abandoned() -> None:
    """The test fails rather than hang."""
    wait = threading.Event()

    class HangingSource(LinesSource):
        """Does not start."""

        def start(self, props: Any) -> None:
            """Wait for long."""
            wait.wait(60)

    with pytest.raises(Violation, match=r"start\(\) did not return within 0.1 s"):
        SourceRun(HangingSource, CONFIG, seconds=0.1).__enter__()
    wait.set()


def test_requests_of_a_connector_are_recorded() -> None:
    """A test can read them."""
    context = MemoryConnectorContext([({"a": 1}, {"b": 2})])
    context.request_task_reconfiguration()
    context.raise_error(ConnectError("lost"))
    assert (context.requests, [str(each) for each in context.errors]) == (1, ["lost"])
    assert context.offset_storage_reader().offset({"a": 1}) == {"b": 2}
