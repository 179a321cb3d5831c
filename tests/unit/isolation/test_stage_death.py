"""Stages that die at any moment, in the middle of large batches: nothing of them remains."""

from __future__ import annotations

import os
import platform
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pytest

from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage, StageDied
from hearth.isolation.stage_connection import TASKS
from hearth.staging.place import StagePlace
from hearth_api import STRING_SCHEMA
from hearth_api.batch import Batch
from hearth_execution.order import number_rows
from hearth_execution.transformation import Step
from hearth_stage.plugin_call import Configure, Load, WantedPlugin
from hearth_stage.transformation_call import Apply
from tests.timeouts import TIMEOUT, eventually

SAMPLES = str(Path(__file__).parents[2] / "samples")
UPPER = "transforms.upper"
LONGEST_LIFE = 0.06
DEATHS = 5


def large() -> Batch:
    """Return a batch of 3 MB, which no socket accepts at once."""
    values = pa.array(["x" * 1000] * 3000)
    return number_rows(Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_arrays([values], names=["value"])))


def begun() -> Stage:
    """Return a stage with a transformation."""
    stage = Stage.start(python_environment("samples", host(), (SAMPLES,)), "dies", kind=TASKS)
    stage.call(Configure("sink", 0, 0))
    stage.call(Load([WantedPlugin(UPPER, "sample.UpperBatch", "sample_plugins:UpperBatch", {})]))
    return stage


def until_it_dies(stage: Stage, batch: Batch, errors: list[BaseException]) -> None:
    """Call a stage repeatedly, with two calls in flight."""
    place, call = StagePlace(stage), Apply([Step(UPPER)], [batch])
    try:
        waits = [place.begin(call), place.begin(call)]
        while True:
            waits.append(place.begin(call))
            assert waits.pop(0)().batches[0].num_rows == batch.num_rows
    except BaseException as error:  # noqa: BLE001 - judged by the test
        errors.append(error)


def held() -> Counter[str]:
    """Return counts of this process's open descriptors and of its stage threads."""
    opened = []
    for each in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # such as the listing's own, closed by now
            opened.append(os.readlink(f"/proc/self/fd/{each}"))
    return Counter([*opened, *(each.name for each in threading.enumerate() if "dies" in each.name)])


def left(before: Counter[str]) -> Counter[str]:
    """Return what this process has in addition, after some time to release it."""
    eventually(lambda: not held() - before, TIMEOUT)
    return held() - before


def faults(stage: Stage) -> int:
    """Return how many pages of its memory have been mapped for a stage."""
    return int(Path(f"/proc/{stage.pid}/stat").read_text().rpartition(")")[2].split()[7])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that is told how much to keep")
def test_memory_is_reused_between_batches() -> None:
    """Ten batches of 1 MB fit into the memory of the first ones; without the setting it takes ten times the pages."""
    stage, call = begun(), Apply([Step(UPPER)], [large().slice(0, 1000)])
    for _ in range(5):
        stage.call(call)
    before = faults(stage)
    for _ in range(10):
        stage.call(call)
    assert faults(stage) - before < 1000
    stage.close()


def die_often() -> None:
    """Kill stages during the calls of two threads; raises if one is not reported, or if something remains."""
    chance, batch = random.Random(1), large()
    begun().close()  # the first stage creates the thread that starts all of them
    before = held()
    for _ in range(DEATHS):
        stage = begun()
        errors: list[BaseException] = []
        callers = [threading.Thread(target=until_it_dies, args=(stage, batch, errors)) for _ in range(2)]
        for caller in callers:
            caller.start()
        time.sleep(chance.uniform(0, LONGEST_LIFE))
        os.kill(stage.pid, signal.SIGKILL)
        for caller in callers:
            caller.join(TIMEOUT)
        stage.close()
        assert [type(error) for error in errors] == [StageDied] * 2, errors
    assert not left(before)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors as Linux tells them")
def test_stage_that_dies_at_any_moment_leaks_nothing() -> None:
    """No descriptor, no thread, and no caller that waits forever.

    It runs in a separate process: Kafka clients that other tests left behind open pipes at any moment.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        alone.submit(die_often).result(4 * TIMEOUT)
