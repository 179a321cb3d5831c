"""What connectors take of a worker configuration that they name, and what becomes of one that they cannot take."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.config.worker_configuration import WorkerConfiguration
from hearth.herder.planner import Planner
from hearth.herder.worker_choice import UnusableConfiguration
from hearth.runtime.plan import TaskPlan
from hearth.storage import State
from hearth_api import ConfigError, ConflictError
from tests.unit.herder.catalogue import SINK, SOURCE
from tests.unit.herder.fake import Bench

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
    bench = Bench(tmp_path, worker)
    yield bench
    bench.herder.shut_down()


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
    for name, text in texts.items():
        (tmp_path / "configurations" / f"{name}.properties").write_text(text + "\nspark.master=yarn")
    with caplog.at_level(logging.WARNING):
        bench.herder.worker_configurations.check_all()
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("worker configuration 'a': group.id may not be there")
    assert "b.properties, line 1: malformed escape" in told[1]
    assert told[2:] == ["worker configuration 'c': spark.master has no effect there on this host"]
    assert [each.name for each in bench.herder.worker_configurations.list()] == ["default", "a", "b", "c"]
