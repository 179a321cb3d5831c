"""Plans: typed settings, defaults from the declarations, and nothing that a task does not need."""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import hearth
from hearth.config import (
    DistributedConfig,
    SinkConnectorConfig,
    SourceConnectorConfig,
    StandaloneConfig,
    TopicGroup,
    WorkerConfig,
)
from hearth.config.connector_key import CONVERTER_KEYS
from hearth.herder.planner import Planner
from hearth.runtime.plan import SinkPlan, SourcePlan, TaskPlan, TransactionPlan
from hearth_api import ConfigError
from tests.unit.herder.catalogue import CLUSTER, SINK, SOURCE, WORKER, directory

DEFAULTS: Mapping[str, Any] = {
    name: key.default
    for config in (StandaloneConfig, SourceConnectorConfig, SinkConnectorConfig)
    for name, key in config.definition().keys.items()
    if key.has_default
}


def worker_config(settings: dict[str, str]) -> WorkerConfig:
    """Return the settings of a host, which is distributed if they have a group."""
    return DistributedConfig(settings) if "group.id" in settings else WorkerConfig(settings)


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., list[TaskPlan]]:
    """Plan the tasks of a connector; keys with the prefix ``worker.`` are the worker's, underscores replace dots."""

    def planned(class_name: str, tasks: int = 1, **settings: str) -> list[TaskPlan]:
        given = {key.replace("_", "."): text for key, text in settings.items()}
        worker = {key.removeprefix("worker."): text for key, text in given.items() if key.startswith("worker.")}
        config = {key: text for key, text in given.items() if not key.startswith("worker.")}
        if class_name == SINK and "topics.regex" not in config:
            config = {"topics": "t", **config}
        known = directory(tmp_path)
        planner = Planner(known, worker_config({**WORKER, **worker}))
        config = {"name": "c", "connector.class": class_name, "tasks.max": str(tasks), **config}
        return planner.plan(known.connector(config), "1", config, [{"number": str(each)} for each in range(tasks)])

    return planned


Plan = Callable[..., "list[TaskPlan]"]


def source(plan: TaskPlan) -> SourcePlan:
    """Return the source part of a plan."""
    assert plan.source is not None
    assert plan.sink is None
    return plan.source


def sink(plan: TaskPlan) -> SinkPlan:
    """Return the sink part of a plan."""
    assert plan.sink is not None
    assert plan.source is None
    return plan.sink


def seconds(key: str) -> float:
    """Return a default in milliseconds as seconds."""
    return float(DEFAULTS[key]) / 1000


@pytest.mark.parametrize("class_name", [SOURCE, SINK])
def test_every_default_is_that_of_the_declared_key(plan: Plan, class_name: str) -> None:
    """An empty configuration gives a plan with the values declared in ``hearth.config``, and no others."""
    (planned,) = plan(class_name)
    settings = planned.settings
    assert settings.flush_interval == seconds("offset.flush.interval.ms")
    assert settings.flush_timeout == seconds("offset.flush.timeout.ms")
    assert settings.graceful_timeout == seconds("task.shutdown.graceful.timeout.ms")
    assert settings.call_timeout == seconds("plugin.call.timeout.ms")
    assert settings.retry_timeout_ms == DEFAULTS["errors.retry.timeout"]
    assert settings.retry_delay_max_ms == DEFAULTS["errors.retry.delay.max.ms"]
    assert settings.is_tolerant is (DEFAULTS["errors.tolerance"] == "all")
    assert settings.logs_failures is DEFAULTS["errors.log.enable"]
    assert settings.logs_records is DEFAULTS["errors.log.include.messages"]
    assert settings.tracks_topics is DEFAULTS["topic.tracking.enable"]


def test_record_keys_are_logged_unless_the_connector_excludes_messages(plan: Plan) -> None:
    """The failure log has no records by default, but names a record by its key unless that is disabled."""
    assert plan(SINK)[0].settings.names_keys
    assert plan(SINK, errors_log_include_messages="true")[0].settings.names_keys
    assert not plan(SINK, errors_log_include_messages=" False ")[0].settings.names_keys


def test_topics_are_tracked_unless_the_worker_disables_it(plan: Plan) -> None:
    """Only the worker can set it, for all connectors."""
    assert DEFAULTS["topic.tracking.enable"] is True
    assert not plan(SINK, worker_topic_tracking_enable="false")[0].settings.tracks_topics


