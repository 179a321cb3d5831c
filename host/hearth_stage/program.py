"""The loop of a stage process: take a request, let the plugin answer it, poll in between."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable

from hearth_execution.converter import Converters
from hearth_execution.plugins import Plugins
from hearth_execution.retry import NO_RETRY, Retry
from hearth_execution.transformation import Transformations, steps_of
from hearth_stage import conversion, definition
from hearth_stage.channel import Channel, ChannelClosed, Reply, Request
from hearth_stage.connector import StageConnector
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.sink import StageSink
from hearth_stage.source import StageSource

END_SECONDS = 5
"""How long plugins may take to stop once the connection is gone."""

Handler = Callable[[Request], "Reply | None"]


class Program:
    """One stage process.

    Requests run on the main thread in the order they came. ``source.commit`` and ``source.commit_records`` run on a
    second thread, so that they reach a task that is inside a long ``poll``. When the connection ends, the process
    stops what still runs and ends, too.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.channel = Channel(sock, self._receive, on_close=self._on_close, name="stage")
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._commits: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._configure("source", NO_RETRY)

    def run(self) -> None:
        """Serve until the connection ends."""
        threading.Thread(target=self._serve_commits, name="stage-commits", daemon=True).start()
        self.channel.start()
        self.channel.notify("hello", {"protocol": PROTOCOL_VERSION, "pid": os.getpid()})
        with contextlib.suppress(ChannelClosed):
            while (request := self._next()) is not None:
                self._serve(request)
        self._end()

    def _next(self) -> Request | None:
        """Return the next request and poll the source task until there is one; ``None`` is the end."""
        while True:
            try:
                return self._requests.get(block=not self._source.may_poll)
            except queue.Empty:
                self._source.poll()

    def _on_close(self) -> None:
        """Tell the main thread that the connection is gone; a plugin that holds it up is not waited for."""
        self._requests.put(None)
        threading.Event().wait(END_SECONDS)
        os._exit(0)

    def _end(self) -> None:
        for end in (self._source.end, self._sink.end, self._connector.end, self._plugins.close):
            try:
                end()
            except Exception:
                traceback.print_exc()

    def _configure(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        self._transformations = Transformations(self._plugins)
        self._converters = Converters(self._plugins)
        self._source = StageSource(self.channel, self._transformations)
        self._sink = StageSink(self.channel, self._transformations)
        self._connector = StageConnector(self.channel)
        self._handlers = self._table()

    def _table(self) -> dict[str, Handler]:
        source, sink, connector = self._source, self._sink, self._connector
        return {
            "ping": lambda request: None,
            "configure": self._on_configure,
            "load": self._on_load,
            "apply": self._on_apply,
            "test": self._on_test,
            "serialize": lambda request: conversion.answer_serialize(self._converters, request),
            "deserialize": lambda request: conversion.answer_deserialize(self._converters, request),
            "serialize_headers": lambda request: conversion.answer_write_headers(self._converters, request),
            "deserialize_headers": lambda request: conversion.answer_read_headers(self._converters, request),
            "source.start": source.start,
            "source.credit": source.credit,
            "source.hold": source.hold,
            "source.resume": source.resume,
            "source.commit": source.commit,
            "source.commit_records": source.commit_records,
            "source.stop": source.stop,
            "sink.start": sink.start,
            "sink.open": sink.open,
            "sink.put": sink.put,
            "sink.pre_commit": sink.pre_commit,
            "sink.close": sink.close,
            "sink.stop": sink.stop,
            "describe": definition.answer_describe,
            "validate": definition.answer_validate,
            "connector.load": connector.load,
            "connector.config": connector.config,
            "connector.validate": connector.validate,
            "connector.start": connector.start,
            "connector.task_configs": connector.task_configs,
            "connector.stop": connector.stop,
        }

    def _receive(self, request: Request) -> None:
        if request.op == "stacks":
            request.reply({"stacks": _stacks()})  # here, on the reader's thread: the others may hang
            return
        if request.op == "stopping":
            self._stopping.set()  # here as well: the main thread may be waiting for its next attempt
            return
        commits = request.op in ("source.commit", "source.commit_records", "source.stop")
        (self._commits if commits else self._requests).put(request)

    def _serve_commits(self) -> None:
        """Serve commits; a stop passes through here, so that the commits before it are done by then."""
        with contextlib.suppress(ChannelClosed):
            while True:
                request = self._commits.get()
                if request.op == "source.stop":
                    self._requests.put(request)
                else:
                    self._serve(request)

    def _serve(self, request: Request) -> None:
        handler = self._handlers.get(request.op)
        if handler is None:
            request.fail(LookupError(f"protocol {PROTOCOL_VERSION} has no operation {request.op!r}"))
        else:
            request.answer(handler)

    def _on_configure(self, request: Request) -> None:
        self._plugins.close()
        args = request.args
        self._configure(args["type"], Retry(args["retry_timeout"], args["retry_delay_max"], self._stopping))

    def _on_load(self, request: Request) -> Reply:
        versions = [
            self._plugins.load(each["role"], each["class_name"], each["reference"], each["config"])
            for each in request.args["plugins"]
        ]
        return Reply({"versions": versions})

    def _on_apply(self, request: Request) -> Reply:
        outcome = self._transformations.apply(steps_of(request.args["steps"]), request.batches[0])
        return Reply({"failures": [failure.to_json() for failure in outcome.failures]}, outcome.batches)

    def _on_test(self, request: Request) -> Reply:
        mask, failures = self._transformations.test(request.args["role"], request.batches[0])
        return Reply({"mask": mask.to_pylist(), "failures": [failure.to_json() for failure in failures]})


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
