"""Worker configurations on a real host: tasks run with the configuration that their connector names."""

from __future__ import annotations

from pathlib import Path

from tests.integration.conftest import Host
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually


def test_tasks_run_with_their_connectors_worker_configuration(
    host: Host, name: str, topics: Topics, tmp_path: Path
) -> None:
    """Two connectors read one file: one has the worker's converters, the other those of a configuration."""
    (tmp_path / "in.txt").write_text("a line\n")
    json = "org.apache.kafka.connect.json.JsonConverter"
    config = {"key.converter": json, "value.converter": json, "value.converter.schemas.enable": "false"}
    made = host.rest.call("POST", "/worker-configurations", {"name": name, "config": config})
    assert made.status == 201, made
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt")}
    host.run({**source, "name": f"{name}-own", "topic": f"{name}-own"})
    host.run({**source, "name": f"{name}-named", "topic": f"{name}-named", "worker.configuration": name})
    assert _written(topics, f"{name}-own") == b"a line"
    assert _written(topics, f"{name}-named") == b'"a line"'
    assert host.rest.call("DELETE", f"/worker-configurations/{name}").status == 409
    host.delete(f"{name}-named")
    assert host.rest.call("DELETE", f"/worker-configurations/{name}").status == 204


def _written(topics: Topics, topic: str) -> bytes | None:
    """Return the one record of a topic."""
    assert eventually(lambda: topics.count(topic) == 1, TIMEOUT)
    return topics.read(topic)[0].value
