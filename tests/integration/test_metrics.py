"""Metrics of a real worker: every series that the published dashboards and alerts query, and their values."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from hearth.broker import KafkaBroker
from tests.bundles.build import plugin_path
from tests.integration.thread_host import file_sink, file_source
from tests.peer.distributed import HearthDistributed
from tests.peer.hearth_connect import file_bundle
from tests.peer.topic import Record, Topics
from tests.peer.worker import Worker
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

BOARDS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("dashboards.json").read_text())
"""The queries of published dashboards and alerts, but for those of a JVM: the names, and labels that they select."""
JSON = "org.apache.kafka.connect.json.JsonConverter"
HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
TOPIC_NAME = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
STRING = "org.apache.kafka.connect.storage.StringConverter"
VALUE_TO_KEY = "org.apache.kafka.connect.transforms.ValueToKey"
KEYED = {"transforms": "keyed", "transforms.keyed.type": VALUE_TO_KEY, "transforms.keyed.fields": "n"}
MISBEHAVING = "org.example.MisbehavingSourceConnector"
LINES, BAD = 300, 20
MATCHER = re.compile(r'(\w+)(=~|!=|=)"(.*?)"')


class Scrape:
    """An answer of `/metrics`, as prometheus-client reads it."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def find(self, selector: str) -> list[Sample]:
        """Return the samples that a selector of PromQL finds."""
        name, _, rest = selector.partition("{")
        return [each for each in self.samples if each.name == name and _matches(each, MATCHER.findall(rest))]

    def value(self, selector: str) -> float:
        """Return the value of the only sample that a selector finds."""
        (found,) = self.find(selector)
        return float(found.value)


def _matches(sample: Sample, matchers: list[tuple[str, str, str]]) -> bool:
    tests: dict[str, Callable[[str, str], bool]] = {
        "=": lambda value, wanted: value == wanted,
        "!=": lambda value, wanted: value != wanted,
        "=~": lambda value, wanted: re.fullmatch(wanted, value) is not None,
    }
    return all(tests[how](sample.labels.get(label, ""), wanted) for label, how, wanted in matchers)


