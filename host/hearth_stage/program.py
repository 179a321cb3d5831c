"""The loop of a stage process: take a request, let the plugin answer it, poll in between."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hearth_execution.plugins import Plugins
from hearth_execution.retry import NO_RETRY, Retry
from hearth_execution.transformation import Transformations
from hearth_stage import definition
from hearth_stage.call import Message, PluginCall
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.connector import StageConnector
from hearth_stage.connector_call import AlterOffsets, AskTaskConfigs, LoadConnector, StartConnector, StopConnector
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.level import set_levels
from hearth_stage.log_call import SetLevels
from hearth_stage.operation import TO_STAGE, Hello
from hearth_stage.plugin_call import AskStacks, Configure, Describe, Ping, Stacks, Stopping, Validate
from hearth_stage.sink import StageSink
from hearth_stage.source import StageSource
from hearth_stage.task_call import (
    AddCredit,
    ClosePartitions,
    CommitRecords,
    CommitSource,
    HoldPolling,
    OpenPartitions,
    PreCommit,
    Put,
    ResumePolling,
    StartSink,
    StartSource,
    StopSink,
    StopSource,
)

if TYPE_CHECKING:
    from hearth_stage.worker_plugin import WorkerPlugins

log = logging.getLogger(__name__)

END_SECONDS = 5
"""How long plugins may take to stop once the connection is gone."""

_COMMITS = (CommitSource, CommitRecords, StopSource)
"""What goes through the commit thread."""


class Program:
    """One stage process.

    Requests run on the main thread in the order they came. ``source.commit`` and ``source.commit_records`` run on a
    second thread, so that they reach a task that is inside a long ``poll``. When the connection ends, the process
    stops what still runs and ends, too.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.channel = Channel(sock, TO_STAGE, self._receive, on_close=self._on_close, name="stage")
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._commits: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._worker: WorkerPlugins | None = None
        self._configure("source", NO_RETRY)

    def run(self) -> None:
        """Serve until the connection ends."""
        threading.Thread(target=self._serve_commits, name="stage-commits", daemon=True).start()
        self.channel.start()
        self.channel.notify(Hello(PROTOCOL_VERSION, os.getpid()))
        with contextlib.suppress(ChannelClosed):
            while (request := self._next()) is not None:
                request.answer(self._do)
        self._end()

    def _next(self) -> Request | None:
        """Return the next request and poll the source task until there is one; ``None`` is the end."""
        while True:
            with contextlib.suppress(queue.Empty):  # what a poll raises does not come of that
                return self._requests.get(block=not self._source.may_poll)
            self._source.poll()

    def _on_close(self) -> None:
        """Tell the main thread that the connection is gone; a plugin that holds it up is not waited for."""
        self._requests.put(None)
        threading.Event().wait(END_SECONDS)
        os._exit(0)

    def _end(self) -> None:
        workers = [] if self._worker is None else self._worker.ends()
        for end in (self._source.end, self._sink.end, self._connector.end, *workers, self._plugins.close):
            try:
                end()
            except Exception:
                log.exception("a plugin did not end as it should")

    def _configure(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        transformations = Transformations(self._plugins)
        self._source = StageSource(self.channel, transformations)
        self._sink = StageSink(self.channel, transformations)
        self._connector = StageConnector(self.channel)
        self._handlers = self._table()

    def _table(self) -> dict[type[Message], Callable[[Any], Any]]:
        """Return who does what cannot be done by plugins alone."""
        source, sink, connector = self._source, self._sink, self._connector
        return {
            Ping: lambda _: None,
            Configure: self._on_configure,
            Describe: definition.describe,
            Validate: definition.validate,
            StartSource: source.start,
            AddCredit: source.credit,
            HoldPolling: source.hold,
            ResumePolling: source.resume,
            CommitSource: source.commit,
            CommitRecords: source.commit_records,
            StopSource: source.stop,
            StartSink: sink.start,
            OpenPartitions: sink.open,
            Put: sink.put,
            PreCommit: sink.pre_commit,
            ClosePartitions: sink.close,
            StopSink: sink.stop,
            LoadConnector: connector.load,
            StartConnector: connector.start,
            AskTaskConfigs: connector.task_configs,
            AlterOffsets: connector.alter_offsets,
            StopConnector: connector.stop,
        }

    def _receive(self, request: Request) -> None:
        if request.kind is AskStacks:
            request.reply(Stacks(_stacks()))  # here, on the reader's thread: the others may hang
        elif request.kind is Stopping:
            self._stopping.set()  # here as well: the main thread may be waiting for its next attempt
        elif request.kind is SetLevels:
            # Here as well: one wants to see what a plugin does that hangs.
            request.answer(lambda told: set_levels(told.levels))
        else:
            (self._commits if request.kind in _COMMITS else self._requests).put(request)

    def _serve_commits(self) -> None:
        """Serve commits; a stop passes through here, so that the commits before it are done by then."""
        with contextlib.suppress(ChannelClosed):
            while True:
                request = self._commits.get()
                if request.kind is StopSource:
                    self._requests.put(request)
                else:
                    request.answer(self._do)

    def _do(self, message: Message) -> Any:
        if isinstance(message, PluginCall):
            return message.run(self._plugins)
        handler = self._handlers.get(type(message)) or self._of_worker().handlers()[type(message)]
        return handler(message)

    def _of_worker(self) -> WorkerPlugins:
        if self._worker is None:
            from hearth_stage.worker_plugin import WorkerPlugins  # which few stages have

            self._worker = WorkerPlugins(self.channel)
        return self._worker

    def _on_configure(self, call: Configure) -> None:
        self._plugins.close()
        self._configure(call.type, Retry(call.retry_timeout, call.retry_delay_max, self._stopping))


def _stacks() -> str:
    """Return what every thread but this one is doing."""
    own = threading.get_ident()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        f"thread {names.get(number, number)}:\n" + "".join(traceback.format_stack(frame))
        for number, frame in sys._current_frames().items()
        if number != own
    ]
    return "\n".join(parts)
