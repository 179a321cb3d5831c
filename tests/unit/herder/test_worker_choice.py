"""What connectors take of a worker configuration that they name, and what becomes of one that they cannot take."""

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
    """Return the settings of a provider whose values begin with a text."""
    return {f"config.providers.{name}.class": "Vault", f"config.providers.{name}.param.prefix": prefix}


def create(bench: Bench, **properties: str) -> None:
    """Make the configuration `mine`; underscores in keys stand for dots."""
    given = {key.replace("_", "."): value for key, value in properties.items()}
    bench.herder.worker_configurations.create(WorkerConfiguration("mine", "my own", {**TEXTS, **given}))


def plan(bench: Bench, class_name: str, **config: str) -> TaskPlan:
    """Return the plan of a task."""
    planner: Planner = bench.herder._with.planner
    given = {"name": "c", "connector.class": class_name, "topics": "t", **config}
    (planned,) = planner.plan(planner.directory.connector(given), "1", given, [{}])
    return planned


def converters(planned: TaskPlan) -> list[str]:
    """Return the converters of keys and values."""
    return [planned.plugin(role).class_name for role in ("key.converter", "value.converter")]


def test_tasks_take_what_their_connector_names(bench: Bench) -> None:
    """Converters with their settings, settings of clients, and how often they commit."""
    create(bench, offset_flush_interval_ms="250", producer_compression_type="gzip", consumer_max_poll_records="11")
    own, mine = plan(bench, SOURCE), plan(bench, SOURCE, **{CHOICE: "mine"})
    assert (converters(own), converters(mine)) == ([JSON, JSON], [STRINGS, STRINGS])
    assert (own.settings.flush_interval, mine.settings.flush_interval) == (9, 0.25)
    assert own.source is not None
    assert mine.source is not None
    shown = [(each.producer["acks"], each.producer.get("compression.type")) for each in (own.source, mine.source)]
    assert shown == [("1", None), ("all", "gzip")]
    assert {each.producer["linger.ms"] for each in (own.source, mine.source)} == {"7"}  # for the worker to say
    sink = plan(bench, SINK, **{CHOICE: " mine "}).sink
    assert sink is not None
    assert sink.max_poll_records == 11


def test_what_a_connector_says_itself_comes_first(bench: Bench) -> None:
    """Before what it names, as before what its worker says."""
    create(bench, producer_acks="0")
    mine = plan(bench, SOURCE, **{CHOICE: "mine", "value.converter": JSON, "producer.override.acks": "1"})
    assert converters(mine) == [STRINGS, JSON]
    assert mine.source is not None
    assert mine.source.producer["acks"] == "1"


def test_the_default_makes_texts_of_keys_and_values(bench: Bench) -> None:
    """It is there without having been made."""
    assert converters(plan(bench, SOURCE, **{CHOICE: "default"})) == [STRINGS, STRINGS]


def test_a_connector_is_validated_with_what_it_names(bench: Bench) -> None:
    """The answer has the converters that would be used, and no more keys than Kafka Connect's."""
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
            "rest.port may not be there: what begins with rest.",
        ),
        ("mine", "key.converter=K", 'Missing required configuration "value.converter" which has no default value.'),
        ("mine", "key.converter=K\nvalue.converter=V\noffset.flush.interval.ms=soon", "Not a number of type LONG"),
    ],
)
def test_a_connector_that_names_what_cannot_be_taken_is_refused(
    bench: Bench, tmp_path: Path, name: str, text: str, says: str
) -> None:
    """With its own key, in the answer of a validation as in that of its creation."""
    (tmp_path / "configurations" / "mine.properties").write_text(text)
    result = bench.herder.validate({"name": "c", "connector.class": SOURCE, "topic": "t", CHOICE: name}).result(30)
    (wrong,) = (each for each in result["configs"] if each["value"]["errors"])
    assert (wrong["definition"], wrong["value"]["name"], result["error_count"]) == (None, CHOICE, 1)
    assert wrong["value"]["errors"][0].startswith(f"Invalid value {name} for configuration {CHOICE}: ")
    assert says in wrong["value"]["errors"][0]
    with pytest.raises(ConfigError, match=f"Invalid value {name} for configuration {CHOICE}"):
        bench.put("c", worker_configuration=name)


