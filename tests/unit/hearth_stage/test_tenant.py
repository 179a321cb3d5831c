"""Tenants of one stage process: each has its own calls and messages, and they leave one by one."""

from __future__ import annotations

import gc
import os
import queue
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import STRING_SCHEMA, ConfigDef, SinkRecord, SinkTask, SourceConnector, Task
from hearth_api.batch import Batch
from hearth_stage.call import Call
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.connector_call import AskTaskConfigs, LoadConnector, RequestReconfiguration, StartConnector
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.operation import FROM_STAGE, Hello
from hearth_stage.plugin_call import AskStacks, Configure, EndTenant, Ping
from hearth_stage.program import Program
from hearth_stage.task_call import Put, SkipPuts, StartSink
from hearth_stage.tenancy import current_tenant
from tests.timeouts import TIMEOUT

gate = threading.Event()
ended: queue.Queue[str] = queue.Queue()


class Connector(SourceConnector):
    """Requests reconfiguration when it starts, and can block in its call for task configurations."""

    def version(self) -> str:
        """Return a version."""
        return "1"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, props: Mapping[str, str]) -> None:
        """Speak to the host."""
        self._name = props["name"]
        self.context.request_task_reconfiguration()
        if "fail" in props:
            raise RuntimeError("it does not start")

    def task_class(self) -> type[Task]:
        """Return a class."""
        return Task

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return its identity and thread."""
        if self._name == "slow":
            assert gate.wait(TIMEOUT)
        return [{"name": self._name, "tenant": str(current_tenant()), "thread": threading.current_thread().name}]

    def stop(self) -> None:
        """Record the stop."""
        ended.put(self._name)


class Sink:
    """The connector of a task that blocks in each put."""

    def task_class(self) -> type[Task]:
        """Return the class below."""
        return WaitingTask


class WaitingTask(SinkTask):
    """Reports its records, and continues when permitted."""

    def version(self) -> str:
        """Return a version."""
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Hold nothing."""

    def put(self, records: Collection[SinkRecord]) -> None:
        """Wait."""
        ended.put(",".join(record.value for record in records))
        assert gate.wait(TIMEOUT)


class HeldProgram(Program):
    """A stage in a thread, which does not end this process."""

    def _halt(self) -> None:
        """Leave it to the test."""


class Runtime:
    """The other end of a stage that runs in a thread here."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.heard: queue.Queue[Request] = queue.Queue()
        self.program = HeldProgram(theirs)
        self.channel = Channel(ours, FROM_STAGE, self.heard.put)
        self._thread = threading.Thread(target=self.program.run)
        self.channel.start()
        self._thread.start()
        assert self.heard.get(timeout=TIMEOUT).message == Hello(PROTOCOL_VERSION, os.getpid(), tenants=True)

    def call(self, call: Call[Any], tenant: int = 0) -> Any:
        """Return the answer to a call."""
        return self.channel.begin(call, tenant).result(TIMEOUT)

    def live(self, tenant: int, **props: str) -> None:
        """Start a connector."""
        self.call(LoadConnector(f"{__name__}:Connector"), tenant)
        self.call(StartConnector({"name": f"of {tenant}", **props}), tenant)

    def close(self) -> None:
        """End it."""
        gate.set()
        self.channel.close()
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive()


def put(text: str, heard: int | None = None) -> Put:
    """Return a call that puts a record."""
    data = pa.RecordBatch.from_arrays(
        [pa.array(each) for each in ([0], [7], [text], [0])], names=["partition", "offset", "value", "row"]
    )
    return Put([Batch("t", None, STRING_SCHEMA, data)], heard=heard)


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Provide a stage."""
    gate.clear()
    while not ended.empty():
        ended.get()
    made = Runtime()
    yield made
    made.close()


def test_queued_puts_are_skipped_during_a_put(runtime: Runtime) -> None:
    """With a hundred slow puts, a stop waits for one; the runtime counts its notices, and the next put applies."""
    runtime.call(StartSink(f"{__name__}:Sink", {}))
    first = runtime.channel.begin(put("a"))
    assert ended.get(timeout=TIMEOUT) == "a"
    others = [runtime.channel.begin(put(text, heard=0)) for text in "bc"]
    runtime.channel.notify(SkipPuts())
    runtime.call(AskStacks())  # is answered after everything before it was read
    gate.set()
    assert [answer.result(TIMEOUT).taken for answer in (first, *others)] == [1, 0, 0]
    assert runtime.call(put("b")).taken == runtime.call(put("c", heard=1)).taken == 1
    assert [ended.get(timeout=TIMEOUT) for _ in "bc"] == ["b", "c"]


def test_each_tenant_has_its_plugins_and_its_thread(runtime: Runtime) -> None:
    """Its calls reach its own instance; its messages have its number."""
    for tenant in (1, 2):
        runtime.live(tenant)
        asked = runtime.heard.get(timeout=TIMEOUT)
        assert (asked.tenant, asked.message) == (tenant, RequestReconfiguration())
    configs = [runtime.call(AskTaskConfigs(1), tenant).configs[0] for tenant in (1, 2)]
    assert configs == [{"name": f"of {each}", "tenant": str(each), "thread": f"stage-{each}"} for each in (1, 2)]


def test_call_does_not_wait_for_other_tenants(runtime: Runtime) -> None:
    """The stage as a whole does not wait either."""
    runtime.live(1, name="slow")
    runtime.live(2)
    waiting = runtime.channel.begin(AskTaskConfigs(1), 1)
    assert runtime.call(AskTaskConfigs(1), 2).configs[0]["name"] == "of 2"
    runtime.call(Ping())
    assert not waiting.done()
    gate.set()
    assert waiting.result(TIMEOUT).configs[0]["name"] == "slow"


def test_leaving_tenant_is_stopped_and_removed(runtime: Runtime) -> None:
    """Also if its start failed half-way; the others stay."""
    runtime.live(1)
    with pytest.raises(Exception, match="it does not start"):
        runtime.live(2, fail="yes")
    threads = dict(runtime.program._threads)
    for tenant in (2, 1):
        runtime.call(EndTenant(), tenant)
        assert ended.get(timeout=TIMEOUT) == f"of {tenant}"
        threads[tenant].join(TIMEOUT)
        assert tenant not in runtime.program._tenants
    runtime.call(Ping())


def test_records_of_a_poll_are_not_searched_for_cycles(runtime: Runtime) -> None:
    """Thousands of objects are created and dropped without a search; connectors keep the default."""
    before = gc.get_threshold()
    looks: list[str] = []

    def note(phase: str, _info: Any) -> None:
        looks.append(phase)

    runtime.call(Ping())
    assert gc.get_threshold() == before
    try:
        runtime.call(Configure("source", 0, 0))
        gc.collect()
        gc.callbacks.append(note)
        assert len([[] for _ in range(10_000)]) == 10_000
        assert looks == []
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)


def test_all_tenants_end_with_the_connection(runtime: Runtime) -> None:
    """Each stops what still runs of it."""
    for tenant in (1, 2):
        runtime.live(tenant)
    runtime.close()
    assert {ended.get(timeout=TIMEOUT) for _ in (1, 2)} == {"of 1", "of 2"}


def test_malformed_tenant_number_ends_the_connection(runtime: Runtime) -> None:
    """The message is malformed."""
    runtime.channel.send({"id": 7, "op": "ping", "args": {}, "tenant": "one"})
    assert runtime.channel.closed.wait(TIMEOUT)
    with pytest.raises(ChannelClosed):
        runtime.call(Ping())
