"""Java's distributed worker and Hearth's stores read each other's topics; Java's records are kept as data."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.config import DistributedConfig
from hearth.storage import State, TargetState
from hearth.storage.topic_store import TopicStores
from tests.peer.cluster_record import KeptRecord, kept_records, record
from tests.peer.distributed import JavaDistributed, cluster_settings
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.long
GROUP = "both-ways"


def shape(each: KeptRecord) -> tuple[str, str, tuple[str, ...] | None]:
    """Return the parts that are equal in every run of Java: keys, and the names of the values' fields."""
    key = each.key if each.kind != "offset" else "offset"
    return each.kind, key, None if each.value is None else tuple(json.loads(each.value))


def test_java_writes_the_kept_records(tmp_path: Path) -> None:
    """The data was written by this version of Java's worker."""
    assert {shape(each) for each in record(tmp_path)} == {shape(each) for each in kept_records()}


def test_java_and_hearth_continue_from_each_others_records(broker: KafkaBroker, tmp_path: Path) -> None:
    """Configurations, target states, and offsets with byte-equal keys."""
    text = tmp_path / "lines.txt"
    text.write_text("one\ntwo\nthree\n", encoding="utf-8")
    source = {
        "name": "h-1", "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "both-ways-lines",
        "file": str(text), "comment": "tab\t, \x1f, é, 😀",
    }  # fmt: skip
    converters = {"key.converter": "K", "value.converter": "V"}
    settings = {**cluster_settings(GROUP), "bootstrap.servers": broker.bootstrap_servers, **converters}
    worker = DistributedConfig(settings)
    with closing(TopicStores(worker)) as stores:
        stores.start()
        stores.claim()
        stores.configs.put_connector("h-1", source, TargetState.STOPPED)
        stores.configs.put_connector("h-2", {**source, "name": "h-2"}, TargetState.PAUSED)
        stores.offsets.put("h-1", [({"filename": str(text)}, {"position": 4}), ({"old": 1}, {"n": 2.5})])
        stores.offsets.put("h-1", [({"old": 1}, None)])
    java = JavaDistributed(tmp_path / "java", broker.bootstrap_servers, GROUP)
    java.folder.mkdir()
    with java:
        call = java.rest.call
        assert sorted(call("GET", "/connectors").json) == ["h-1", "h-2"]
        assert call("GET", "/connectors/h-1/config").json == source
        assert eventually(lambda: java.rest.states("h-1") == ["STOPPED"], TIMEOUT)
        assert eventually(lambda: java.rest.states("h-2") == ["PAUSED"], TIMEOUT)
        offsets = [{"partition": {"filename": str(text)}, "offset": {"position": 4}}]
        assert call("GET", "/connectors/h-1/offsets").json == {"offsets": offsets}
        assert call("PUT", "/connectors/h-1/resume").status == 202
        java.wait_for_state("h-1", "RUNNING")
        position = {"position": 14}
        assert eventually(
            lambda: call("GET", "/connectors/h-1/offsets").json["offsets"][0]["offset"] == position, TIMEOUT
        )
        assert call("PUT", "/connectors/h-1/pause").status == 202
        java.wait_for_state("h-1", "PAUSED")
    with closing(TopicStores(worker)) as stores:
        stores.start()
        entry = stores.configs.snapshot().find("h-1")
        assert entry is not None
        assert (entry.config, entry.target, entry.applied) == (source, TargetState.PAUSED, source)
        assert [task["task.class"] for task in entry.tasks] == ["org.apache.kafka.connect.file.FileStreamSourceTask"]
        assert stores.offsets.partitions("h-1") == [{"filename": str(text)}]
        assert stores.offsets.get("h-1", [{"filename": str(text)}]) == [position]
        assert stores.statuses.topics("h-1") == ["both-ways-lines"]
        status = stores.statuses.task("h-1", 0)
        assert status is not None
        assert (status.state, status.version) == (State.UNASSIGNED, None)
        assert stores.statuses.next_generation > status.generation
