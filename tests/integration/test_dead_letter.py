"""Records that a sink's task reports become dead letters with the same contents as Java's."""

from __future__ import annotations

from pathlib import Path

from tests.integration.conftest import Host
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

ERRORS = "org.apache.kafka.connect.errors."
OWN = (("own", b"x"),)
JAVA = [
    # What Java's Kafka Connect 4.3.1 wrote for a task with the same reports: key, value, own headers, place,
    # exception class, message.
    (b"k", b"data", OWN, ("{name}", 0, 0), "DataException", "bad data"),
    (b"k", b"cause", OWN, ("{name}", 0, 1), "ConnectException", "outer"),
    (b"k", b"null", OWN, ("{name}", 0, 2), "DataException", None),
    (b"k", b"retriable", OWN, ("{name}", 0, 3), "RetriableException", "again"),
    (b"k", b"copy", OWN, ("{name}", 0, 4), "DataException", "copied"),
    (b"mk", b"mv", (("h", b"5"),), ("made", 3, 77), "DataException", "made up"),
]


def test_reported_records_become_javas_dead_letters(host: Host, topics: Topics, name: str) -> None:
    """Records as consumed, even if transformations changed them; a task's own records as if they were consumed."""
    values = ("data", "cause", "null", "retriable", "copy", "made")
    topics.create(name)
    topics.produce(name, [Record(b"k", value.encode(), OWN, timestamp=1_700_000_000_000) for value in values])
    dead = f"{name}-dead"
    config = {
        "name": name,
        "connector.class": "org.example.ReportingSinkConnector",
        "topics": name,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    host.run(config)
    assert eventually(lambda: topics.count(dead) >= len(JAVA), TIMEOUT), host.rest.status(name)
    found = topics.read(dead)
    for record, (key, value, own, place, error, message) in zip(found, JAVA, strict=True):
        assert (record.key, record.value) == (key, value)
        text = f"{ERRORS}{error}" + ("" if message is None else f": {message}")
        context = {
            "topic": place[0].format(name=name),
            "partition": str(place[1]),
            "offset": str(place[2]),
            "connector.name": name,
            "task.id": "0",
            "stage": "TASK_PUT",
            "class.name": "org.apache.kafka.connect.sink.SinkTask",
            "exception.class.name": f"{ERRORS}{error}",
            "exception.message": message,
            "exception.stacktrace": text,
        }
        shown = [(header, None if data is None else data.decode().split("\n")[0]) for header, data in record.headers]
        wanted = [(header, data.decode()) for header, data in own]
        assert shown == [*wanted, *((f"__connect.errors.{part}", expected) for part, expected in context.items())]


def test_a_record_nested_too_deeply_is_a_dead_letter(host: Host, topics: Topics, name: str, tmp_path: Path) -> None:
    """Java reads arrays of 998 levels with a schema, more than Arrow can send; the records around them arrive."""

    def message(depth: int) -> bytes:
        schema = '{"type":"array","items":' * depth + '{"type":"int32"}' + "}" * depth
        return f'{{"schema":{schema},"payload":{"[" * depth}1{"]" * depth}}}'.encode()

    depths, dead, written = (1, 64, 500, 999, 998, 5000, 2), f"{name}-dead", tmp_path / "written"
    topics.create(name)
    topics.produce(name, [Record(None, message(depth)) for depth in depths])
    config = {
        "name": name,
        "connector.class": "FileStreamSink",
        "file": str(written),
        "topics": name,
        "value.converter": "JsonConverter",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    host.run(config)
    lines = [f"{'[' * depth}1{']' * depth}" for depth in depths if depth <= 998]
    assert eventually(lambda: written.exists() and written.read_text().splitlines() == lines, TIMEOUT), (
        host.rest.status(name)
    )
    assert eventually(lambda: topics.count(dead) == 2, TIMEOUT)
    errors = [dict(record.headers)["__connect.errors.exception.class.name"] for record in topics.read(dead)]
    assert errors == [f"{ERRORS}DataException".encode()] * 2