class MeasuredWorker:
    """A worker with a source, a sink with bad records, and connectors that fail, are paused and are stopped."""

    def __init__(self, host: Worker) -> None:
        self._host = host

    def send(self, method: str, path: str, body: Any = None) -> None:
        """Send a request that succeeds."""
        assert self._host.rest.call(method, path, body).status < 300

    def get(self, path: str) -> Any:
        """Return the answer to a request."""
        return self._host.rest.call("GET", path).json

    def scrape(self, names: str) -> Scrape:
        """Return the metrics under some names."""
        url = f"http://127.0.0.1:{self._host.port}/metrics?names={names}"
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            return Scrape(answer.read().decode())


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredWorker]:
    """Provide a worker that has been used: 300 lines with 20 bad ones, which have dead letters."""
    folder = tmp_path_factory.mktemp("measured")
    settings = {
        "plugin.path": f"{file_bundle()},{plugin_path('misbehaving')}",
        "key.converter": STRING,
        "value.converter": STRING,
        "offset.flush.interval.ms": "500",
        "metrics.sample.window.ms": "2000",
        "producer.metrics.sample.window.ms": "2000",
        "consumer.metrics.sample.window.ms": "2000",
    }
    topics = Topics(broker.bootstrap_servers)
    topics.create("measured")
    lines = folder / "lines"
    lines.write_text("".join('{"n": 1}\n' if each >= BAD else "no json\n" for each in range(LINES)))
    plain = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    letters = {
        "errors.tolerance": "all",
        "errors.log.enable": "true",
        "errors.deadletterqueue.topic.name": "measured-letters",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    steps = {
        "transforms": "hoist",
        "transforms.hoist.type": HOIST,
        "transforms.hoist.field": "line",
        "transforms.hoist.predicate": "all",
        "transforms.hoist.negate": "true",
        "predicates": "all",
        "predicates.all.type": TOPIC_NAME,
        "predicates.all.pattern": "measured",
    }
    with HearthDistributed(folder / "host", broker.bootstrap_servers, "measured", settings) as host:
        host.run(file_source("source", lines, "measured", **steps))
        host.run(file_sink("sink", folder / "copy", "measured", **plain, **letters))
        host.run(file_source("paused", lines, "measured-2"))
        host.run(file_source("stopped", lines, "measured-3"))
        host.rest.call("PUT", "/connectors/paused/pause")
        host.rest.call("PUT", "/connectors/stopped/stop")
        failing = file_sink("failing", folder / "none", "measured", **plain)
        host.rest.call("POST", "/connectors", {"name": "failing", "config": failing})
        raising = {"connector.class": MISBEHAVING, "misbehave.how": "raise", "misbehave.where": "connector.start"}
        host.rest.call("POST", "/connectors", {"name": "raising", "config": raising})
        used = MeasuredWorker(host)
        assert eventually(lambda: _is_used(used), 25), host.last_words()[-3000:]
        yield used


def _is_used(worker: MeasuredWorker) -> bool:
    scrape = worker.scrape("reporter")
    found = scrape.find('kafka_connect_sink_task_metrics_offset_commit_completion{connector="sink"}')
    read = scrape.find('kafka_connect_sink_task_metrics_sink_record_read{connector="sink"}')
    failed = scrape.find('kafka_connect_connector_task_metrics_status_info{status="failed"}')
    paused = scrape.find('kafka_connect_connector_task_metrics_status_info{status="paused"}')
    sent = scrape.find('kafka_producer_producer_metrics_outgoing_byte{client_id="connector-producer-source-0"}')
    is_read = bool(found and found[0].value and read[0].value == LINES)
    return bool(is_read and failed and paused and sent[0].value)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: f"{board['repository']}/{Path(board['path']).name}")
def test_published_dashboards_are_answered(worker: MeasuredWorker, board: dict[str, Any]) -> None:
    """Every series that is queried has a value, with every label that is selected."""
    scrape = worker.scrape(board["names"])
    wanted = [each for each in board["series"] if not each.startswith("debezium_metrics_")]  # see test_debezium
    assert [each for each in wanted if not scrape.find(each)] == []


def test_counts_are_what_happened(worker: MeasuredWorker) -> None:
    """As the connectors and their topics have it."""
    scrape = worker.scrape("strimzi")
    source, sink = 'connector="source",task="0"', 'connector="sink",task="0"'
    counts = {
        f"source_task_source_record_poll_total{{{source}}}": LINES,
        f"source_task_source_record_write_total{{{source}}}": LINES,
        f"source_task_source_record_active_count{{{source}}}": 0,
        f"sink_task_sink_record_read_total{{{sink}}}": LINES,
        f"sink_task_sink_record_send_total{{{sink}}}": LINES - BAD,
        f"sink_task_sink_record_active_count{{{sink}}}": 0,
        f"sink_task_partition_count{{{sink}}}": 1,
        f"task_error_total_record_failures{{{sink}}}": BAD,
        f"task_error_total_record_errors{{{sink}}}": BAD,
        f"task_error_total_records_skipped{{{sink}}}": BAD,
        f"task_error_total_errors_logged{{{sink}}}": BAD,
        f"task_error_deadletterqueue_produce_requests{{{sink}}}": BAD,
        f"task_error_deadletterqueue_produce_failures{{{sink}}}": 0,
        'task_error_total_record_errors{connector="failing"}': 1,
        'task_error_total_records_skipped{connector="failing"}': 0,
        "worker_connector_count": 6,
        "worker_task_count": 4,
        "worker_connector_startup_attempts_total": 6,
        "worker_connector_startup_failure_total": 1,
        "worker_task_startup_attempts_total": 5,
        "worker_task_startup_failure_total": 0,
        'worker_connector_failed_task_count{connector="failing"}': 1,
    }
    assert {name: scrape.value(f"kafka_connect_{name}") for name in counts} == counts


