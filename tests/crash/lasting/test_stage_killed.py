"""SIGKILL of a stage process while records flow: its task is FAILED, the rest runs on, a restart loses nothing."""

from __future__ import annotations

import os
import random
import signal

import pytest

from tests.crash.pipeline import Pipeline, pass_time
from tests.timeouts import TIMEOUT


@pytest.mark.slow
def test_a_killed_stage_fails_its_task_and_a_restart_loses_nothing(pipeline: Pipeline, chance: random.Random) -> None:
    """The trace has the signal; the other task keeps its process; after a restart over REST, lines flow again."""
    with pipeline.ledger.flowing():
        for kind, other in (("source", "sink"), ("sink", "source")):
            pass_time(chance.uniform(0.3, 2.0))
            neighbour = pipeline.stage(other)
            os.kill(pipeline.stage(kind).pid, signal.SIGKILL)
            pipeline.host.wait_for_state(f"{pipeline.name}-{kind}", "FAILED", TIMEOUT)
            trace = pipeline.host.rest.status(f"{pipeline.name}-{kind}")["tasks"][0]["trace"]
            assert f"the stage process of {pipeline.name}-{kind}-0 was killed by signal 9" in trace
            answer = pipeline.host.rest.call("POST", f"/connectors/{pipeline.name}-{kind}/tasks/0/restart")
            assert answer.status == 204, answer.text
            pipeline.await_new_line()
            assert pipeline.stage(other) == neighbour
    pipeline.ledger.prove()
    print(pipeline.ledger)
