"""Worker configurations: connectors that name one use its settings, and invalid ones are rejected."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.config.worker_configuration import WorkerConfiguration
from hearth.discovery import PluginType
from hearth.herder.planner import Planner
from hearth.herder.worker_choice import GovernedVariables, UnusableConfiguration
from hearth.runtime.plan import TaskPlan
from hearth.storage import State
from hearth_api import ConfigError, ConflictError
from tests.unit.herder.catalogue import SINK, SOURCE, WORKER, directory, plugin
from tests.unit.herder.fake import Bench
from tests.unit.herder.stand_in import Provider

STRINGS = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXTS = {"key.converter": STRINGS, "value.converter": STRINGS}
CHOICE = "worker.configuration"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Provide a herder whose worker has a folder, Json converters and settings of clients."""
    (tmp_path / "configurations").mkdir()
    worker = {
        "worker.configuration.path": str(tmp_path / "configurations"),
        "producer.acks": "1",
        "producer.linger.ms": "7",
        "offset.flush.interval.ms": "9000",
    }
    vault = plugin("com.example.VaultConfigProvider", PluginType.CONFIG_PROVIDER, "Provider", "1")
    own = {"config.providers": "w,p", **provider("w", "worker"), **provider("p", "worker")}
    known = directory(tmp_path / "providers", vault)
    variables = GovernedVariables(WorkerConfig({**WORKER, **worker, **own}), known)
    bench = Bench(tmp_path, worker, vault, variables=variables)
    yield bench
    bench.herder.shut_down()
    variables.close()
    assert not Provider.opened


def provider(name: str, prefix: str) -> dict[str, str]:
    """Return the settings of a provider whose values start with a prefix."""
    return {f"config.providers.{name}.class": "Vault", f"config.providers.{name}.param.prefix": prefix}


def create(bench: Bench, **properties: str) -> None:
    """Create the worker configuration `mine`; underscores in keys replace dots."""
    given = {key.replace("_", "."): value for key, value in properties.items()}
    bench.herder.worker_configurations.create(WorkerConfiguration("mine", "my own", {**TEXTS, **given}))


def plan(bench: Bench, class_name: str, **config: str) -> TaskPlan:
    """Return the plan of a task."""
    planner: Planner = bench.herder._services.planner
    given = {"name": "c", "connector.class": class_name, "topics": "t", **config}
    (planned,) = planner.plan(planner.directory.connector(given), "1", given, [{}])
    return planned


def converters(planned: TaskPlan) -> list[str]:
    """Return the converters of keys and values."""
    return [planned.plugin(role).class_name for role in ("key.converter", "value.converter")]


def test_tasks_use_the_worker_configuration_of_their_connector(bench: Bench) -> None:
    """Converters with their settings, client settings and the offset flush interval."""
    create(bench, offset_flush_interval_ms="250", producer_compression_type="gzip", consumer_max_poll_records="11")
    own, mine = plan(bench, SOURCE), plan(bench, SOURCE, **{CHOICE: "mine"})
    assert (converters(own), converters(mine)) == ([JSON, JSON], [STRINGS, STRINGS])
    assert (own.settings.flush_interval, mine.settings.flush_interval) == (9, 0.25)
    assert own.source is not None
    assert mine.source is not None
    shown = [(each.producer["acks"], each.producer.get("compression.type")) for each in (own.source, mine.source)]
    assert shown == [("1", None), ("all", "gzip")]
    assert {each.producer["linger.ms"] for each in (own.source, mine.source)} == {"7"}  # only the worker may set it
    sink = plan(bench, SINK, **{CHOICE: " mine "}).sink
    assert sink is not None
    assert sink.max_poll_records == 11


def test_settings_of_a_connector_override_its_worker_configuration(bench: Bench) -> None:
    """As they override the worker's own settings."""
    create(bench, producer_acks="0")
    mine = plan(bench, SOURCE, **{CHOICE: "mine", "value.converter": JSON, "producer.override.acks": "1"})
    assert converters(mine) == [STRINGS, JSON]
    assert mine.source is not None
    assert mine.source.producer["acks"] == "1"