def test_defaults_of_a_dead_letter_queue_are_those_of_the_declared_keys(plan: Plan) -> None:
    """Without a topic there is no queue; the other keys have their defaults."""
    key = "errors.deadletterqueue."
    assert DEFAULTS[f"{key}topic.name"] == ""
    assert sink(plan(SINK)[0]).dead_letters is None
    assert sink(plan(SINK, errors_deadletterqueue_topic_name=" ")[0]).dead_letters is None
    letters = sink(plan(SINK, errors_deadletterqueue_topic_name=" dead ")[0]).dead_letters
    assert letters is not None
    assert letters.topic == "dead"
    assert letters.replication_factor == DEFAULTS[f"{key}topic.replication.factor"]
    assert letters.has_context is DEFAULTS[f"{key}context.headers.enable"]


GROUP = {"topic_creation_default_partitions": "2", "topic_creation_default_replication_factor": "1"}


def test_topics_are_created_if_connector_and_worker_enable_it(plan: Plan) -> None:
    """The worker does by default; without groups there is no admin client."""
    keys = {key.replace("replication_factor", "replication.factor"): text for key, text in GROUP.items()}
    assert DEFAULTS["topic.creation.enable"] is True
    made = source(plan(SOURCE, **keys)[0])
    assert made.topic_groups == (TopicGroup("default", [".*"], [], 1, 2, {}),)
    assert made.admin is not None
    for planned in (plan(SOURCE)[0], plan(SOURCE, worker_topic_creation_enable=" False ", **keys)[0]):
        assert (source(planned).topic_groups, source(planned).admin) == ((), None)
    with pytest.raises(ConfigError, match="partitions"):
        plan(SOURCE, **{**keys, "topic_creation_default_partitions": "0"})


def test_times_and_booleans_are_parsed(plan: Plan) -> None:
    """Blanks and case are ignored, as in Java."""
    (planned,) = plan(
        SINK,
        worker_offset_flush_interval_ms=" 250 ",
        worker_offset_flush_timeout_ms="1500",
        worker_task_shutdown_graceful_timeout_ms="2000",
        worker_plugin_call_timeout_ms="10",
        errors_retry_timeout=" -1 ",
        errors_retry_delay_max_ms="7",
        errors_tolerance=" all ",
        errors_log_enable=" True ",
        errors_log_include_messages="TRUE",
        consumer_override_max_poll_records="7",
        consumer_override_metadata_max_age_ms="1500",
    )
    settings = planned.settings
    times = settings.flush_interval, settings.flush_timeout, settings.graceful_timeout, settings.call_timeout
    assert times == (0.25, 1.5, 2.0, 0.01)
    assert (settings.retry_timeout_ms, settings.retry_delay_max_ms) == (-1, 7)
    assert (settings.is_tolerant, settings.logs_failures, settings.logs_records) == (True, True, True)
    assert (sink(planned).max_poll_records, sink(planned).metadata_age) == (7, 1.5)


def test_connector_may_set_its_own_call_timeout(plan: Plan) -> None:
    """The suitable limit depends on the connector."""
    (planned,) = plan(SOURCE, worker_plugin_call_timeout_ms="10", plugin_call_timeout_ms="20")
    assert planned.settings.call_timeout == 0.02


def test_tasks_share_processes_by_environment(plan: Plan) -> None:
    """Separate processes are the default."""
    (alone,), (shared,) = plan(SOURCE), plan(SOURCE, task_isolation="environment")
    assert alone.shares == ""
    assert shared.shares == shared.plugin("task").environment
    assert shared.shares in shared.environments


def test_all_processes_of_a_pipeline_have_the_connectors_confinement(plan: Plan) -> None:
    """Including those of other bundles; values of variables are not printed."""
    (planned,) = plan(
        SOURCE, **{"worker.plugin.environment.override.allow": "COLOUR", "plugin.environment.COLOUR": "green"}
    )
    assert [each.confinement.variables for each in planned.environments.values()] == [{"COLOUR": "green"}]
    assert TaskPlan.from_json(json.loads(json.dumps(planned.to_json()))) == planned
    assert "green" not in repr(planned)
    with pytest.raises(ConfigError, match=r"plugin.environment.HOME: the worker lets no connector set this variable"):
        plan(SOURCE, **{"plugin.environment.HOME": "/"})


