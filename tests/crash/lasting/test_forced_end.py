"""Runs that do not stop: the host kills them, or they end themselves, and leave nothing."""

from __future__ import annotations

import os
import signal
import time

import pytest

from hearth.link.heartbeat import FENCED_SECONDS, SILENCE_SECONDS
from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import await_end
from tests.timeouts import TIMEOUT


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_an_unresponsive_run_is_killed(pipeline: Pipeline, kind: str) -> None:
    """Its process is suspended: it reacts to neither the link nor any signal but SIGKILL."""
    worker, stage = pipeline.python_worker(kind), pipeline.stage(kind)
    os.kill(worker.pid, signal.SIGSTOP)
    started = time.monotonic()
    answer = pipeline.host.rest.call("DELETE", f"/connectors/{pipeline.name}-{kind}")
    seconds = time.monotonic() - started
    assert answer.status == 204, answer.text
    print(f"the {kind} was deleted after {seconds:.1f} s")
    assert seconds < FENCED_SECONDS
    await_end([worker, stage], TIMEOUT)
    pipeline.create(kind)
    pipeline.await_new_line()


@pytest.mark.slow
def test_a_run_with_a_suspended_host_ends_itself(pipeline: Pipeline) -> None:
    """The host is suspended with its links open; after it resumes, the tasks are launched again and lose nothing."""
    with pipeline.ledger.flowing():
        pass_time(1.0)
        stages = [pipeline.stage("source"), pipeline.stage("sink")]
        os.kill(pipeline.host.pid, signal.SIGSTOP)
        await_end(stages, SILENCE_SECONDS + 30)
        os.kill(pipeline.host.pid, signal.SIGCONT)
        pipeline.await_new_line()
    pipeline.ledger.prove()
    print(pipeline.ledger)