def test_the_default_converts_keys_and_values_to_strings(bench: Bench) -> None:
    """It exists without being created."""
    assert converters(plan(bench, SOURCE, **{CHOICE: "default"})) == [STRINGS, STRINGS]


def test_validation_uses_the_worker_configuration_of_a_connector(bench: Bench) -> None:
    """The response has its converters, and no more keys than Kafka Connect's."""
    create(bench)
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}
    own = bench.herder.validate(config).result(30)
    mine = bench.herder.validate({**config, CHOICE: "mine"}).result(30)
    assert [each["definition"]["name"] for each in mine["configs"]] == [
        each["definition"]["name"] for each in own["configs"]
    ]
    assert mine["error_count"] == 0
    assert (shown(own, "value.converter"), shown(mine, "value.converter")) == (JSON, STRINGS)


def shown(result: Mapping[str, Any], name: str) -> Any:
    """Return the value of a key in an answer."""
    return next(each["value"]["value"] for each in result["configs"] if each["value"]["name"] == name)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("none", "", "not found, there are: default, mine"),
        (
            "mine",
            "key.converter=K\nvalue.converter=V\nrest.port=1",
            "rest.port is not allowed: only the worker may set keys with the prefix rest.",
        ),
        ("mine", "key.converter=K", 'Missing required configuration "value.converter" which has no default value.'),
        ("mine", "key.converter=K\nvalue.converter=V\noffset.flush.interval.ms=soon", "Not a number of type LONG"),
    ],
)
def test_a_connector_that_names_an_invalid_worker_configuration_is_rejected(
    bench: Bench, tmp_path: Path, name: str, text: str, says: str
) -> None:
    """With an error at its own key, in validation and creation."""
    (tmp_path / "configurations" / "mine.properties").write_text(text)
    result = bench.herder.validate({"name": "c", "connector.class": SOURCE, "topic": "t", CHOICE: name}).result(30)
    (wrong,) = (each for each in result["configs"] if each["value"]["errors"])
    assert (wrong["definition"], wrong["value"]["name"], result["error_count"]) == (None, CHOICE, 1)
    assert wrong["value"]["errors"][0].startswith(f"Invalid value {name} for configuration {CHOICE}: ")
    assert says in wrong["value"]["errors"][0]
    with pytest.raises(ConfigError, match=f"Invalid value {name} for configuration {CHOICE}"):
        bench.put("c", worker_configuration=name)


def test_a_running_connector_continues_after_its_worker_configuration_is_removed(bench: Bench, tmp_path: Path) -> None:
    """Its restart is rejected before anything is stopped."""
    create(bench)
    bench.put("c", worker_configuration="mine")
    bench.await_task("c", State.RUNNING)
    (tmp_path / "configurations" / "mine.properties").unlink()
    with pytest.raises(UnusableConfiguration, match="not found"):
        bench.herder.restart_connector("c").result(30)
    assert bench.connector("c")["connector"]["state"] == "RUNNING"
    assert bench.connector("c")["tasks"][0]["state"] == "RUNNING"


def test_a_worker_configuration_in_use_is_not_deleted(bench: Bench) -> None:
    """Until the connector is deleted."""
    create(bench)
    bench.put("c", worker_configuration="mine")
    with pytest.raises(ConflictError, match="worker configuration 'mine' is that of c"):
        bench.herder.worker_configurations.delete("mine")
    bench.herder.delete("c").result(30)
    bench.herder.worker_configurations.delete("mine")
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default"]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("producer.acks", "7", "producer.acks"),
        ("value.converter", "JsonConvertor", "Class JsonConvertor could not be found."),
        ("producer.linger.ms", "5", "producer.linger.ms is not allowed"),
        ("offset.flush.interval.ms", "x", "offset.flush.interval.ms"),
    ],
)
def test_an_invalid_worker_configuration_is_not_created(bench: Bench, key: str, value: str, says: str) -> None:
    """The error names the configuration, the key and the value."""
    with pytest.raises(ConfigError, match="worker configuration 'mine': ") as caught:
        create(bench, **{key.replace(".", "_"): value})
    assert says in str(caught.value)
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default"]


