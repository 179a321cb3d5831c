"""Plugins that raise, hang, exit or are killed: their own task is FAILED with the reason, the rest runs on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.crash.process import Process, owner, stages, tree
from tests.integration.conftest import Host, MakeRecorder
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

SOURCE = "org.example.MisbehavingSourceConnector"
SINK = "org.example.MisbehavingSinkConnector"
LIMIT = "2000"

WORDS = {
    "raise": ["RuntimeError: raised in {where} as configured", "do_raise"],
    "exit": ["the stage process of {name}-0 exited with 3"],
    "kill": ["the stage process of {name}-0 was killed by signal 9"],
    "group": ["the stage process of {name}-0 was killed by signal 9"],
    "hang": ["did not answer", "within 2 s", "do_hang"],
}
"""The expected trace for each way to misbehave: reason and place."""


def misbehaving(name: str, connector: str, **settings: str) -> dict[str, str]:
    """Return the configuration of a connector that misbehaves."""
    own = {key.replace("_", "."): value for key, value in settings.items()}
    config = {"name": name, "connector.class": connector, "plugin.call.timeout.ms": LIMIT, **own}
    return {**config, ("topics" if connector == SINK else "topic"): name}


@contextmanager
def good_neighbour(host: Host, topics: Topics, name: str) -> Iterator[None]:
    """Run a source during the block; it has to keep running, and to deliver after it."""
    neighbour = f"{name}-neighbour"
    host.run(misbehaving(neighbour, SOURCE))
    generations = host.rest.status(neighbour)
    yield
    before = topics.count(neighbour)
    assert eventually(lambda: topics.count(neighbour) > before, TIMEOUT)
    assert host.rest.status(neighbour) == generations


def trace_of(host: Host, name: str) -> str:
    """Wait until the task is FAILED while its connector runs, and return the trace."""
    host.wait_for_state(name, "FAILED", TIMEOUT)
    assert host.rest.states(name) == ["RUNNING", "FAILED"]
    return str(host.rest.status(name)["tasks"][0]["trace"])


@pytest.mark.parametrize("how", WORDS)
@pytest.mark.parametrize("where", ["start", "poll"])
def test_a_source_that_misbehaves_fails_alone(host: Host, topics: Topics, name: str, how: str, where: str) -> None:
    """In every case the task is FAILED with a trace that names reason and place; the other source runs."""
    with good_neighbour(host, topics, name):
        after = "3" if where == "poll" else "0"
        config = misbehaving(name, SOURCE, misbehave_how=how, misbehave_where=where, misbehave_after=after)
        assert host.rest.create(config).status == 201
        trace = trace_of(host, name)
    for words in WORDS[how]:
        assert words.format(name=name, where=where) in trace
    assert "During handling of the above exception" not in trace


def test_a_source_over_its_memory_limit_fails_alone(host: Host, topics: Topics, name: str) -> None:
    """The trace has the memory in use and the key that limits it; records delivered before stay.

    It restarts automatically if configured, and is ended again for the same reason.
    """
    limited = {
        "plugin.limits.memory.bytes": str(128 << 20),
        "plugin.limits.cpus": "2",
        "plugin.limits.open.files": "100",
        "plugin.limits.temporary.bytes": str(1 << 20),
        "plugin.network": "none",
        "plugin.processes": "own",
        "plugin.call.timeout.ms": "60000",
        "errors.task.restart.max": "1",
        "errors.task.restart.backoff.ms": "50",
    }
    with good_neighbour(host, topics, name):
        config = misbehaving(name, SOURCE, misbehave_how="hog", misbehave_where="poll", misbehave_after="3")
        assert host.rest.create({**config, **limited}).status == 201
        stays = f"task {name}-0 was restarted 1 times in a row and stays FAILED"
        assert eventually(lambda: stays in host.last_words(), TIMEOUT), host.last_words()
        trace = trace_of(host, name)
    assert trace.startswith(f"the stage process of {name}-0 was ended: it used ")
    assert "bytes of memory, more than plugin.limits.memory.bytes=134217728\nin it: " + SOURCE in trace
    assert topics.count(name) == 6


def test_a_source_restarts_automatically_up_to_its_limit(host: Host, topics: Topics, name: str) -> None:
    """Each run delivers the records before its failure; then the task is FAILED like any other."""
    restarts = {"errors.task.restart.max": "1", "errors.task.restart.backoff.ms": "50"}
    config = misbehaving(name, SOURCE, misbehave_how="raise", misbehave_where="poll", misbehave_after="3")
    assert host.rest.create({**config, **restarts}).status == 201
    stays = f"task {name}-0 was restarted 1 times in a row and stays FAILED"
    assert eventually(lambda: stays in host.last_words(), TIMEOUT)
    assert f"task {name}-0 restarts in 0.05 s: restart 1 of at most 1 in a row" in host.last_words()
    assert "raised in poll as configured" in trace_of(host, name)
    assert topics.count(name) == 6


def test_a_pending_batch_that_cannot_be_encoded_fails_a_polling_task(host: Host, topics: Topics, name: str) -> None:
    """Invalid records wait in a batch in the stage; the error is reported although the next poll never returns."""
    config = misbehaving(name, SOURCE, misbehave_how="shapeless")
    assert host.rest.create({**config, "plugin.call.timeout.ms": "600000"}).status == 201
    trace = trace_of(host, name)
    assert "'str' object has no attribute" in trace
    assert "do_hang" not in trace
    assert [record.value for record in topics.read(name)] == [b"%d" % number for number in range(100)]


def test_a_record_that_does_not_match_its_schema_can_be_tolerated(host: Host, topics: Topics, name: str) -> None:
    """With errors.tolerance=none the task fails after the records before it; else the record is skipped."""
    config = misbehaving(name, SOURCE, misbehave_how="mismatch")
    assert host.rest.create(config).status == 201
    trace = trace_of(host, name)
    assert "Tolerance exceeded" in trace
    assert "TASK_POLL with class misbehaving.MisbehavingSourceTask" in trace
    assert [record.value for record in topics.read(name)] == [b"0", b"1"]
    host.delete(name)
    host.run(misbehaving(f"{name}-all", SOURCE, misbehave_how="mismatch", errors_tolerance="all"))
    assert eventually(lambda: topics.count(f"{name}-all") > 6, TIMEOUT)
    found = [int(record.value or b"") for record in topics.read(f"{name}-all")]
    assert found == [number for number in range(found[-1] + 1) if number % 3 != 2]


@pytest.mark.parametrize(("how", "where"), [("raise", "put"), ("exit", "put"), ("hang", "put"), ("kill", "flush")])
def test_a_sink_that_misbehaves_fails_alone(host: Host, topics: Topics, name: str, how: str, where: str) -> None:
    """The same for sinks."""
    topics.create(name)
    topics.produce(name, [Record(None, b"value")])
    with good_neighbour(host, topics, name):
        assert host.rest.create(misbehaving(name, SINK, misbehave_how=how, misbehave_where=where)).status == 201
        trace = trace_of(host, name)
    for words in WORDS[how]:
        assert words.format(name=name, where=where) in trace
    assert (f"records: 1, {name}-0 from offset 0 to 0" in trace) is (where == "put")


@pytest.mark.parametrize("how", WORDS)
def test_a_transformation_that_misbehaves_fails_its_task_alone(
    host: Host, topics: Topics, name: str, how: str, recorder: MakeRecorder
) -> None:
    """A transformation from another bundle than the task's has its own stage; if that ends, the task fails."""
    topics.create(name)
    with good_neighbour(host, topics, name):
        sink = recorder(
            name,
            transforms="bad",
            transforms_bad_type="org.example.Misbehave",
            transforms_bad_misbehave_how=how,
            plugin_call_timeout_ms=LIMIT,
        )
        topics.produce(name, [Record(None, b"value")])
        trace = trace_of(host, sink.config["name"])
    for words in WORDS[how]:
        assert words.format(name=sink.config["name"], where="apply") in trace
    assert sink.taken() == []


