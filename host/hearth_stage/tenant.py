"""A tenant of a stage: its loop handles requests with its plugins and polls in between."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hearth_api import PluginMetrics
from hearth_execution.garbage import collect_seldom
from hearth_execution.load import load_module
from hearth_execution.plugins import Plugins
from hearth_execution.retry import NO_RETRY, Retry
from hearth_execution.transformation import Transformations
from hearth_stage import definition
from hearth_stage.call import Message, PluginCall
from hearth_stage.channel import ChannelClosed, MessageSender, Request
from hearth_stage.connector import StageConnector
from hearth_stage.connector_call import (
    AlterOffsets,
    AskExactlyOnce,
    AskTaskConfigs,
    LoadConnector,
    StartConnector,
    StopConnector,
)
from hearth_stage.log_output import forget_lines_of
from hearth_stage.plugin_call import Configure, Describe, EndTenant, Ping, Stopping, TryPlugin, Validate
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
    SkipPuts,
    StartSink,
    StartSource,
    StopSink,
    StopSource,
)
from hearth_stage.tenancy import threads_of, work_for

if TYPE_CHECKING:
    from hearth_stage.worker_plugin import WorkerPlugins

log = logging.getLogger(__name__)

_COMMITS = (CommitSource, CommitRecords, StopSource)
"""Requests of the commit thread."""


class Tenant:
    """Plugins that belong together, and their threads; most stages have one tenant.

    Requests run in order on the thread that calls ``run``. ``source.commit`` and ``source.commit_records`` run on a
    second thread, which starts with the first of them, so that they reach a task during a long ``poll``. A request of
    one tenant never waits for another tenant.
    """

    def __init__(self, channel: MessageSender, number: int = 0) -> None:
        self._channel = channel
        self._number = number
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._commits: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._commit_thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._is_over = False
        self._worker: WorkerPlugins | None = None
        self._configure("source", NO_RETRY)

    def take(self, request: Request) -> None:
        """Queue a request; called on the thread that reads the connection, so it must return at once."""
        if request.kind is Stopping:
            self._stopping.set()  # at once: the main thread may be waiting for a retry
        elif request.kind is SkipPuts:
            self._sink.skip_puts()  # at once: the puts that it skips are queued
        elif request.kind in _COMMITS:
            self._commit(request)
        else:
            self._requests.put(request)

    def leave(self) -> None:
        """End after the queued requests: the connection has ended."""
        self._requests.put(None)

    def run(self) -> None:
        """Serve until the tenant or the connection ends."""
        work_for(self._number)
        with contextlib.suppress(ChannelClosed):
            while not self._is_over and (request := self._next()) is not None:
                request.answer(self._do)
        self._end()

    def handlers(self) -> dict[type[Message], Callable[[Any], Any]]:
        """Return the handlers of messages that are not plugin calls, except those of worker plugins."""
        source, sink, connector = self._source, self._sink, self._connector
        return {
            Ping: lambda _: None,
            EndTenant: lambda _: self._end(),
            Configure: self._on_configure,
            Describe: definition.describe,
            Validate: definition.validate,
            TryPlugin: definition.try_plugin,
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
            AskExactlyOnce: connector.exactly_once,
            StopConnector: connector.stop,
        }

    def of_worker(self) -> WorkerPlugins:
        """Return the handlers of worker plugins."""
        if self._worker is None:
            from hearth_stage.worker_plugin import WorkerPlugins  # few stages need it

            self._worker = WorkerPlugins(self._channel)
        return self._worker

    def _next(self) -> Request | None:
        """Return the next request, polling the source task until there is one; ``None`` ends the loop."""
        while self._requests.empty() and self._source.may_poll:
            try:
                self._source.poll()
            except SystemExit as error:
                self._source.fail(self._exit_error(error))
        return self._requests.get()

    def _commit(self, request: Request) -> None:
        if self._commit_thread is None:
            self._commit_thread = threading.Thread(target=self._serve_commits, name="stage-commits", daemon=True)
            self._commit_thread.start()
        self._commits.put(request)

    def _serve_commits(self) -> None:
        """Serve commits; a stop passes through here, so that the commits before it are done."""
        work_for(self._number)
        with contextlib.suppress(ChannelClosed):
            while (request := self._commits.get()) is not None:
                if request.kind is StopSource:
                    self._requests.put(request)
                else:
                    request.answer(self._do)

    def _do(self, message: Message) -> Any:
        try:
            if isinstance(message, PluginCall):
                return message.run(self._plugins)
            handler = self._handlers.get(type(message)) or self.of_worker().handlers()[type(message)]
            return handler(message)
        except SystemExit as error:
            raise self._exit_error(error) from error

    def _exit_error(self, error: SystemExit) -> Exception:
        """Return the error for a plugin that calls ``sys.exit`` in a shared process; exits an unshared one."""
        if self._number == 0:
            raise error
        return RuntimeError(f"the plugin tried to exit the process, which others share: {error!r}")

    def _configure(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        transformations = Transformations(self._plugins)
        self.metrics = PluginMetrics()
        self._source = StageSource(self._channel, transformations, self.metrics)
        self._sink = StageSink(self._channel, transformations, self.metrics)
        self._connector = StageConnector(self._channel)
        self._handlers = self.handlers()

    def _on_configure(self, call: Configure) -> None:
        collect_seldom()
        if self._number:
            load_module("hearth_stage.first_array")  # before any tenant's plugins load it, several at a time
        self._plugins.close()
        retry = Retry(call.retry_timeout, call.retry_delay_max, self._stopping, is_strict=call.is_strict)
        self._configure(call.type, retry)

    def _end(self) -> None:
        """Stop what still runs and close the plugins, once."""
        if self._is_over:
            return
        self._is_over = True
        workers = [] if self._worker is None else self._worker.ends()
        for end in (self._source.end, self._sink.end, self._connector.end, *workers, self._plugins.close):
            try:
                end()
            except Exception:
                log.exception("stopping a plugin failed")
        self._commits.put(None)
        if self._number:
            self._log_left_threads()
            forget_lines_of(self._number)

    def _log_left_threads(self) -> None:
        """Log the threads that continue: without other tenants they would end with the process."""
        left = sorted(each.name for each in threads_of(self._number) if each is not self._commit_thread)
        if left:
            log.warning("threads that the plugin has started still run after it has ended: %s", ", ".join(left))
