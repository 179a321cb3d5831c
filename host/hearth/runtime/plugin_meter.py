"""Measures the stages of a task while somebody watches: what they use, and what plugins measure (KIP-877)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from hearth.isolation.stage import Stage
from hearth.isolation.stage_watch import own_usage
from hearth_api import PluginError
from hearth_stage.channel import ChannelClosed
from hearth_stage.plugin_call import AskMetrics, Metric, Metrics

EMPTY_SECONDS = 60.0
"""How long a stage whose plugins measure nothing is left alone."""


def stages_usage(pids: Iterable[int]) -> tuple[float, int]:
    """Return the processor seconds and the memory in bytes of stage processes, each counted once."""
    seconds, memory = 0.0, 0
    for pid in set(pids):
        with suppress(OSError):  # it has just ended, or the system has no /proc
            usage = own_usage(pid)
            seconds, memory = seconds + usage.cpu_seconds, memory + usage.memory_bytes
    return round(seconds, 2), memory


class PluginMeter:
    """Passes the metrics of all stages on whenever one of them has answered; never waits.

    ``ask`` is called by the link's thread, with each heartbeat of a host whose metrics were read lately.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        tell: Callable[[list[Metric]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stages, self._tell, self._clock = stages, tell, clock
        self._found: dict[int, list[Metric]] = {}
        self._pending: dict[int, Future[Metrics]] = {}
        self._not_before = dict.fromkeys(range(len(stages)), -math.inf)

    def ask(self) -> None:
        """Ask the stages that have answered the last time."""
        for number, stage in enumerate(self._stages):
            pending = self._pending.get(number)
            if (pending is None or pending.done()) and self._clock() >= self._not_before[number]:
                with suppress(PluginError, ChannelClosed):  # the loop finds that the stage has ended
                    self._pending[number] = answer = stage.begin(AskMetrics())
                    answer.add_done_callback(partial(self._take, number))

    def _take(self, number: int, answer: Future[Metrics]) -> None:
        """Take an answer, on the thread of the stage's channel."""
        if answer.cancelled() or answer.exception() is not None:
            return
        found = answer.result().metrics
        if not found:
            self._not_before[number] = self._clock() + EMPTY_SECONDS
        if found != self._found.get(number, []):
            self._found[number] = found
            with suppress(ChannelClosed):
                self._tell([metric for each in self._found.values() for metric in each])