def test_the_plan_of_a_sink_has_its_topics(plan: Plan) -> None:
    """Names, or a pattern and its exclusions; Kafka's internal topics are hidden as in Java."""
    named = sink(plan(SINK, topics=" a , b")[0])
    assert (named.topics, named.topics_regex, named.max_poll_records) == (("a", "b"), None, None)
    matched = sink(plan(SINK, **{"topics.regex": " a.*"})[0])
    assert (matched.topics, matched.topics_regex, matched.metadata_age) == ((), " a.*", 300.0)
    assert matched.hidden_topics == ("^__consumer_offsets$", "^__transaction_state$")
    seen = plan(SINK, consumer_override_exclude_internal_topics="false")
    assert sink(seen[0]).hidden_topics == ()


def test_connector_keeps_the_name_it_was_created_with(plan: Plan) -> None:
    """Including blanks: it identifies tasks to the host, and their group to Kafka."""
    (planned,) = plan(SINK, name=" c ")
    assert planned.connector == " c "
    assert sink(planned).consumer["group.id"] == "connect- c"  # librdkafka gets no trailing blanks


def test_client_settings_are_translated_on_the_host(plan: Plan) -> None:
    """They are passed to librdkafka unchanged; the task adds its client id unless the user set one."""
    letters = {"errors.deadletterqueue.topic.name": "dead"}
    planned = sink(plan(SINK, worker_consumer_fetch_min_bytes="1000", producer_override_linger_ms="9", **letters)[0])
    assert planned.dead_letters is not None
    assert planned.consumer["fetch.min.bytes"] == "1000"
    assert planned.consumer["group.id"] == "connect-c"
    assert planned.dead_letters.producer["linger.ms"] == "9"
    for client in (planned.consumer, planned.dead_letters.producer, planned.dead_letters.admin):
        assert client["bootstrap.servers"] == "127.0.0.1:9092"
        assert "client.id" not in client
    assert source(plan(SOURCE, producer_override_client_id="mine")[0]).producer["client.id"] == "mine"


def test_a_client_with_an_unknown_token_provider_is_rejected(plan: Plan) -> None:
    """Before a task starts, which would wait for a token."""
    planned = {"mechanism": "OAUTHBEARER", "login_callback_handler_class": "com.example.Vault"}
    settings = {f"producer_override_sasl_{key}": value for key, value in planned.items()}
    with pytest.raises(ConfigError, match=r"no token provider is named 'com\.example\.Vault'"):
        plan(SOURCE, **settings)


def test_tasks_share_the_common_parts_of_their_plans(plan: Plan) -> None:
    """A host has one plan per task, but only one copy of the connector's settings."""
    first, *others = plan(SINK, tasks=100, **{"errors.deadletterqueue.topic.name": "dead"})
    assert [planned.task for planned in others] == list(range(1, 100))
    assert [planned.task_config["number"] for planned in others] == [str(planned.task) for planned in others]
    assert sink(first).members == 100
    for planned in others:
        assert planned.sink is first.sink
        assert planned.plugins is first.plugins
        assert planned.environments is first.environments
        assert planned.settings is first.settings


def text_of(plan: TaskPlan) -> str:
    """Return the text of everything in a plan."""
    return json.dumps(plan.to_json())


def test_a_plan_contains_nothing_a_task_does_not_need(plan: Plan) -> None:
    """Neither settings for other parts of the host, nor the originals of translated client settings."""
    secrets = {
        "worker.listeners.https.ssl.key.password": "rest-password",
        "worker.spark.hadoop.fs.s3a.secret.key": "spark-key",
        "worker.config.providers.vault.param.token": "vault-token",
        "worker.consumer.security.protocol": "SASL_SSL",
        "worker.consumer.sasl.mechanism": "PLAIN",
        "worker.consumer.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="reader" password="consumer-password";',
        "worker.producer.ssl.keystore.password": "producer-password",
        "worker.admin.ssl.keystore.password": "admin-password",
        "worker.ssl.keystore.password": "plain-password",
        "database.password": "connector-password",
    }
    text = text_of(plan(SINK, **secrets)[0])
    assert "consumer-password" in text
    others = "rest-password", "spark-key", "vault-token", "admin-password", "plain-password", "connector-password"
    for word in (*others, "producer-password", "jaas"):
        assert word not in text, word
    text = text_of(plan(SOURCE, **secrets)[0])
    for word in (*others, "consumer-password", "jaas", "producer-password"):  # the last of a keystore nobody named
        assert word not in text, word


