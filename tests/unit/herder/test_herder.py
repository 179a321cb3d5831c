"""Requests to the herder, with real connector processes and a fake Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.herder.task_link import TaskEvent
from hearth.storage import RestartRequest, State, TargetState
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError
from tests.unit.herder.catalogue import CLUSTER
from tests.unit.herder.fake import Bench


class TestCreation:
    """Creating connectors."""

    def test_a_new_connector_is_started_with_its_tasks(self, bench: Bench) -> None:
        """REST shows what Kafka Connect shows: the tasks exist when the response arrives."""
        info = bench.put("c", tasks="2", tasks_max="2")
        assert info == {
            "name": "c",
            "config": {
                "name": "c",
                "connector.class": "FileStreamSource",
                "topic": "t",
                "tasks": "2",
                "tasks.max": "2",
            },
            "tasks": [{"connector": "c", "task": 0}, {"connector": "c", "task": 1}],
            "type": "source",
        }
        bench.await_task("c", State.RUNNING, 1)
        bench.await_task("c", State.RUNNING, 0)
        worker = "127.0.0.1:8083"
        assert bench.connector("c") == {
            "name": "c",
            "connector": {"state": "RUNNING", "worker_id": worker, "version": "4.3.1"},
            "tasks": [
                {"id": 0, "state": "RUNNING", "worker_id": worker, "version": "4.3.1"},
                {"id": 1, "state": "RUNNING", "worker_id": worker, "version": "4.3.1"},
            ],
            "type": "source",
        }

    def test_a_task_is_unassigned_until_spark_runs_it(self, bench: Bench) -> None:
        """A launched task is not running yet."""
        bench.spark.starts_at_once = False
        bench.put("c")
        assert bench.herder.view.task("c", 0)["state"] == "UNASSIGNED"

    def test_a_task_plan_is_complete(self, bench: Bench) -> None:
        """Plugins with their settings, the worker's converters, and an environment for the connector."""
        bench.put(
            "c",
            transforms="a",
            transforms_a_type="RegexRouter",
            transforms_a_regex="x",
            transforms_a_replacement="y",
            transforms_a_predicate="p",
            transforms_a_negate="true",
            predicates="p",
            predicates_p_type="TopicNameMatches",
            predicates_p_pattern="z",
            key_converter="StringConverter",
            key_converter_encoding="UTF-16",
        )
        plan, is_paused = bench.spark.runs[0].plan, bench.spark.runs[0].paused
        assert (plan.name, plan.type, plan.plugin("task").version, is_paused) == ("c-0", "source", "4.3.1", False)
        assert plan.task_config["task.class"] == "org.apache.kafka.connect.file.NoTask"
        assert [plugin.role for plugin in plan.plugins] == [
            "task", "key.converter", "value.converter", "header.converter", "predicates.p", "transforms.a"
        ]  # fmt: skip
        assert plan.plugin("task").environment in plan.environments
        assert plan.plugin("key.converter").class_name == "org.apache.kafka.connect.storage.StringConverter"
        assert plan.plugin("key.converter").config == {"encoding": "UTF-16"}
        assert plan.plugin("value.converter").config == {"schemas.enable": "false"}
        transform = plan.plugin("transforms.a")
        assert (transform.config, transform.environment) == ({"regex": "x", "replacement": "y"}, None)
        assert (transform.predicate, transform.negate) == ("predicates.p", True)
        assert plan.plugin("predicates.p").config == {"pattern": "z"}
        assert plan.source is not None
        assert plan.source.producer["bootstrap.servers"] == "127.0.0.1:9092"

    def test_a_sink_task_configuration_has_the_topics(self, bench: Bench) -> None:
        """Kafka Connect adds them to the connector's task configurations."""
        config = {"name": "s", "connector.class": "FileStreamSink", "topics": "a,b", "tasks.max": "3"}
        bench.herder.put("s", config).result(30)
        assert [task["config"] for task in bench.herder.view.tasks("s")] == [
            {"file": "", "task.class": "org.apache.kafka.connect.file.NoSinkTask", "topics": "a,b"}
        ] * 3

    def test_settings_without_effect_are_logged_once(self, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
        """When the configuration is put; validation alone logs nothing."""
        changes = {"tpoic": "x", "file": "${env:X}"}
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", **changes}
        bench.herder.validate(config).result(30)
        assert not caplog.messages
        bench.put("c", **changes)
        assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
            "file: ${env:X} is not resolved: no config provider is named 'env', there is none",
            "tpoic: no plugin declares this key, did you mean 'topic'?",
        ]

    def test_an_unknown_class_is_rejected_with_the_nearest_names(self, bench: Bench) -> None:
        """As a hint, which the command line shows; the message is Kafka Connect's."""
        with pytest.raises(ConfigError, match="Class RegexRoutr could not be found") as caught:
            bench.put("c", transforms="a", transforms_a_type="RegexRoutr")
        assert str(caught.value.hint).startswith("transforms.a.type: nearest names: RegexRouter")

    def test_an_invalid_configuration_creates_nothing(self, bench: Bench) -> None:
        """Validation precedes storing."""
        with pytest.raises(ConfigError, match="contains the following 1 error"):
            bench.put("c", topic="")
        assert bench.herder.connectors() == []
        with pytest.raises(NotFoundError, match="No status found for connector c"):
            bench.connector("c")

    def test_creating_does_not_replace(self, bench: Bench) -> None:
        """The second of two requests for one name is rejected."""
        bench.put("c")
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "other"}
        with pytest.raises(ConflictError, match="Connector c already exists"):
            bench.herder.put("c", config, replace=False).result(30)
        assert bench.herder.view.info("c")["config"]["topic"] == "t"

    @pytest.mark.parametrize("target", [TargetState.PAUSED, TargetState.STOPPED])
    def test_a_connector_may_be_created_paused_or_stopped(self, bench: Bench, target: TargetState) -> None:
        """Neither process nor task exists until it is resumed (KIP-980)."""
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}
        assert bench.herder.put("c", config, target).result(30).info["tasks"] == []
        assert bench.connector("c")["connector"]["state"] == str(target)
        bench.herder.want("c", TargetState.STARTED).result(30)
        bench.await_task("c", State.RUNNING)
        assert bench.connector("c")["connector"]["state"] == "RUNNING"

    def test_topics_to_create_are_checked_before_the_start(self, bench: Bench) -> None:
        """Kafka Connect fails such a connector with 500 as well, because validation skips these keys."""
        with pytest.raises(ConnectError, match=r"topic\.creation\.default") as caught:
            bench.put("c", topic_creation_groups="g")
        assert not isinstance(caught.value, ConfigError)
        assert bench.connector("c")["connector"]["state"] == "FAILED"


