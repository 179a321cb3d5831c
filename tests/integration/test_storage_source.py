"""The source of files in a worker: what a sink wrote into a bucket comes back, with an offset for each file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.integration.conftest import Host
from tests.integration.installed_bundle import installed
from tests.object_store import StoreServer, serving_s3
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
KEYS = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    """Provide an S3 server with a bucket."""
    with serving_s3() as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def _bundle(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the bundle of files."""
    with installed(host, tmp_path_factory.mktemp("bundles"), "storage", "S3SourceConnector"):
        yield


def bucket(server: StoreServer) -> dict[str, str]:
    """Return the keys of both connectors."""
    return {
        "s3.bucket.name": "data", "store.url": server.url, "s3.region": "us-east-1",
        "aws.access.key.id": "key", "aws.secret.access.key": "secret",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "store.kafka.keys": "true",
        **KEYS, **JSON,
    }  # fmt: skip


def test_a_topic_goes_to_a_bucket_and_back(host: Host, topics: Topics, server: StoreServer, name: str) -> None:
    """Keys, values with their schema, partition and order are equal; a restart reads nothing twice."""
    copy = f"{name}-copy"
    for topic in (name, copy):
        topics.create(topic)
    fields = [{"field": "id", "type": "int64", "optional": False}, {"field": "at", "type": "string", "optional": True}]
    schema = {"type": "struct", "fields": fields, "optional": False, "name": "com.acme.Order"}
    values = [{"id": number, "at": None if number % 3 else "here"} for number in range(60)]
    texts = [json.dumps({"schema": schema, "payload": value}).encode() for value in values]
    topics.produce(name, [Record(f"k{number}".encode(), text) for number, text in enumerate(texts)])
    host.run(
        {
            "name": f"{name}-sink", "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": name,
            "storage.class": "io.confluent.connect.s3.storage.S3Storage", "flush.size": "20", **bucket(server),
        }
    )  # fmt: skip
    router = {"type": "RegexRouter", "regex": ".*", "replacement": copy}
    host.run(
        {
            "name": name, "connector.class": "io.confluent.connect.s3.source.S3SourceConnector",
            "s3.poll.interval.ms": "100", "transforms": "to", **bucket(server),
            **{f"transforms.to.{key}": value for key, value in router.items()},
        }
    )  # fmt: skip
    assert eventually(lambda: topics.count(copy) >= 60, TIMEOUT), host.last_words()
    found = topics.read(copy)
    assert [each.key for each in found] == [f"k{number}".encode() for number in range(60)]
    assert [json.loads(each.value or b"")["payload"] for each in found] == values
    assert json.loads(found[0].value or b"")["schema"]["name"] == "com.acme.Order"
    offsets = f"/connectors/{name}/offsets"
    assert eventually(lambda: len(host.rest.call("GET", offsets).json["offsets"]) == 3, TIMEOUT)
    for each in host.rest.call("GET", offsets).json["offsets"]:
        assert each["partition"]["place"] == "s3://data"
        assert each["offset"]["row"] == 20
        assert each["offset"]["end"] is True
    host.rest.call("POST", f"/connectors/{name}/restart?includeTasks=true")
    topics.produce(name, [Record(b"last", texts[0])] * 20)
    assert eventually(lambda: topics.count(copy) >= 80, TIMEOUT), host.last_words()
    assert topics.count(copy) == 80
