"""Users pause, resume, stop and restart connectors and tasks while records flow; and Spark's web UI."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hearth.spark.driver import driver_archive
from tests.crash.process import defunct, holder, owner, stages, tree
from tests.integration.conftest import Host
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

FILES = "org.apache.kafka.connect.file.FileStream"
MISBEHAVING = "org.example.MisbehavingSourceConnector"


class Lines:
    """A source file and a sink file, and the two connectors between them."""

    def __init__(self, host: Host, name: str, folder: Path) -> None:
        self.host, self.name = host, name
        self.source_file, self.sink_file = folder / "in.txt", folder / "out.txt"
        self.source, self.sink = f"{name}-source", f"{name}-sink"
        self.written = 0

    def run(self) -> None:
        """Create both connectors."""
        source = {"connector.class": f"{FILES}SourceConnector", "file": str(self.source_file), "topic": self.name}
        sink = {"connector.class": f"{FILES}SinkConnector", "file": str(self.sink_file), "topics": self.name}
        self.host.run({"name": self.source, **source})
        self.host.run({"name": self.sink, **sink})

    def write(self, count: int = 10) -> None:
        """Append lines."""
        with self.source_file.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.written, self.written + count))
        self.written += count

    def await_all(self) -> None:
        """Wait until all written lines have arrived: in order, exactly once."""
        wanted = "".join(f"line {number}\n" for number in range(self.written))
        eventually(lambda: self.arrived() >= self.written, TIMEOUT)
        assert self.sink_file.read_text() == wanted

    def arrived(self) -> int:
        """Return the number of lines in the sink file."""
        return self.sink_file.read_text().count("\n") if self.sink_file.exists() else 0

    def ask(self, method: str, connector: str, what: str) -> None:
        """Send a request about a connector, which has to succeed."""
        answer = self.host.rest.call(method, f"/connectors/{connector}/{what}")
        assert answer.status in (202, 204), answer.text


@pytest.fixture
def lines(host: Host, topics: Topics, name: str, tmp_path: Path) -> Lines:
    """Provide a pipeline that has delivered ten lines."""
    topics.create(name)
    made = Lines(host, name, tmp_path)
    made.write()
    made.run()
    made.await_all()
    return made


def test_a_paused_source_sends_nothing_until_it_is_resumed(lines: Lines, topics: Topics) -> None:
    """Connector and task are PAUSED, the task keeps its process, and lines written meanwhile arrive afterwards."""
    process = holder(lines.source_file)
    lines.ask("PUT", lines.source, "pause")
    lines.host.wait_for_state(lines.source, "PAUSED")
    lines.write()
    assert not eventually(lambda: topics.count(lines.name) > 10, 1.0)
    lines.ask("PUT", lines.source, "resume")
    lines.host.wait_for_state(lines.source, "RUNNING")
    lines.await_all()
    assert holder(lines.source_file) == process


def test_log_levels_reach_running_and_later_tasks(lines: Lines) -> None:
    """The sink's log level is set next to the source's: it stays quiet until its level is reset, across restarts."""
    path, prefix = "/admin/loggers/hearth.runtime.observer", f"[{lines.sink}|task-0] "

    def set_level(level: str) -> None:
        assert lines.host.rest.call("PUT", path, {"level": level}).status == 200

    def rest_and_run() -> None:
        lines.ask("PUT", lines.sink, "pause")
        lines.host.wait_for_state(lines.sink, "PAUSED")
        lines.ask("PUT", lines.sink, "resume")
        lines.host.wait_for_state(lines.sink, "RUNNING")

    set_level("ERROR")
    try:
        rest_and_run()
        lines.ask("POST", lines.sink, "tasks/0/restart")
        lines.host.wait_for_state(lines.sink, "RUNNING")
        rest_and_run()
        assert f"{prefix}the task is paused" not in lines.host.last_words()
    finally:
        set_level("INFO")
    rest_and_run()
    assert eventually(lambda: f"INFO {prefix}the task is paused" in lines.host.last_words(), TIMEOUT)


def test_a_paused_sink_keeps_its_partitions_and_takes_nothing(lines: Lines) -> None:
    """Records that arrive while it is paused are delivered once it is resumed."""
    process = holder(lines.sink_file)
    lines.ask("PUT", lines.sink, "pause")
    lines.host.wait_for_state(lines.sink, "PAUSED")
    lines.write()
    assert not eventually(lambda: lines.arrived() > 10, 1.0)
    lines.ask("PUT", lines.sink, "resume")
    lines.await_all()
    assert holder(lines.sink_file) == process


def test_a_stopped_connector_has_no_tasks_and_resumes_from_its_offsets(lines: Lines) -> None:
    """Unlike a pause, a stop ends the processes; offsets stay, so nothing is repeated."""
    processes = [holder(lines.source_file), holder(lines.sink_file)]
    for connector in (lines.source, lines.sink):
        lines.ask("PUT", connector, "stop")
        assert eventually(lambda name=connector: lines.host.rest.states(name) == ["STOPPED"], TIMEOUT)  # type: ignore[misc]
    assert eventually(lambda: not any(each.is_alive for each in processes), TIMEOUT)
    lines.write()
    for connector in (lines.source, lines.sink):
        lines.ask("PUT", connector, "resume")
        lines.host.wait_for_state(connector, "RUNNING")
    lines.await_all()


@pytest.mark.parametrize("what", ["restart?includeTasks=true", "tasks/0/restart"])
def test_a_restart_drains_the_task_and_starts_a_new_process(lines: Lines, what: str) -> None:
    """Both ways to restart a task repeat and lose nothing, although lines are in flight."""
    before = [holder(lines.source_file), holder(lines.sink_file)]
    for connector in (lines.source, lines.sink):
        lines.write()
        lines.ask("POST", connector, what)
        lines.write()
    assert eventually(lambda: not any(each.is_alive for each in before), TIMEOUT)
    lines.await_all()
    for connector in (lines.source, lines.sink):
        lines.host.wait_for_state(connector, "RUNNING")


def test_a_restart_of_the_connector_alone_leaves_its_tasks_running(lines: Lines) -> None:
    """Kafka Connect's default: only the connector instance is recreated."""
    before = [holder(lines.source_file), holder(lines.sink_file)]
    for connector in (lines.source, lines.sink):
        lines.ask("POST", connector, "restart")
        lines.host.wait_for_state(connector, "RUNNING")
    lines.write()
    lines.await_all()
    assert [holder(lines.source_file), holder(lines.sink_file)] == before


