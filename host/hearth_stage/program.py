"""A stage process, which passes each request to its tenant."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import sys
import threading
import traceback
from itertools import islice

from hearth_api import RegisteredMetric
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.level import set_levels
from hearth_stage.log_call import SetLevels
from hearth_stage.operation import TO_STAGE, Hello
from hearth_stage.plugin_call import AskMetrics, AskStacks, Metric, Metrics, Stacks
from hearth_stage.tenant import Tenant

GROUP = "plugins"
"""Kafka's group of metrics that plugins register."""
MOST_METRICS, MOST_CHARACTERS = 10_000, 1_000
END_SECONDS = 5
"""How long plugins may take to stop after the connection has ended."""


class Program:
    """One stage process.

    Tenant 0 runs on the main thread, each other tenant on a thread that starts with its first request. When the
    connection ends, the process stops what still runs and exits.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.channel = Channel(sock, TO_STAGE, self._receive, on_close=self._on_close, name="stage")
        self.main = Tenant(self.channel)
        self._tenants = {0: self.main}
        self._threads: dict[int, threading.Thread] = {}

    def run(self) -> None:
        """Serve until the connection ends."""
        self.channel.start()
        self.channel.notify(Hello(PROTOCOL_VERSION, os.getpid(), tenants=True))
        self.main.run()
        for thread in list(self._threads.values()):
            thread.join()

    def _on_close(self) -> None:
        """Notify all tenants that the connection has ended; does not wait for a hanging plugin."""
        for tenant in list(self._tenants.values()):
            tenant.leave()
        self._halt()

    def _halt(self) -> None:
        """Exit after a while, unless the process has ended by then."""
        threading.Event().wait(END_SECONDS)
        os._exit(0)

    def _receive(self, request: Request) -> None:
        if request.kind is AskStacks:
            request.reply(Stacks(_stacks()))  # on the reader's thread, as others may hang
        elif request.kind is AskMetrics:
            tenant = self._tenants.get(request.tenant)
            # On a thread of its own, as plugins are asked.
            threading.Thread(target=_measure, args=[request, tenant], name="stage-metrics", daemon=True).start()
        elif request.kind is SetLevels:
            # On the reader's thread as well: changed levels help to observe a hanging plugin.
            request.answer(lambda call: set_levels(call.levels))
        else:
            tenant = self._tenants.get(request.tenant)
            (tenant or self._admit(request.tenant)).take(request)

    def _admit(self, number: int) -> Tenant:
        tenant = Tenant(self.channel.of(number), number)
        thread = threading.Thread(target=self._serve, args=[tenant, number], name=f"stage-{number}", daemon=True)
        self._tenants[number], self._threads[number] = tenant, thread
        try:
            thread.start()
        except RuntimeError:  # the machine has no thread left
            self._forget(number)
            raise
        return tenant

    def _serve(self, tenant: Tenant, number: int) -> None:
        tenant.run()
        self._forget(number)

    def _forget(self, number: int) -> None:
        del self._tenants[number], self._threads[number]


def _measure(request: Request, tenant: Tenant | None) -> None:
    """Answer with the metrics that the plugins of a tenant have registered."""
    found = [] if tenant is None else list(islice(tenant.metrics.values(), MOST_METRICS))
    with contextlib.suppress(ChannelClosed):
        request.reply(Metrics([_metric(each) for each in found]))


def _metric(found: RegisteredMetric) -> Metric:
    value = found.value
    if isinstance(value, str):
        value = value[:MOST_CHARACTERS]
    elif not isinstance(value, (bool, int, float)) or not math.isfinite(value):
        value = None
    return Metric(GROUP, found.name, found.description, found.tags, value)


def _stacks() -> str:
    """Return the stacks of all threads but this one."""
    own = threading.get_ident()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        f"thread {names.get(number, number)}:\n" + "".join(traceback.format_stack(frame))
        for number, frame in sys._current_frames().items()
        if number != own
    ]
    return "\n".join(parts)
