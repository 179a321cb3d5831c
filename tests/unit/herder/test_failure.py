"""Connectors that misbehave: each fails alone, and the others continue."""

from __future__ import annotations

from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.herder.instance import TransitionFailed
from hearth.herder.planner import Planner
from hearth.herder.plugin.stage import PluginStage
from hearth.herder.supervisor import Restart
from hearth.runtime.launcher import RunLoss
from hearth.storage import RestartRequest, State, TargetState
from hearth_api import ConnectError
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.fake import Bench


@pytest.mark.parametrize(("deed", "says"), [("raise", "start does not work today"), ("exit", "exited with 7")])
def test_a_connector_that_fails_to_start_is_failed_with_a_trace(
    bench: Bench, deed: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is stored, so it can be corrected and restarted; the response and the log have the reason."""
    with pytest.raises(ConnectError, match=f"Failed to transition connector c to state STARTED: .*{says}"):
        bench.put("c", do_start=deed)
    (record,) = [each for each in caplog.records if "the connector is FAILED" in each.getMessage()]
    assert says in record.getMessage()
    state = bench.connector("c")["connector"]
    assert state["state"] == "FAILED"
    assert says in state["trace"]
    assert bench.put("c")["tasks"] == [{"connector": "c", "task": 0}]
    assert bench.connector("c")["connector"]["state"] == "RUNNING"


def test_a_null_value_fails_the_connector_with_the_key(bench: Bench) -> None:
    """As in Kafka Connect, validation accepts null for a declared key, but no connector can use it."""
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": None}
    with pytest.raises(TransitionFailed) as caught:
        bench.herder.put("c", config).result(30)  # type: ignore[arg-type]
    assert str(caught.value) == "Non-string value found in original settings for key topic: null"
    state = bench.connector("c")["connector"]
    assert state["state"] == "FAILED"
    assert "hint: give the key a value or remove it" in state["trace"]


def test_a_connector_that_hangs_blocks_no_other(bench: Bench) -> None:
    """Its call has a deadline, and other connectors have other queues."""
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "do.start": "hang"}
    hanging = bench.herder.put("c", {**config, "plugin.call.timeout.ms": "1000"})
    bench.put("d")
    assert not hanging.done()
    with pytest.raises(ConnectError, match="Failed to transition"):
        hanging.result(30)
    assert "did not answer 'connector.start' within 1 s" in bench.connector("c")["connector"]["trace"]


def test_deleting_a_connector_that_hangs_interrupts_its_call(bench: Bench) -> None:
    """The call itself may take minutes; Java's worker abandons such a connector after five seconds."""
    bench.herder._queues._interrupt_after = 0.5
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "do.start": "hang"}
    hanging = bench.herder.put("c", config)
    bench.configs_hold("c")
    again = bench.herder.restart_connector("c")
    assert not again.done()
    with pytest.raises(ConnectError):
        hanging.result(30)
    bench.herder.delete("c").result(30)
    assert again.done()
    assert bench.herder.connectors() == []


@pytest.mark.parametrize("call", ["start", "task.configs"])
def test_the_worker_bounds_every_call_of_a_connector(tmp_path: Path, call: str) -> None:
    """Deleting a connector that hangs takes no longer than the configured timeout."""
    bench = Bench(tmp_path, {"plugin.call.timeout.ms": "1000"})
    try:
        bench.herder.put("c", {"name": "c", "connector.class": "FileStreamSource", "topic": "t", f"do.{call}": "hang"})
        bench.await_connector("c", State.FAILED)
        trace = bench.connector("c")["connector"]["trace"]
        assert f"did not answer 'connector.{call.replace('.', '_')}' within 1 s" in trace
        bench.herder.delete("c").result(30)
    finally:
        bench.herder.shut_down()


def test_a_timeout_that_is_not_a_number_fails_the_connector(bench: Bench) -> None:
    """Kafka Connect has no such key, so its validation accepts it."""
    with pytest.raises(ConnectError, match="Failed to transition connector c to state STARTED"):
        bench.put("c", plugin_call_timeout_ms="soon")
    trace = bench.connector("c")["connector"]["trace"]
    assert "Invalid value soon for configuration plugin.call.timeout.ms: Not a number of type LONG" in trace


def test_an_invalid_isolation_value_fails_the_connector(bench: Bench) -> None:
    """For the same reason."""
    with pytest.raises(ConnectError, match="String must be one of: environment, connector"):
        bench.put("c", plugin_isolation="none")
    assert bench.connector("c")["connector"]["state"] == "FAILED"


