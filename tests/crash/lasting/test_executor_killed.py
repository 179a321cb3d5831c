"""SIGKILL of a local host's Python worker or JVM, which run its tasks."""

from __future__ import annotations

import random

import pytest

from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import tree
from tests.profile import crashes


@pytest.mark.slow
def test_a_killed_python_worker_of_a_local_host_is_replaced(pipeline: Pipeline, chance: random.Random) -> None:
    """The process that runs the task dies with its stage; the task restarts by itself."""
    with pipeline.ledger.flowing():
        for _ in range(crashes()):
            for kind in ("source", "sink"):
                pass_time(chance.uniform(0.3, 1.5))
                seconds = pipeline.kill_and_flow(pipeline.python_worker(kind).pid)
                print(f"lines flow {seconds:.2f} s after the python worker of the {kind} was killed")
    pipeline.ledger.prove()
    print(pipeline.ledger)


@pytest.mark.slow
def test_a_killed_jvm_of_a_local_host_is_replaced(pipeline: Pipeline) -> None:
    """With Spark inside the host its JVM is the executor; the host starts another one, and the tasks run in it."""
    with pipeline.ledger.flowing():
        pass_time(1.0)
        seconds = pipeline.kill_and_flow(jvm_of(pipeline))
        print(f"lines flow {seconds:.2f} s after Spark's JVM was killed")
    pipeline.ledger.prove()
    print(pipeline.ledger)


def jvm_of(pipeline: Pipeline) -> int:
    """Return the JVM that the host started."""
    return next(each.pid for each in tree(pipeline.host.pid) if "org.apache.spark.deploy.SparkSubmit" in each.command)
