"""Records in pipelines: plugins of several bundles, chains with predicates, converters, several tasks."""

from __future__ import annotations

from pathlib import Path

from tests.integration.conftest import Host, MakeRecorder
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

GREET = "org.example.greeting.Greet"
MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
JSON = "org.apache.kafka.connect.json.JsonConverter"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def greetings(name: str, count: int, **more: str) -> dict[str, str]:
    """Return the configuration of a source that writes greetings to the topic of its own name."""
    source = "org.example.greeting.GreetingSourceConnector"
    return {"name": name, "connector.class": source, "topic": name, "count": str(count), **more}


def values(topics: Topics, topic: str, count: int) -> list[str]:
    """Wait until a topic has ``count`` records, and return all their values."""
    eventually(lambda: topics.count(topic) >= count, TIMEOUT)
    return [(record.value or b"").decode() for record in topics.read(topic)]


def test_two_versions_of_one_library_work_in_one_pipeline(host: Host, topics: Topics, name: str) -> None:
    """Invariant 7: connector and transformation each import their own `greeting`, 1.0 and 2.0."""
    host.run(greetings(name, 3, transforms="greet", **{"transforms.greet.type": GREET}))
    assert values(topics, name, 3) == [
        f"hello record {number} from greeting 1.0, greetings transformation from greeting 2.0" for number in range(3)
    ]


def test_the_tasks_of_a_source_share_its_work(host: Host, topics: Topics, name: str) -> None:
    """Each task configuration that a connector returns becomes a task with its own offsets."""
    host.run(greetings(name, 5, **{"tasks.max": "3"}))
    assert len(host.rest.status(name)["tasks"]) == 3
    each = [f"hello record {number} from greeting 1.0" for number in range(5)]
    assert sorted(values(topics, name, 15)) == sorted(3 * each)


def test_the_tasks_of_a_sink_share_its_partitions(
    host: Host, topics: Topics, name: str, recorder: MakeRecorder
) -> None:
    """They form one group: each partition is read by exactly one task."""
    topics.create(name, partitions=4)
    sink = recorder(name, tasks_max="2")
    assert eventually(lambda: _tasks_at_work(sink.calls("open", "close")) == {0: 2, 1: 2}, TIMEOUT)
    topics.produce(name, [Record(None, b"%d" % number, partition=number % 4) for number in range(40)])
    assert eventually(lambda: len(sink.values()) >= 40, TIMEOUT)
    assert sorted(map(int, sink.values())) == list(range(40))
    readers = {(row[1], call["task"]) for call in sink.calls("put") for row in call["records"]}
    assert len(readers) == 4


def _tasks_at_work(calls: list[dict[str, list[object]]]) -> dict[int, int]:
    """Return how many partitions each task has, from the calls of open and close."""
    held: dict[int, int] = {}
    for call in calls:
        change = len(call["partitions"]) * (1 if str(call["call"]) == "open" else -1)
        task = int(str(call["task"]))
        held[task] = held.get(task, 0) + change
    return held


def test_a_predicate_of_the_host_guards_a_transformation_of_a_bundle(
    host: Host, topics: Topics, name: str, recorder: MakeRecorder
) -> None:
    """TopicNameMatches runs in the runtime, Greet in its stage; only records of one topic are greeted."""
    for topic in ("plain", "greeted"):
        topics.create(f"{name}-{topic}")
    sink = recorder(
        f"{name}-plain,{name}-greeted",
        transforms="greet",
        transforms_greet_type=GREET,
        transforms_greet_predicate="named",
        predicates="named",
        predicates_named_type=MATCHES,
        predicates_named_pattern=".*-greeted",
    )
    for topic in ("plain", "greeted"):
        topics.produce(f"{name}-{topic}", [Record(None, topic.encode())])
    assert eventually(lambda: len(sink.values()) >= 2, TIMEOUT)
    assert sorted(sink.values()) == ["greeted, greetings transformation from greeting 2.0", "plain"]


def test_a_predicate_of_a_bundle_guards_a_transformation_of_the_host(host: Host, topics: Topics, name: str) -> None:
    """EndsWith runs in its bundle's stage, RegexRouter in the runtime; `negate` inverts it."""
    host.run(
        greetings(
            name,
            10,
            **{
                "transforms": "route",
                "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
                "transforms.route.regex": "(.*)",
                "transforms.route.replacement": "$1-others",
                "transforms.route.predicate": "ends",
                "transforms.route.negate": "true",
                "predicates": "ends",
                "predicates.ends.type": "org.example.EndsWith",
                "predicates.ends.text": "record 4 from greeting 1.0",
            },
        )
    )
    assert len(values(topics, f"{name}-others", 9)) == 9
    assert values(topics, name, 1) == ["hello record 4 from greeting 1.0"]


def test_bad_json_is_skipped_where_errors_are_tolerated(host: Host, topics: Topics, name: str, tmp_path: Path) -> None:
    """errors.tolerance=all: the good records around a bad one arrive in order, and the task runs on."""
    topics.create(name)
    host.run(_json_sink(name, tmp_path, "all"))
    topics.produce(name, [Record(None, text) for text in (b'{"a":1}', b"{no json", b'{"a":2}')])
    out = tmp_path / "out.txt"
    assert eventually(lambda: out.exists() and out.read_text() == "{a=1}\n{a=2}\n", TIMEOUT), host.rest.status(name)
    assert host.rest.states(name) == ["RUNNING", "RUNNING"]


def test_bad_json_fails_the_task_where_errors_are_not_tolerated(
    host: Host, topics: Topics, name: str, tmp_path: Path
) -> None:
    """errors.tolerance=none, the default: the task is FAILED, and its trace names converter and cause."""
    topics.create(name)
    topics.produce(name, [Record(None, text) for text in (b'{"a":1}', b"{no json")])
    assert host.rest.create(_json_sink(name, tmp_path, "none")).status == 201
    host.wait_for_state(name, "FAILED")
    trace = host.rest.status(name)["tasks"][0]["trace"]
    assert "Tolerance exceeded in error handler" in trace
    record = f"record: topic '{name}', partition 0, offset 1, 8 bytes (value text)"
    assert f"{record}\nstage: VALUE_CONVERTER with class {JSON}" in trace


def _json_sink(name: str, folder: Path, tolerance: str) -> dict[str, str]:
    return {
        "name": name,
        "connector.class": FILE_SINK,
        "topics": name,
        "file": str(folder / "out.txt"),
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "errors.tolerance": tolerance,
    }