def test_client_settings_without_effect_are_logged_once(plan: Plan, caplog: pytest.LogCaptureFixture) -> None:
    """For every client of its tasks, however many; the worker's own were logged at startup."""
    letters = {"errors.deadletterqueue.topic.name": "dead"}
    overrides = {
        "consumer.override.interceptor.classes": "com.example.Audit",
        "producer.override.interceptor.classes": "com.example.Audit",
        "admin.override.nobody.knows": "1",
        "worker.consumer.nobody.knows.either": "1",
        "worker.producer.nobody.knows.either": "1",
        "worker.admin.nobody.knows.either": "1",
    }
    with caplog.at_level(logging.WARNING):
        plan(SINK, tasks=5, **letters, **overrides)
    begun = sorted(message.split(": ")[0] for message in caplog.messages)
    assert begun == [
        "admin.override.nobody.knows", "consumer.override.interceptor.classes", "producer.override.interceptor.classes"
    ]  # fmt: skip
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        plan(SINK, **overrides)
    assert len(caplog.messages) == 1  # it has no other clients


def test_sources_use_transactions_if_their_cluster_enables_them(plan: Plan) -> None:
    """With Kafka Connect's transactional ids and default boundary."""
    exact = {f"worker.{key}": text for key, text in CLUSTER.items()}
    planned = source(plan(SOURCE, **exact)[0])
    assert planned.transaction == TransactionPlan(
        "g-c", ("offset-topic",), "poll", seconds("offset.flush.interval.ms")
    )
    assert planned.producer["transactional.id"] == "g-c"
    assert sink(plan(SINK, **exact)[0]).dead_letters is None
    for support in ("disabled", "preparing"):
        planned = source(plan(SOURCE, **(exact | {"worker.exactly.once.source.support": support}))[0])
        assert (planned.transaction, "transactional.id" in planned.producer) == (None, False)


def test_a_source_configures_its_transactions(plan: Plan) -> None:
    """Its own offsets topic is first; the worker's follows if the connector has the worker's credentials."""
    own = {f"worker.{key}": text for key, text in CLUSTER.items()} | {
        "offsets.storage.topic": "own",
        "transaction.boundary": "INTERVAL",
        "transaction.boundary.interval.ms": "500",
    }
    planned = source(plan(SOURCE, **own)[0]).transaction
    assert planned == TransactionPlan("g-c", ("own", "offset-topic"), "interval", 0.5)
    other = source(plan(SOURCE, **own, **{"producer.override.bootstrap.servers": "other:1"})[0]).transaction
    assert other is not None
    assert other.topics == ("own",)


def test_invalid_client_settings_are_rejected_on_the_host(plan: Plan) -> None:
    """Before the launch, with the key as the user wrote it."""
    with pytest.raises(ConfigError, match=r"producer\.override\.partitioner\.class: .* cannot be honoured"):
        plan(SOURCE, producer_override_partitioner_class="com.example.Mine")


def keys_read(path: Path) -> Iterator[str]:
    """Yield the declared keys that a file looks up; those of converters are also role names."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        looked_up: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            looked_up = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            looked_up = node.args[:1]
        texts = (str(each.value) for each in looked_up if isinstance(each, ast.Constant))
        yield from (text for text in texts if text in DEFAULTS and "." in text and text not in CONVERTER_KEYS)


@pytest.mark.parametrize("folder", ["hearth/runtime", "hearth/spark", "hearth_execution", "hearth_stage"])
def test_no_key_is_read_where_tasks_run(folder: str) -> None:
    """Such a key would get a second default there."""
    files = sorted(Path(hearth.__file__).parents[1].joinpath(folder).glob("*.py"))
    assert len(files) > 5
    assert [(path.name, key) for path in files for key in keys_read(path)] == []


def test_a_key_read_as_a_string_is_found(tmp_path: Path) -> None:
    """In every form of lookup."""
    file = tmp_path / "any.py"
    file.write_text("a = config.get('errors.tolerance', 'none') + config['offset.flush.interval.ms'] + args['topics']")
    assert sorted(keys_read(file)) == ["errors.tolerance", "offset.flush.interval.ms"]