def test_a_connector_with_too_many_tasks_is_failed(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The message has both numbers (KIP-1004), in the response and the log."""
    with pytest.raises(ConnectError, match="has generated 3 tasks, which is greater than 2"):
        bench.put("c", tasks="3", tasks_max="2")
    assert caplog.text.count("has generated 3 tasks") == 1
    state = bench.connector("c")
    assert state["connector"]["state"] == "FAILED"
    assert (
        "The connector c has generated 3 tasks, which is greater than 2, the maximum number of tasks it is configured "
        "to create. This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
        "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be removed in a "
        "future release of Kafka Connect."
    ) in state["connector"]["trace"]
    assert state["tasks"] == []


def test_tasks_above_a_lowered_maximum_do_not_restart(bench: Bench) -> None:
    """Running ones continue, as in Kafka Connect; a restarted one is FAILED with the reason."""
    bench.put("c", tasks="3", tasks_max="3")
    for task in range(3):
        bench.await_task("c", State.RUNNING, task)
    with pytest.raises(ConnectError, match="does not say what its tasks are"):
        bench.put("c", tasks="3", tasks_max="2")
    assert [each["state"] for each in bench.connector("c")["tasks"]] == ["RUNNING"] * 3
    with pytest.raises(TransitionFailed, match="Failed to start task: c-1"):
        bench.herder.restart_task("c", 1).result(30)
    bench.await_task("c", State.FAILED, 1)
    states = bench.connector("c")["tasks"]
    assert [each["state"] for each in states] == ["RUNNING", "FAILED", "RUNNING"]
    assert "has generated 3 tasks, which is greater than 2" in states[1]["trace"]


def test_too_many_tasks_may_be_allowed(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """In the deprecated way; the log has both numbers."""
    bench.put("c", tasks="3", tasks_max="2", tasks_max_enforce="false")
    assert len(bench.connector("c")["tasks"]) == 3
    assert "The connector c has generated 3 tasks, which is greater than 2" in caplog.text


def test_a_connector_that_returns_no_task_configurations_is_failed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing can run, and the request fails with the reason."""
    with pytest.raises(ConnectError, match=r"does not say what its tasks are: .*task_configs does not work today"):
        bench.put("c", do_task_configs="raise")
    bench.await_connector("c", State.FAILED)
    (record,) = [each for each in caplog.messages if "the connector is FAILED" in each]
    assert "task_configs does not work today" in record


def test_a_connector_that_reports_an_error_is_failed(bench: Bench) -> None:
    """Its tasks continue."""
    bench.put("c", complain="the database is gone")
    bench.await_connector("c", State.FAILED)
    assert "the database is gone" in bench.connector("c")["connector"]["trace"]


def stage_of(bench: Bench, name: str) -> PluginStage:
    """Return the stage of a connector's instance, once it exists."""
    found: list[PluginStage] = []

    def look() -> bool:
        run = bench.supervisor(name)._run
        stage = None if run is None or run._stage is None else run._stage._stage
        found.extend([stage] if stage is not None and stage.is_alive else [])
        return bool(found)

    assert eventually(look, TIMEOUT)
    return found[0]


@pytest.mark.parametrize("target", [TargetState.STARTED, TargetState.PAUSED])
def test_tasks_survive_the_end_of_a_shared_connector_process(bench: Bench, target: TargetState) -> None:
    """Every started instance restarts in another process with the same state."""
    for name in "cd":
        bench.put(name)
        bench.await_task(name, State.RUNNING)
        bench.herder.want(name, target).result(30)
    runs = list(bench.spark.runs)
    before = {name: stage_of(bench, name) for name in "cd"}
    before["c"]._process.stage.kill()
    for name in "cd":
        if target is TargetState.PAUSED:
            bench.herder.want(name, TargetState.STARTED).result(30)
        assert stage_of(bench, name) is not before[name]
        bench.settle(name)
        assert bench.connector(name)["connector"]["state"] == "RUNNING"
    assert stage_of(bench, "c")._process is stage_of(bench, "d")._process
    assert bench.spark.runs == runs


def test_only_the_connector_that_ended_a_shared_process_is_failed(bench: Bench) -> None:
    """The other tenants continue, and it shares no process until it is reconfigured."""
    bench.put("d")
    with pytest.raises(ConnectError, match="exited with 7"):
        bench.put("c", do_start="exit")
    bench.await_connector("c", State.FAILED)
    assert stage_of(bench, "d").is_shared
    bench.settle("d")
    assert bench.connector("d")["connector"]["state"] == "RUNNING"
    assert bench.supervisor("c")._sharing_history.is_apart
    bench.put("c")
    assert stage_of(bench, "c")._process is stage_of(bench, "d")._process


def test_a_task_keeps_its_own_process_until_its_connector_is_reconfigured(bench: Bench) -> None:
    """A manual restart does not change that; a new configuration may have fixed the cause."""
    bench.put("c", task_isolation="environment")
    bench.await_task("c", State.RUNNING)
    bench.spark.end(bench.spark.newest("c", 0), RunLoss("it did not answer", was_shared=True, is_suspect=True))
    bench.herder.restart_task("c", 0).result(30)
    assert [bool(run.launch.shares) for run in bench.spark.runs] == [True, False, False]
    bench.put("c", task_isolation="environment", batch_size="7")
    bench.settle("c")
    assert bench.spark.newest("c", 0).launch.shares


def test_a_connector_process_that_ends_fails_its_connector(bench: Bench) -> None:
    """One in its own process; the trace says how the process ended."""
    bench.put("d")
    bench.put("c", plugin_isolation="connector")
    assert stage_of(bench, "c")._process is not stage_of(bench, "d")._process
    stage_of(bench, "c")._process.stage.kill()
    bench.await_connector("c", State.FAILED)
    assert "killed by signal 9" in bench.connector("c")["connector"]["trace"]
    bench.herder.restart_connector("c").result(30)
    assert bench.connector("c")["connector"]["state"] == "RUNNING"


def test_a_failed_connector_cannot_be_resumed_but_can_be_stopped(bench: Bench) -> None:
    """As in Kafka: only stop and restart leave FAILED."""
    bench.put("c", complain="x")
    bench.await_connector("c", State.FAILED)
    bench.herder.want("c", TargetState.PAUSED).result(30)
    assert bench.connector("c")["connector"]["state"] == "FAILED"
    bench.herder.want("c", TargetState.STOPPED).result(30)
    assert bench.connector("c")["connector"]["state"] == "STOPPED"


def test_an_undefined_predicate_fails_the_tasks(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Validation accepts it, as Kafka's does."""
    bench.put(
        "c", transforms="a", transforms_a_type="RegexRouter", transforms_a_regex="x",
        transforms_a_replacement="y", transforms_a_predicate="p",
    )  # fmt: skip
    task = bench.connector("c")["tasks"][0]
    assert task["state"] == "FAILED"
    assert "transforms.a.predicate" in task["trace"]
    (record,) = [each for each in caplog.messages if "no task was started" in each]
    assert "transforms.a.predicate" in record


def test_errors_of_a_replaced_instance_are_ignored(bench: Bench) -> None:
    """They may arrive after its successor has started."""
    bench.put("c")
    replaced = bench.supervisor("c")._run
    assert replaced is not None
    bench.put("c")
    replaced.fail("too late")
    assert bench.connector("c")["connector"]["state"] == "RUNNING"


def test_twelve_connectors_that_hang_do_not_block_a_thirteenth(bench: Bench) -> None:
    """Nor its restart, a request for the plugins, or the shutdown of the host."""
    bench.put("thirteenth")
    config = {"connector.class": "FileStreamSource", "topic": "t", "do.start": "hang"}
    hanging = [bench.herder.put(f"c{number}", {**config, "name": f"c{number}"}) for number in range(12)]
    for number in range(12):
        bench.configs_hold(f"c{number}")
    bench.herder.restart_connector("thirteenth").result(30)
    bench.herder.restart_task("thirteenth", 0).result(30)
    assert bench.herder.plugin_keys("FileStreamSink", None).result(30)
    assert not any(each.done() for each in hanging)
    bench.herder.shut_down()
    for each in hanging:
        with pytest.raises((ConnectError, CancelledError)):
            each.result(30)


def test_tasks_of_a_connector_without_an_instance_are_restarted(bench: Bench) -> None:
    """As in Kafka Connect, where the failure to create an instance does not affect the tasks."""
    bench.put("c")
    bench.await_task("c", State.RUNNING)
    supervisor = bench.supervisor("c")
    assert supervisor._run is not None
    supervisor._run.shut_down()
    supervisor._run = None
    launched = len(bench.spark.runs)
    bench.herder.restart_task("c", 0).result(30)
    bench.await_task("c", State.RUNNING)
    assert len(bench.spark.runs) == launched + 1
    bench.herder.restart(RestartRequest("c", include_tasks=True)).result(30)
    bench.await_task("c", State.RUNNING)
    assert bench.connector("c")["connector"]["state"] == "RUNNING"


def test_a_task_whose_plugins_are_missing_changes_from_restarting_to_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status has the reason, whether the machine fails or a plugin is missing."""
    bench.put("c")
    bench.await_task("c", State.RUNNING)

    def gone(*arguments: object) -> None:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(Planner, "plan", gone)
    with pytest.raises(TransitionFailed, match="Failed to start task: c-0"):
        bench.herder.restart_task("c", 0).result(30)
    state = bench.herder.view.task("c", 0)
    assert state["state"] == "FAILED"
    assert "No such file or directory" in state["trace"]


def test_no_connector_starts_after_the_host_has_stopped(bench: Bench) -> None:
    """A queue that is busy when the host stops may reach that point later, and nothing would stop the connector."""
    bench.put("c")
    entry = bench.configs.snapshot().find("c")
    assert entry is not None
    supervisor = bench.supervisor("c")
    supervisor.end()
    with pytest.raises(ConnectError, match="the host is stopping"):
        supervisor.reconcile(replace(entry, revision=entry.revision + 1), Restart())
    assert supervisor._run is None
    assert len(bench.spark.runs) == 1