def test_texts_are_those_of_the_plugins(worker: MeasuredWorker) -> None:
    """Class and version of what a task uses, with the step's name."""
    scrape = worker.scrape("reporter")
    wanted = {
        'connector_task_metrics_value_converter_class_info{connector="sink"}': ("value_converter_class", JSON),
        'connector_transform_metrics_transform_class_info{transform="hoist"}': ("transform_class", HOIST),
        'connector_predicate_metrics_predicate_class_info{predicate="all"}': ("predicate_class", TOPIC_NAME),
        'connector_metrics_status_info{connector="paused"}': ("status", "paused"),
        'connector_task_metrics_status_info{connector="failing"}': ("status", "failed"),
    }
    found = {name: scrape.find(f"kafka_connect_{name}")[0].labels[label] for name, (label, _) in wanted.items()}
    assert found == {name: text for name, (_, text) in wanted.items()}


def test_times_and_shares_are_plausible(worker: MeasuredWorker) -> None:
    """Neither a time nor a share is negative or in another unit."""
    scrape = worker.scrape("reporter")
    task = '{connector="sink",task="0"}'
    running = scrape.value(f"kafka_connect_connector_task_metrics_running_ratio{task}")
    assert 0 < running + scrape.value(f"kafka_connect_connector_task_metrics_pause_ratio{task}") <= 1
    assert 0 < scrape.value('kafka_connect_connector_task_metrics_pause_ratio{connector="paused"}') < 1
    assert scrape.value(f"kafka_connect_connector_task_metrics_offset_commit_success_percentage{task}") == 1
    assert scrape.value(f"kafka_connect_connector_task_metrics_offset_commit_failure_percentage{task}") == 0
    assert scrape.value("process_resident_memory_bytes") > 20 << 20
    assert scrape.value("kafka_connect_connect_worker_rebalance_metrics_epoch") == 1


@pytest.mark.parametrize(
    ("series", "least"),
    [
        ("kafka_connect_connect_metrics_connection_count", 1),
        ("kafka_connect_connect_metrics_incoming_byte", 1),
        ("kafka_admin_client_admin_client_metrics_connection_count", 1),
        (
            'kafka_consumer_consumer_metrics_incoming_byte{client_id="connector-consumer-sink-0"}',
            LINES * len("no json"),
        ),
    ],
)
def test_clients_are_measured(worker: MeasuredWorker, series: str, least: int) -> None:
    """Librdkafka tells what they do once in a while."""
    assert eventually(lambda: worker.scrape("reporter").value(series) >= least, TIMEOUT)


def test_what_kafka_connect_lacks_is_measured(worker: MeasuredWorker) -> None:
    """Lag and its age also of a task that failed, failures by their reason, steps, and when each phase succeeded."""
    assert eventually(lambda: not math.isnan(_lag(worker, "failing", "records")), TIMEOUT)
    assert (_lag(worker, "failing", "records"), _lag(worker, "sink", "records")) == (LINES, 0)
    assert _lag(worker, "failing", "seconds") > 0
    assert _lag(worker, "sink", "seconds") == 0
    scrape = worker.scrape("reporter")
    reason = 'phase="VALUE_CONVERTER",error="org.apache.kafka.connect.errors.DataException"'
    assert scrape.value(f'hearth_failed_records_total{{connector="sink",{reason}}}') == BAD
    assert scrape.value('hearth_task_dead_letters_total{connector="sink"}') == BAD
    assert scrape.value('hearth_step_records_total{connector="source",step="poll"}') == LINES
    assert scrape.value('hearth_step_records_total{connector="sink",step="put"}') == LINES - BAD
    assert scrape.value('hearth_step_records_total{connector="sink",step="convert"}') == LINES
    assert scrape.value('hearth_step_seconds_total{connector="sink",step="convert"}') > 0
    for phase in ("polled", "delivered", "committed"):
        last = scrape.value(f'hearth_task_last_success_timestamp_seconds{{connector="sink",phase="{phase}"}}')
        assert time.time() - 120 < last <= time.time()
    assert scrape.value('hearth_task_restarts_total{connector="sink"}') == 0
    stage = '{connector="sink",task="0"}'
    assert eventually(lambda: worker.scrape("reporter").value(f"hearth_stage_cpu_seconds_total{stage}") > 0, TIMEOUT)
    assert worker.scrape("reporter").value(f"hearth_stage_resident_memory_bytes{stage}") > 1 << 20
    conditions = {
        each.labels["connector"]: each.labels["condition"] for each in scrape.find("hearth_connector_condition")
    }
    assert (conditions["failing"], conditions["raising"]) == ("task failed", "connector failed")
    assert len(conditions) == 6