def test_errors_in_files_are_logged_at_startup(bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """So are settings without effect; the host starts anyway, because not every connector needs them."""
    texts = {"a": "group.id=g", "b": "key.converter=\\uzz", "c": "".join(f"{each}={STRINGS}\n" for each in TEXTS)}
    texts["c"] += "key.converter.encodin=UTF-16"
    for name, text in texts.items():
        (tmp_path / "configurations" / f"{name}.properties").write_text(text + "\nspark.master=yarn")
    with caplog.at_level(logging.WARNING):
        bench.herder.worker_configurations.check_all()
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].startswith("worker configuration 'a': group.id is not allowed")
    assert "b.properties, line 1: malformed escape" in messages[1]
    assert messages[2:] == [
        "worker configuration 'c': spark.master has no effect there on this host",
        "worker configuration 'c': key.converter.encodin: no plugin declares this key, did you mean "
        "'key.converter.converter.encoding'?",
    ]
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default", "a", "b", "c"]


class TestProviders:
    """A worker configuration may have config providers of its own."""

    def test_providers_resolve_variables_of_connectors_that_name_it(self, bench: Bench) -> None:
        """Its providers override the worker's of the same name; the worker's others remain available."""
        create(bench, config_providers="p,m", **provider("p", "mine"), **provider("m", "mine"))
        given = {"a": "${w::k}", "b": "${p:x:k}", "c": "${m:x:k}"}
        variables = bench.herder._services.variables
        assert variables.of({}).resolve(given).config == {"a": "worker--k", "b": "worker-x-k", "c": "${m:x:k}"}
        for _ in range(2):  # a second connector uses the same ones
            mine = variables.of({CHOICE: "mine"}).resolve(given).config
            assert mine == {"a": "worker--k", "b": "mine-x-k", "c": "mine-x-k"}
        assert len(Provider.opened) == 4

    def test_variables_are_resolved_in_connector_and_worker_configuration(self, bench: Bench) -> None:
        """Stored and shown configurations keep the variables."""
        secret = {"value.converter.secret": "${p:converter:k}"}
        create(bench, config_providers="p", **provider("p", "mine"), **secret)
        bench.put("c", worker_configuration="mine", file="${p:connector:k}")
        bench.await_task("c", State.RUNNING)
        launched = bench.spark.newest("c", 0).plan
        assert launched.task_config["file"] == "mine-connector-k"
        assert launched.plugin("value.converter").config == {"secret": "mine-converter-k"}
        assert bench.herder.view.info("c")["config"]["file"] == "${p:connector:k}"
        found = bench.herder.worker_configurations.find("mine")
        assert found.properties["value.converter.secret"] == "${p:converter:k}"

    def test_an_unknown_provider_class_is_rejected_on_creation(self, bench: Bench) -> None:
        """The error names its key."""
        with pytest.raises(
            ConfigError, match=r"configuration 'mine': .* config\.providers\.p\.class: Class Vualt could"
        ):
            create(bench, config_providers="p", **{"config.providers.p.class": "Vualt"})

    def test_a_provider_that_fails_to_open_is_reported_at_the_connectors_key(self, bench: Bench) -> None:
        """The connector is rejected; others are not affected."""
        create(bench, config_providers="p", **{"config.providers.p.class": "Vault"})
        with pytest.raises(ConfigError, match=f"configuration {CHOICE}: config.providers.p: there is no prefix"):
            bench.put("c", worker_configuration="mine")
        bench.put("d")
