"""A worker with OpenLineage's keys tells what its connectors read and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from tests.peer.hearth_connect import HearthConnect, file_bundle
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow


def test_a_source_and_its_topic_are_told(broker: KafkaBroker, tmp_path: Path) -> None:
    """The topic is told once records are in it; the run completes with the worker."""
    log, lines = tmp_path / "lineage.jsonl", tmp_path / "lines.txt"
    lines.write_text("a line\n")
    settings = {
        "plugin.path": str(file_bundle()),
        "openlineage.transport.type": "file",
        "openlineage.transport.log_file_path": str(log),
        "openlineage.transport.append": "true",
        "openlineage.namespace": "shop",
    }

    def events() -> list[dict[str, Any]]:
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def is_told() -> bool:
        found = events()
        return bool(found) and bool(found[-1]["outputs"])

    worker = HearthConnect(tmp_path, broker.bootstrap_servers, settings, [])
    worker.start()
    try:
        config = {"name": "lines", "connector.class": "FileStreamSource", "topic": "lineage-lines", "file": str(lines)}
        worker.run(config)
        assert eventually(is_told, TIMEOUT), events()
    finally:
        worker.stop()
    found = events()
    kinds = [each["eventType"] for each in found]
    assert (kinds[0], kinds[-2:], {*kinds}) == ("START", ["RUNNING", "COMPLETE"], {"START", "RUNNING", "COMPLETE"})
    assert {(each["job"]["namespace"], each["job"]["name"]) for each in found} == {("shop", "lines")}
    assert len({each["run"]["runId"] for each in found}) == 1
    last = found[-1]
    assert [(each["namespace"], each["name"]) for each in last["inputs"]] == [("file", str(lines))]
    kafka = f"kafka://{broker.bootstrap_servers}"
    assert [(each["namespace"], each["name"]) for each in last["outputs"]] == [(kafka, "lineage-lines")]