def _lag(worker: MeasuredWorker, connector: str, unit: str) -> float:
    found = worker.scrape("reporter").find(f'hearth_sink_lag_{unit}{{connector="{connector}",topic="measured"}}')
    return found[0].value if found else math.nan


def test_connectors_have_more_than_a_status(worker: MeasuredWorker) -> None:
    """Revision, runs, counts, rates, lag; and how the last runs ended."""
    sink, failing = (worker.get(f"/hearth/connectors/{name}") for name in ("sink", "failing"))
    assert (sink["type"], sink["state"], sink["target"], sink["running"]) == ("sink", "RUNNING", "STARTED", True)
    (task,) = sink["tasks"]
    assert {name: task["counts"][name] for name in ("read", "accepted", "skipped", "dead_lettered", "partitions")} == {
        "read": LINES,
        "accepted": LINES - BAD,
        "skipped": BAD,
        "dead_lettered": BAD,
        "partitions": 1,
    }
    assert (task["restarts"], task["ends"], sink["lag"]["records"]) == (0, [], 0)
    (task,) = failing["tasks"]
    (end,) = task["ends"]
    assert (end["how"], end["at"][:10]) == ("failed", task["since"][:10])
    assert end["words"].startswith("org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded")
    assert failing["lag"]["partitions"][0]["records"] == LINES


def test_restarts_are_counted_until_the_configuration_changes(worker: MeasuredWorker) -> None:
    """The ends stay, in their order, with the newest first."""
    path = "/hearth/connectors/failing"
    before = worker.get(path)["revision"]
    worker.send("POST", "/connectors/failing/tasks/0/restart")
    assert eventually(lambda: len(worker.get(path)["tasks"][0]["ends"]) == 2, TIMEOUT)
    assert worker.get(path)["tasks"][0]["restarts"] == 1
    config = worker.get("/connectors/failing/config")
    worker.send("PUT", "/connectors/failing/config", {**config, "errors.log.enable": "true"})

    def is_changed() -> bool:
        found = worker.get(path)
        return found["running"] and found["revision"] > before and len(found["tasks"][0]["ends"]) == 3

    assert eventually(is_changed, TIMEOUT), worker.get(path)
    assert worker.get(path)["tasks"][0]["restarts"] == 0


def test_connectors_are_explained(worker: MeasuredWorker) -> None:
    """By what they do now, with a remedy for the task that fails."""
    names = ("source", "sink", "failing", "paused", "stopped", "raising")
    found = {name: worker.get(f"/hearth/connectors/{name}/explain") for name in names}
    for name in ("source", "sink"):  # they read until a moment ago
        assert found[name]["condition"] in ("idle", "flows")
        del found[name]["condition"]
    assert {name: each.get("condition") for name, each in found.items()} == {
        "source": None,
        "sink": None,
        "failing": "task failed",
        "paused": "paused",
        "stopped": "stopped",
        "raising": "connector failed",
    }
    finding = found["failing"]["findings"][0]
    assert finding["cause"] == "the records are no JSON, or plain JSON without schemas: the value looks like text"
    assert "converter=org.apache.kafka.connect.storage.StringConverter" in finding["remedy"]