class TestChange:
    """Changing configurations."""

    def test_a_changed_configuration_replaces_the_tasks(self, bench: Bench) -> None:
        """The old run receives its stop before the new one starts."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        bench.put("c", topic="u")
        assert bench.spark.commands == [("c", 0, "replace")]
        assert [run.plan.task_config["topic"] for run in bench.spark.runs] == ["t", "u"]
        assert bench.spark.runs[1].generation > bench.spark.runs[0].generation

    def test_the_same_configuration_leaves_the_tasks_alone(self, bench: Bench) -> None:
        """Only the connector's instance is replaced."""
        bench.put("c")
        bench.put("c")
        assert len(bench.spark.runs) == 1

    def test_statuses_of_removed_tasks_are_removed(self, bench: Bench) -> None:
        """A removed task is not shown."""
        bench.put("c", tasks="3", tasks_max="3")
        bench.put("c", tasks="1", tasks_max="3")
        assert [task["id"] for task in bench.connector("c")["tasks"]] == [0]

    def test_a_patch_changes_single_keys(self, bench: Bench) -> None:
        """None removes a key."""
        bench.put("c", file="a")
        info = bench.herder.patch("c", {"file": None, "topic": "u"}).result(30).info
        assert info["config"] == {"name": "c", "connector.class": "FileStreamSource", "topic": "u"}
        with pytest.raises(NotFoundError, match="Connector d not found"):
            bench.herder.patch("d", {}).result(30)

    def test_a_connector_may_request_a_reconfiguration(self, bench: Bench) -> None:
        """Its new task configurations replace the running tasks."""
        bench.put("c", ask="1")
        bench.settle("c")
        assert bench.herder.view.tasks("c")[0]["config"]["call"] == "2"
        assert [run.plan.task_config["call"] for run in bench.spark.runs] == ["1", "2"]

    def test_a_connector_is_deleted_with_its_tasks(self, bench: Bench, tmp_path: Path) -> None:
        """Its offsets remain."""
        trace = tmp_path / "stopped"
        bench.put("c", stopped_file=str(trace))
        bench.offsets.put("c", [({"p": 1}, {"o": 1})])
        bench.herder.delete("c").result(30)
        assert bench.herder.connectors() == []
        assert bench.statuses.tasks("c") == []
        assert trace.read_text() == "stopped\n"
        assert bench.offsets.get("c", [{"p": 1}]) == [{"o": 1}]
        with pytest.raises(NotFoundError, match="Connector c not found"):
            bench.herder.delete("c").result(30)

    def test_topics_are_removed_with_their_connector(self, bench: Bench) -> None:
        """They survive restarts, and a later connector of the name does not inherit them."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        run = bench.spark.newest("c", 0)
        bench.spark.on_event(TaskEvent("c", 0, run.generation, "topics", topics=("t", "u")))
        bench.herder.restart_task("c", 0).result(30)
        assert bench.statuses.topics("c") == ["t", "u"]
        bench.herder.delete("c").result(30)
        bench.spark.on_event(TaskEvent("c", 0, run.generation + 1, "topics", topics=("late",)))
        assert bench.statuses.topics("c") == []


class TestRest:
    """Pausing, stopping and resuming connectors."""

    def test_pause_and_resume_reach_connector_and_tasks(self, bench: Bench) -> None:
        """The tasks keep running on their executors."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        bench.herder.want("c", TargetState.PAUSED).result(30)
        bench.await_task("c", State.PAUSED)
        assert bench.connector("c")["connector"]["state"] == "PAUSED"
        bench.herder.want("c", TargetState.STARTED).result(30)
        bench.await_task("c", State.RUNNING)
        assert bench.connector("c")["connector"]["state"] == "RUNNING"
        assert len(bench.spark.runs) == 1

    def test_a_task_of_a_paused_connector_starts_after_resume(self, bench: Bench) -> None:
        """A changed configuration does not resume a paused connector."""
        bench.put("c")
        bench.herder.want("c", TargetState.PAUSED).result(30)
        bench.herder.restart_task("c", 0).result(30)
        assert bench.spark.runs[-1].paused
        bench.await_task("c", State.PAUSED)

    def test_a_stopped_connector_has_no_tasks(self, bench: Bench) -> None:
        """It remains listed and can be resumed."""
        bench.put("c")
        bench.herder.want("c", TargetState.STOPPED).result(30)
        state = bench.connector("c")
        assert (state["connector"]["state"], state["tasks"]) == ("STOPPED", [])
        assert bench.herder.view.tasks("c") == []
        bench.herder.want("c", TargetState.STARTED).result(30)
        bench.await_task("c", State.RUNNING)

    def test_an_unknown_connector_cannot_be_paused(self, bench: Bench) -> None:
        """The error is immediate."""
        with pytest.raises(NotFoundError, match="Unknown connector c"):
            bench.herder.want("c", TargetState.PAUSED)