def test_a_connector_that_fails_to_start_reports_the_reason(host: Host, name: str) -> None:
    """The response is Kafka Connect's; the reason is in the status, and REST continues to respond."""
    config = misbehaving(name, SOURCE, misbehave_how="raise", misbehave_where="connector.start")
    assert host.rest.create(config).status == 500
    assert eventually(lambda: host.rest.states(name)[:1] == ["FAILED"], TIMEOUT)
    assert "raised in connector.start as configured" in host.rest.status(name)["connector"]["trace"]


def test_a_connector_that_kills_its_process_group_does_not_kill_the_host(
    host: Host, topics: Topics, name: str
) -> None:
    """Its process is the only member of the group, on the host as in an executor."""
    with good_neighbour(host, topics, name):
        config = misbehaving(name, SOURCE, misbehave_how="group", misbehave_where="connector.start")
        assert host.rest.create(config).status == 500
        assert eventually(lambda: host.rest.states(name)[:1] == ["FAILED"], TIMEOUT)
        assert "was killed by signal 9" in host.rest.status(name)["connector"]["trace"]


@pytest.mark.parametrize("where", ["start", "poll", "stop", "connector.stop"])
def test_a_connector_with_a_hanging_plugin_can_be_deleted(host: Host, topics: Topics, name: str, where: str) -> None:
    """A deleted connector and its processes end within seconds, whatever the plugin does."""
    before = {each.pid for each in tree(host.pid)}
    settings = {"misbehave_how": "hang", "misbehave_where": where, "plugin_call_timeout_ms": "300000"}
    assert host.rest.create(misbehaving(name, SOURCE, **settings)).status == 201
    if where in ("stop", "connector.stop"):
        host.wait_for_state(name, "RUNNING")
    started = time.monotonic()
    host.delete(name, timeout=60)
    assert eventually(lambda: not started_since(host, before), TIMEOUT), started_since(host, before)
    assert time.monotonic() - started < 60


def started_since(host: Host, before: set[int]) -> list[Process]:
    """Return the stage processes of a host that were started after ``before``."""
    return [each for each in stages(host.pid) if each.pid not in before]


def test_a_killed_stage_fails_its_task_and_a_restart_continues(host: Host, topics: Topics, name: str) -> None:
    """It stays FAILED until a user restarts it; then the source continues from its last commit."""
    host.run(misbehaving(name, SOURCE))
    assert eventually(lambda: topics.count(name) > 20, TIMEOUT)
    before = {each.pid for each in tree(host.pid)}
    stage = stage_of(host, name)
    os.kill(stage.pid, signal.SIGKILL)
    assert "was killed by signal 9" in trace_of(host, name)
    held = topics.count(name)
    assert host.rest.call("POST", f"/connectors/{name}/tasks/0/restart").status == 204
    host.wait_for_state(name, "RUNNING")
    assert eventually(lambda: topics.count(name) > held + 20, TIMEOUT)
    seen = dict.fromkeys(int(record.value or b"-1") for record in topics.read(name))
    assert list(seen) == list(range(len(seen))), before


def stage_of(host: Host, name: str) -> Process:
    """Return the stage process of a connector's single task, which runs alone on the host."""
    mine = [each for each in stages(host.pid) if owner(each).pid != host.pid]
    assert len(mine) == 1, [each.command for each in mine]
    return mine[0]
