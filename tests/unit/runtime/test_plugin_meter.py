"""What plugins measure: when stages are asked, and what is passed on."""

from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Any, cast

from hearth.runtime.plugin_meter import EMPTY_SECONDS, PluginMeter, stages_usage
from hearth_api import PluginError
from hearth_stage.channel import ChannelClosed
from hearth_stage.plugin_call import Metric, Metrics
from tests.unit.metric.test_task_metric import Clock


class Stage:
    """A stage that answers when a test says so."""

    def __init__(self) -> None:
        self.asked: list[Future[Metrics]] = []
        self.is_gone = False

    def begin(self, call: Any) -> Future[Metrics]:
        """Note a call."""
        if self.is_gone:
            raise PluginError("gone")
        self.asked.append(Future())
        return self.asked[-1]

    def answer(self, *values: int) -> None:
        """Answer the last call."""
        self.asked[-1].set_result(Metrics([Metric("plugins", "n", value=value) for value in values]))


class World:
    """Two stages of a task and its host."""

    def __init__(self) -> None:
        self.one, self.other, self.clock = Stage(), Stage(), Clock()
        self.told: list[list[Any]] = []
        self.is_lost = False
        self.meter = PluginMeter(cast("Any", [self.one, self.other]), self.tell, self.clock)

    def tell(self, metrics: list[Metric]) -> None:
        """Receive the metrics."""
        if self.is_lost:
            raise ChannelClosed("lost")
        self.told.append([each.value for each in metrics])


def test_the_metrics_of_all_stages_are_passed_on_when_they_change() -> None:
    """With every answer that brings something new."""
    world = World()
    world.meter.ask()
    world.one.answer(1)
    world.other.answer(7, 8)
    world.meter.ask()
    world.one.answer(1)
    world.other.answer(7, 9)
    assert world.told == [[1], [1, 7, 8], [1, 7, 9]]


def test_a_stage_that_does_not_answer_is_not_asked_again() -> None:
    """A plugin may hang; the others are asked."""
    world = World()
    world.meter.ask()
    world.other.answer(1)
    world.meter.ask()
    assert (len(world.one.asked), len(world.other.asked)) == (1, 2)


def test_a_stage_without_metrics_is_left_alone_for_a_while() -> None:
    """A call wakes its process."""
    world = World()
    world.meter.ask()
    world.one.answer()
    world.clock.now = EMPTY_SECONDS - 1
    world.meter.ask()
    assert len(world.one.asked) == 1
    world.clock.now = EMPTY_SECONDS
    world.meter.ask()
    assert len(world.one.asked) == 2
    assert world.told == []


def test_neither_a_lost_stage_nor_a_lost_host_is_an_error() -> None:
    """Others find that out."""
    world = World()
    world.one.is_gone = True
    world.meter.ask()
    world.is_lost = True
    world.other.answer(3)
    world.meter.ask()
    world.other.asked[-1].set_exception(PluginError("died"))
    assert world.told == []


def test_stages_use_time_and_memory() -> None:
    """Each process counts once, with its children that have ended; one that has ended itself uses nothing."""
    seconds, memory = stages_usage([os.getpid(), os.getpid()])
    assert 0 < seconds <= sum(os.times()[:4]) + 0.1
    assert memory > 1 << 20
    assert stages_usage([]) == stages_usage([2**22 + 1]) == (0, 0)
