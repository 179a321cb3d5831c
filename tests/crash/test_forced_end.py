"""Runs that do not come to their end: the host ends them, or they end themselves, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.link.heartbeat import FENCED_SECONDS, SILENCE_SECONDS
from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import await_end
from tests.peer.rest import eventually
from tests.peer.topic import Topics

LINES = 1000
QUEUE_FULL = 200_000
"""Lines that do not fit into what a task may have on its way."""


@pytest.mark.slow
def test_a_source_that_is_deleted_while_its_broker_is_away_sends_nothing_more(
    tmp_path: Path, own_broker: KafkaBroker
) -> None:
    """Its queue is full, and the broker comes back after the connector is gone: what waited never arrives."""
    topics = Topics(own_broker.bootstrap_servers)
    with closing(Pipeline(tmp_path, topics)) as pipeline:
        pipeline.start()
        written = pipeline.ledger.write(LINES)
        assert eventually(lambda: pipeline.ledger.look() and pipeline.ledger.at_sink.reach == written, 30)
        stage = pipeline.stage("source")
        own_broker.kill()
        pipeline.ledger.write(QUEUE_FULL)
        pass_time(3.0)
        began = time.monotonic()
        answer = pipeline.host.rest.call("DELETE", f"/connectors/{pipeline.name}-source")
        assert answer.status == 204, answer.text
        print(f"deleted after {time.monotonic() - began:.1f} s")
        await_end([stage], 5)
        own_broker.start()
        assert eventually(pipeline.ledger.look, 30)
        pass_time(5.0)
        assert pipeline.ledger.look()
        assert pipeline.ledger.at_topic.count == written


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_run_that_does_not_react_is_ended_by_force(pipeline: Pipeline, kind: str) -> None:
    """The process that carries it is stopped: neither the link nor a signal but one reaches it."""
    pipeline.start()
    worker, stage = pipeline.python_worker(kind), pipeline.stage(kind)
    os.kill(worker.pid, signal.SIGSTOP)
    began = time.monotonic()
    answer = pipeline.host.rest.call("DELETE", f"/connectors/{pipeline.name}-{kind}")
    seconds = time.monotonic() - began
    assert answer.status == 204, answer.text
    print(f"the {kind} was deleted after {seconds:.1f} s")
    assert seconds < FENCED_SECONDS
    await_end([worker, stage], 5)


@pytest.mark.slow
def test_a_run_whose_host_falls_silent_ends_itself(pipeline: Pipeline) -> None:
    """The host is stopped and nothing is closed; when it goes on, the tasks are launched again and nothing is lost."""
    pipeline.start()
    with pipeline.ledger.flowing():
        pass_time(1.0)
        stages = [pipeline.stage("source"), pipeline.stage("sink")]
        os.kill(pipeline.host.pid, signal.SIGSTOP)
        await_end(stages, SILENCE_SECONDS + 30)
        os.kill(pipeline.host.pid, signal.SIGCONT)
        pipeline.await_new_line()
    pipeline.ledger.prove()
    print(pipeline.ledger)