def test_one_that_runs_goes_on_when_what_it_names_is_gone(bench: Bench, tmp_path: Path) -> None:
    """Its restart is refused before anything of it has ended."""
    create(bench)
    bench.put("c", worker_configuration="mine")
    bench.await_task("c", State.RUNNING)
    (tmp_path / "configurations" / "mine.properties").unlink()
    with pytest.raises(UnusableConfiguration, match="not found"):
        bench.herder.restart_connector("c").result(30)
    assert bench.connector("c")["connector"]["state"] == "RUNNING"
    assert bench.connector("c")["tasks"][0]["state"] == "RUNNING"


def test_one_that_is_named_is_not_deleted(bench: Bench) -> None:
    """Until the connector is gone."""
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
        ("producer.linger.ms", "5", "producer.linger.ms may not be there"),
        ("offset.flush.interval.ms", "x", "offset.flush.interval.ms"),
    ],
)
def test_what_no_task_could_take_is_not_made(bench: Bench, key: str, value: str, says: str) -> None:
    """The error names the configuration, the key and the value."""
    with pytest.raises(ConfigError, match="worker configuration 'mine': ") as caught:
        create(bench, **{key.replace(".", "_"): value})
    assert says in str(caught.value)
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default"]


def test_what_is_wrong_with_files_is_told_at_the_start(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And what has no effect; the host starts in any case, for not every connector needs them."""
    texts = {"a": "group.id=g", "b": "key.converter=\\uzz", "c": "".join(f"{each}={STRINGS}\n" for each in TEXTS)}
    texts["c"] += "key.converter.encodin=UTF-16"
    for name, text in texts.items():
        (tmp_path / "configurations" / f"{name}.properties").write_text(text + "\nspark.master=yarn")
    with caplog.at_level(logging.WARNING):
        bench.herder.worker_configurations.check_all()
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("worker configuration 'a': group.id may not be there")
    assert "b.properties, line 1: malformed escape" in told[1]
    assert told[2:] == [
        "worker configuration 'c': spark.master has no effect there on this host",
        "worker configuration 'c': key.converter.encodin: nobody declares this key, did you mean "
        "'key.converter.converter.encoding'?",
    ]
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default", "a", "b", "c"]


class TestProviders:
    """A worker configuration may have config providers of its own."""

    def test_variables_are_known_to_those_who_name_it(self, bench: Bench) -> None:
        """Its providers go before the worker's of the same name; the others of the worker are there as well."""
        create(bench, config_providers="p,m", **provider("p", "mine"), **provider("m", "mine"))
        given = {"a": "${w::k}", "b": "${p:x:k}", "c": "${m:x:k}"}
        variables = bench.herder._with.variables
        assert variables.of({}).resolve(given).config == {"a": "worker--k", "b": "worker-x-k", "c": "${m:x:k}"}
        for _ in range(2):  # a second connector has the same ones
            mine = variables.of({CHOICE: "mine"}).resolve(given).config
            assert mine == {"a": "worker--k", "b": "mine-x-k", "c": "mine-x-k"}
        assert len(Provider.opened) == 4

    def test_a_connector_and_its_own_settings_have_their_values(self, bench: Bench) -> None:
        """What is stored and shown is the variable, in a connector as in a worker configuration."""
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

    def test_a_class_that_is_not_there_is_told_when_it_is_made(self, bench: Bench) -> None:
        """With the key."""
        with pytest.raises(
            ConfigError, match=r"configuration 'mine': .* config\.providers\.p\.class: Class Vualt could"
        ):
            create(bench, config_providers="p", **{"config.providers.p.class": "Vualt"})

    def test_one_that_does_not_open_is_told_at_the_connectors_key(self, bench: Bench) -> None:
        """The connector is refused, and others are none the worse."""
        create(bench, config_providers="p", **{"config.providers.p.class": "Vault"})
        with pytest.raises(ConfigError, match=f"configuration {CHOICE}: config.providers.p: there is no prefix"):
            bench.put("c", worker_configuration="mine")
        bench.put("d")
