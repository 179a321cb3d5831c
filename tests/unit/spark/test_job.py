"""Asynchronous jobs: their completions are reported, also after the JVM has exited. Uses a real Java."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from hearth.spark.job import JobFailed, Jobs
from tests.java import java
from tests.timeouts import TIMEOUT


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """Start a Java, without a Spark."""
    with java() as jvm:
        yield jvm


def test_completions_are_reported_in_any_order(jvm: Any) -> None:
    """Each to whom it belongs, with its result, or with what Java says of the failure."""
    jobs, results = Jobs(jvm), queue.SimpleQueue[Any]()
    futures = [jvm.java.util.concurrent.CompletableFuture() for _ in range(3)]
    for number, future in enumerate(futures):
        jobs.watch(future, lambda found, error, number=number: results.put((number, found, error)))  # type: ignore[misc]
    futures[2].complete("two")
    assert results.get(timeout=TIMEOUT) == (2, "two", None)
    futures[0].completeExceptionally(jvm.java.lang.IllegalStateException("no slot"))
    number, found, error = results.get(timeout=TIMEOUT)
    assert (number, found, type(error), str(error)) == (0, None, JobFailed, "java.lang.IllegalStateException: no slot")
    futures[1].complete(None)
    assert results.get(timeout=TIMEOUT) == (1, None, None)


def test_job_that_completed_before_the_call_is_reported(jvm: Any) -> None:
    """A job may be over when its submission returns."""
    results = queue.SimpleQueue[Any]()
    Jobs(jvm).watch(jvm.java.util.concurrent.CompletableFuture.completedFuture("x"), lambda *end: results.put(end))
    assert results.get(timeout=TIMEOUT) == ("x", None)


def test_jobs_fail_when_the_jvm_exits() -> None:
    """All of them, those that are submitted now as well."""
    results = queue.SimpleQueue[Any]()
    with java() as jvm:
        jobs, future = Jobs(jvm), jvm.java.util.concurrent.CompletableFuture()
        jobs.watch(future, lambda *end: results.put(end))
    found, error = results.get(timeout=TIMEOUT)
    assert found is None
    assert error is not None
    with pytest.raises(type(error)):
        jobs.watch(future, lambda *end: results.put(end))
    assert results.empty()