def test_unknown_connectors_are_not_found(worker: MeasuredWorker) -> None:
    """As in Kafka Connect."""
    for path in ("none", "none/explain", "report?name=none", "explain?name=none"):
        assert worker.get(f"/hearth/connectors/{path}") == {"error_code": 404, "message": "Connector none not found"}


def test_unknown_names_are_refused(worker: MeasuredWorker) -> None:
    """With those that exist."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        worker.scrape("grafana")
    assert caught.value.code == 400
    assert "expected one or several of reporter, strimzi, confluent, debezium" in caught.value.read().decode()


def test_names_may_be_joined(worker: MeasuredWorker) -> None:
    """Each value is there under all names, and none twice."""
    scrape = worker.scrape("reporter,strimzi,confluent,debezium")
    places = [(each.name, tuple(sorted(each.labels.items()))) for each in scrape.samples]
    assert len(places) == len(set(places))
    assert scrape.find("kafka_connect_worker_connector_count")
    assert scrape.find("kafka_connect_connect_worker_metrics_connector_count")


def test_broken_pipelines_are_named(worker: MeasuredWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    """Seven of the thirty questions of operators, by connectors in that trouble."""
    lines = tmp_path / "lines"
    lines.write_text("x" * 5000 + "\n")
    raising = {"connector.class": "org.example.MisbehavingSinkConnector", "topics": "measured", "tasks.max": "1"}
    raising |= {"misbehave.how": "raise", "misbehave.where": "put"}
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "measured-letters"}
    hanging = {"connector.class": MISBEHAVING, "misbehave.how": "hang", "misbehave.where": "connector.start"}
    broken = {
        "hanging": hanging,
        "putting": {**raising, **letters},
        "large": file_source("large", lines, "measured-4", **{"producer.override.max.request.size": "2000"}),
        "numbers": {"connector.class": MISBEHAVING, "topic": "measured-5"},
        "tombstone": file_sink("tombstone", tmp_path / "none", "measured-null", **KEYED),
    }
    topics = Topics(broker.bootstrap_servers)
    topics.create("measured-null")
    topics.produce("measured-null", [Record(b"k", None)])
    for name, config in broken.items():
        worker.send("POST", "/connectors", {"name": name, "config": {**config, "name": name}})
    again = worker.get("/connectors/source/config")
    worker.send("DELETE", "/connectors/source")
    worker.send("POST", "/connectors", {"name": "source", "config": again})
    wanted = {
        "hanging": ("call hangs", "its start has been running for 1"),
        "putting": ("task failed", "an error of put has no dead letter"),
        "large": ("task failed", "raise producer.override.max.request.size (now 2000)"),
        "tombstone": ("task failed", "a record whose value is null"),
        "source": ("idle", "1 source partitions have offsets"),
        "failing": ("task failed", "the value looks like text"),
        "raising": ("connector failed", "raised in connector.start as configured"),
    }

    def unnamed() -> dict[str, Any]:
        found = {name: worker.get(f"/hearth/connectors/{name}/explain") for name in wanted}
        return {
            name: found[name]
            for name, (condition, words) in wanted.items()
            if found[name]["condition"] != condition or words not in json.dumps(found[name]["findings"][0])
        }

    assert eventually(lambda: not unnamed(), TIMEOUT), unnamed()
    assert worker.get("/hearth/connectors/hanging")["call"]["name"] == "start"
    series = 'kafka_connect_plugins_next_number{connector="numbers",task="0"}'  # a plugin's own (KIP-877)
    assert eventually(lambda: bool(worker.scrape("reporter").find(series)), TIMEOUT)
    assert worker.scrape("reporter").value(series) > 0
    for name in broken:
        worker.send("DELETE", f"/connectors/{name}")