class TestRestart:
    """Restarting connectors and tasks."""

    def test_restarting_the_connector_leaves_its_tasks(self, bench: Bench, tmp_path: Path) -> None:
        """As Kafka Connect's restart without flags."""
        trace = tmp_path / "stopped"
        bench.put("c", stopped_file=str(trace))
        bench.herder.restart_connector("c").result(30)
        assert trace.read_text() == "stopped\n"
        assert len(bench.spark.runs) == 1

    def test_restarting_a_task_relaunches_it(self, bench: Bench) -> None:
        """The others continue."""
        bench.put("c", tasks="2", tasks_max="2")
        bench.await_task("c", State.RUNNING, 1)
        bench.herder.restart_task("c", 1).result(30)
        assert bench.spark.commands == [("c", 1, "replace")]
        assert [run.task for run in bench.spark.runs] == [0, 1, 1]

    def test_a_task_that_cannot_be_launched_is_not_restarted(self, bench: Bench) -> None:
        """As in Java, the request fails; the status has the reason, and no version of the task that did not start."""
        bench.put("c", tasks="2", tasks_max="2")
        bench.await_task("c", State.RUNNING, 1)
        bench.herder.want("c", TargetState.PAUSED).result(30)
        bench.await_task("c", State.PAUSED, 1)
        bench.put("c", tasks="2", tasks_max="1")
        with pytest.raises(ConnectError, match="Failed to start task: c-0"):
            bench.herder.restart_task("c", 0).result(30)
        task = bench.herder.view.task("c", 0)
        assert (task["state"], task["version"]) == ("FAILED", None)
        assert "tasks.max" in task["trace"]

    def test_a_connector_keeps_its_name_whatever_its_configuration_contains(self, bench: Bench) -> None:
        """Kafka Connect allows `name` to be changed; the connector and its tasks keep theirs, and restart with it."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        bench.herder.patch("c", {"name": "other"}).result(30)
        bench.herder.restart(RestartRequest("c", include_tasks=True)).result(30)
        assert {run.plan.name for run in bench.spark.runs} == {"c-0"}
        assert bench.herder.view.info("c")["config"]["name"] == "other"

    def test_only_failed_tasks_are_restarted_on_request(self, bench: Bench) -> None:
        """The plan shows what will be restarted (KIP-745)."""
        bench.put("c", tasks="2", tasks_max="2")
        bench.await_task("c", State.RUNNING, 0)
        bench.await_task("c", State.RUNNING, 1)
        failed = bench.spark.newest("c", 1)
        bench.spark.report(failed, State.FAILED, "why")
        bench.spark.end(failed)
        plan = bench.herder.restart(RestartRequest("c", only_failed=True, include_tasks=True)).result(30)
        assert plan["connector"]["state"] == "RUNNING"
        assert [task["state"] for task in plan["tasks"]] == ["RUNNING", "RESTARTING"]
        bench.await_task("c", State.RUNNING, 1)
        assert [run.task for run in bench.spark.runs] == [0, 1, 1]

    def test_connector_and_tasks_are_restarted_on_request(self, bench: Bench) -> None:
        """Connector and tasks."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        plan = bench.herder.restart(RestartRequest("c", include_tasks=True)).result(30)
        assert (plan["connector"]["state"], plan["tasks"][0]["state"]) == ("RESTARTING", "RESTARTING")
        bench.await_task("c", State.RUNNING)
        assert bench.connector("c")["connector"]["state"] == "RUNNING"

    def test_an_unknown_connector_or_task_cannot_be_restarted(self, bench: Bench) -> None:
        """With Kafka's messages."""
        bench.put("c")
        with pytest.raises(NotFoundError, match="Connector d not found"):
            bench.herder.restart_connector("d").result(30)
        with pytest.raises(NotFoundError, match="Unknown connector: d"):
            bench.herder.restart(RestartRequest("d")).result(30)
        with pytest.raises(NotFoundError, match="Task c-7 not found"):
            bench.herder.restart_task("c", 7).result(30)