def test_a_changed_configuration_reaches_the_tasks(lines: Lines, topics: Topics) -> None:
    """PUT of a configuration replaces the tasks; the source continues after the last line, in the new topic."""
    config = lines.host.rest.call("GET", f"/connectors/{lines.source}/config").json
    changed = {**config, "topic": f"{lines.name}-new"}
    assert lines.host.rest.call("PUT", f"/connectors/{lines.source}/config", changed).status == 200
    lines.write()
    assert eventually(lambda: topics.count(f"{lines.name}-new") == 10, TIMEOUT)
    assert topics.read(f"{lines.name}-new")[0] == Record(None, b"line 10")


def test_a_deleted_connector_ends_its_processes_and_keeps_its_offsets(lines: Lines) -> None:
    """Source offsets outlive the connector, as in Kafka Connect; so does the sink's group."""
    stages = [holder(lines.source_file), holder(lines.sink_file)]
    runtimes = [owner(stage) for stage in stages]
    for connector in (lines.source, lines.sink):
        lines.host.delete(connector)
    assert eventually(lambda: not any(each.is_alive for each in stages), TIMEOUT), runtimes
    lines.write()
    lines.run()
    lines.await_all()


def test_a_running_host_has_no_zombies(lines: Lines, host: Host) -> None:
    """The host reaps all its processes, also those that Spark's scripts started."""
    assert eventually(lambda: not defunct(host.pid), TIMEOUT), defunct(host.pid)


def test_twenty_tasks_of_one_connector_run_at_once(host: Host, topics: Topics, name: str) -> None:
    """A slot is a waiting thread, so a local host has room for many tasks; each of them delivers.

    The stages of an environment are forked from one process, except the first, whichever Python worker requests them.
    """
    topics.create(name)
    config = {"name": name, "connector.class": MISBEHAVING, "topic": name, "tasks.max": "20"}
    assert host.rest.create(config).status == 201
    assert eventually(lambda: host.rest.states(name) == ["RUNNING"] * 21, TIMEOUT), host.rest.states(name)
    assert eventually(lambda: len([next_ for next_ in next_numbers(host, name) if next_ > 5]) == 20, TIMEOUT)
    assert max(Counter(each.parent for each in stages(host.pid)).values()) == 19


def next_numbers(host: Host, name: str) -> list[int]:
    """Return the committed position of each task of a misbehaving source."""
    path = host.folder / "connect.offsets"
    stored = json.loads(path.read_text())["offsets"] if path.exists() else {}
    return [offset["next"] for _, offset in stored.get(name, [])]


def test_the_spark_ui_lists_a_job_for_each_task(lines: Lines) -> None:
    """Spark's web UI shows which job is which task."""
    jobs = [job for job in spark_jobs(lines.host) if job["status"] == "RUNNING"]
    by_group = {job["jobGroup"]: job["description"] for job in jobs}
    assert by_group[f"{lines.source}-0"] == f"{lines.source}-0 ({FILES}SourceConnector)"
    assert by_group[f"{lines.sink}-0"] == f"{lines.sink}-0 ({FILES}SinkConnector)"


def test_the_driver_uses_its_class_data_archive(lines: Lines) -> None:
    """A JVM ignores an archive made for another class path without a message."""
    archive = driver_archive().path  # made by the set-up
    (driver,) = (each for each in tree(lines.host.pid) if "org.apache.spark.deploy.SparkSubmit" in each.command)
    assert str(archive) in Path(f"/proc/{driver.pid}/maps").read_text()


def spark_jobs(host: Host) -> Any:
    """Return the jobs that Spark's REST API lists."""
    root = f"{host.spark_page()}/api/v1/applications"
    application = _get(root)[0]["id"]
    return _get(f"{root}/{application}/jobs")


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.loads(answer.read())
