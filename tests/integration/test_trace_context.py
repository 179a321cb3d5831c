"""The headers of a trace (W3C Trace Context) pass through sources and sinks as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import Host
from tests.integration.thread_host import file_sink
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

HEADERS = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
}
"""The examples of the recommendation."""


@pytest.mark.parametrize("converter", ["SimpleHeaderConverter", "StringConverter"])
def test_a_sink_sees_the_trace_of_a_record(
    host: Host, topics: Topics, name: str, tmp_path: Path, converter: str
) -> None:
    """As text; no header converter takes it for a number, a time or a list."""
    topics.create(name)
    topics.produce(name, [Record(None, b"v", tuple((key, text.encode()) for key, text in HEADERS.items()))])
    config = file_sink(name, tmp_path / "out", name)
    config["header.converter"] = f"org.apache.kafka.connect.storage.{converter}"
    answer = host.rest.call("POST", "/hearth/preview", {"config": config, "limit": 1})
    found = answer.json["records"][0]["steps"][-1]["record"]["headers"]
    assert dict(found) == HEADERS


def test_a_source_writes_the_trace_of_a_record(host: Host, topics: Topics, name: str, tmp_path: Path) -> None:
    """The bytes in Kafka are its text."""
    lines = tmp_path / "lines"
    lines.write_text("a line\n")
    config = {"name": name, "connector.class": "FileStreamSource", "topic": name, "file": str(lines)}
    config["transforms"] = "traceparent,tracestate"
    for key, text in HEADERS.items():
        config[f"transforms.{key}.type"] = "org.apache.kafka.connect.transforms.InsertHeader"
        config |= {f"transforms.{key}.header": key, f"transforms.{key}.value.literal": text}
    host.run(config)
    assert eventually(lambda: topics.count(name) == 1, TIMEOUT)
    assert topics.read(name)[0].headers == tuple((key, text.encode()) for key, text in HEADERS.items())