class TestCluster:
    """Differences of a distributed worker, as in Java: other messages, and earlier responses."""

    @pytest.fixture
    def host(self, tmp_path: Path) -> Iterator[Bench]:
        """Return the herder of a distributed worker, and stop it after the test."""
        made = Bench(tmp_path, CLUSTER)
        yield made
        made.herder.shut_down()

    def test_it_answers_when_a_connector_is_written(self, host: Bench) -> None:
        """With the tasks of that moment and the submitted keys; the store then triggers the rest."""
        info = host.put("c", tasks_max="2")
        assert (list(info["config"]), info["tasks"]) == (["name", "connector.class", "topic", "tasks.max"], [])

    def test_it_has_its_own_messages_for_an_unknown_restart(self, host: Bench) -> None:
        """Kafka's messages."""
        host.put("c")
        with pytest.raises(NotFoundError, match="Unknown connector: d"):
            host.herder.restart_connector("d").result(30)
        with pytest.raises(NotFoundError, match="Unknown task: c-7"):
            host.herder.restart_task("c", 7).result(30)


class TestEnd:
    """Stopping the host."""

    def test_shutting_down_stops_tasks_and_connectors(self, tmp_path: Path) -> None:
        """Invariant 8: tasks drain, and no process remains."""
        bench = Bench(tmp_path)
        for name in ("c", "d"):
            bench.put(name, stopped_file=str(tmp_path / name))
            bench.await_task(name, State.RUNNING)
        bench.herder.shut_down()
        assert sorted(bench.spark.commands) == [("c", 0, "stop"), ("d", 0, "stop")]
        assert bench.spark.cancelled == []
        assert [(tmp_path / name).read_text() for name in ("c", "d")] == ["stopped\n"] * 2

    def test_a_host_that_stops_leading_runs_nothing_until_it_leads_again(self, bench: Bench, tmp_path: Path) -> None:
        """Tasks drain and processes end; the content of the store runs again with later generations."""
        trace = tmp_path / "stopped"
        bench.put("c", stopped_file=str(trace))
        bench.await_task("c", State.RUNNING)
        bench.herder.reconciler.follow()
        assert bench.spark.commands == [("c", 0, "stop")]
        assert trace.read_text() == "stopped\n"
        with pytest.raises(ConflictError, match="this host does not lead"):
            bench.put("d")
        bench.herder.reconciler.lead(2)
        bench.settle("c")
        bench.await_task("c", State.RUNNING)
        assert bench.spark.runs[1].generation > bench.spark.runs[0].generation

    def test_tasks_leave_their_group_membership_to_the_next_leader(self, bench: Bench) -> None:
        """Otherwise brokers delay the first rebalance of an empty group (group.initial.rebalance.delay.ms)."""
        bench.put("c")
        bench.await_task("c", State.RUNNING)
        bench.herder.reconciler.follow(is_followed=True)
        assert bench.spark.commands == [("c", 0, "replace")]
        assert bench.connector("c")["connector"]["state"] == "RUNNING"

    def test_nothing_starts_after_shutdown(self, tmp_path: Path) -> None:
        """Requests that come too late are cancelled."""
        bench = Bench(tmp_path)
        bench.herder.shut_down()
        assert bench.herder.put("c", {"name": "c"}).cancelled()
        assert "herder c" not in {each.name for each in threading.enumerate()}
