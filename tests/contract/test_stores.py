"""The contract of the stores: one suite for all implementations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.broker import KafkaBroker
from hearth.config import DistributedConfig
from hearth.storage import (
    ConfigListener,
    ConfigStore,
    ConnectorStatus,
    FileOffsetStore,
    MemoryConfigStore,
    MemoryOffsetStore,
    MemoryStatusStore,
    OffsetStore,
    RestartRequest,
    State,
    StatusStore,
    TargetState,
    TaskStatus,
)
from hearth.storage.topic_store import TopicStores
from hearth_api import NotFoundError
from tests.peer.distributed import cluster_settings

OFFSET_STORES: dict[str, Callable[[Path], OffsetStore]] = {
    "memory": lambda directory: MemoryOffsetStore(),
    "file": lambda directory: FileOffsetStore(directory / "connect.offsets"),
}
STATUS_STORES: dict[str, Callable[[], StatusStore]] = {"memory": MemoryStatusStore}
CONFIG_STORES: dict[str, Callable[[], ConfigStore]] = {"memory": MemoryConfigStore}

KAFKA = "kafka"
"""The stores on topics of the session's broker; one host uses them for all tests of this process."""
FAR = "another kafka"
"""The same with connectors' own topics, whose clients use another address."""
CONNECTORS = ("a", "b", "c")

# Java keeps an invalid number as a text.
fractions = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), fractions)
maps = st.dictionaries(st.text(), values, max_size=3)


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Iterator[TopicStores]:
    """Provide the stores of a leading host."""
    stores = TopicStores(
        DistributedConfig(
            {
                **cluster_settings("contract"),
                "bootstrap.servers": broker.bootstrap_servers,
                "key.converter": "K",
                "value.converter": "V",
                "fetch.max.wait.ms": "20",
            }
        )
    )
    stores.start()
    stores.claim()
    yield stores
    stores.close()


@pytest.fixture(params=[*OFFSET_STORES, KAFKA, FAR])
def offsets(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OffsetStore]:
    """Make a store of each kind in turn."""
    if request.param not in (KAFKA, FAR):
        yield OFFSET_STORES[request.param](tmp_path)
        return
    topics, config = request.getfixturevalue("topics"), {}
    if request.param == FAR:
        servers = request.getfixturevalue("broker").bootstrap_servers.replace("127.0.0.1", "localhost")
        clients = (f"{client}.override.bootstrap.servers" for client in ("producer", "consumer", "admin"))
        config = {**dict.fromkeys(clients, servers), "consumer.override.fetch.max.wait.ms": "20"}
        config["offsets.storage.topic"] = "contract-far"
    for connector in CONNECTORS:
        topics.configs.put_connector(connector, config)
    yield topics.offsets
    for connector in CONNECTORS:
        topics.offsets.put(connector, [(partition, None) for partition in topics.offsets.partitions(connector)])


@pytest.fixture(params=[*STATUS_STORES, KAFKA])
def statuses(request: pytest.FixtureRequest) -> Iterator[StatusStore]:
    """Make a store of each kind in turn."""
    if request.param != KAFKA:
        yield STATUS_STORES[request.param]()
        return
    store = request.getfixturevalue("topics").statuses
    yield store
    for connector in CONNECTORS:
        for status in store.tasks(connector):
            store.put_task(TaskStatus(connector, status.task, State.DESTROYED, "w:1"))
        store.put_connector(ConnectorStatus(connector, State.DESTROYED, "w:1"))


@pytest.fixture(params=[*CONFIG_STORES, KAFKA])
def configs(request: pytest.FixtureRequest) -> Iterator[ConfigStore]:
    """Make a store of each kind in turn."""
    if request.param != KAFKA:
        yield CONFIG_STORES[request.param]()
        return
    store = request.getfixturevalue("topics").configs
    yield store
    store.subscribe(ConfigListener())
    for connector in store.snapshot().connectors():
        store.remove_connector(connector)


class TestOffsetStore:
    """Source offsets."""

    def test_a_partition_never_stored_has_no_offset(self, offsets: OffsetStore) -> None:
        """It is None in the result."""
        assert offsets.get("c", [{"file": "a"}, {}]) == [None, None]
        assert offsets.partitions("c") == []

    def test_offsets_are_returned_in_request_order(self, offsets: OffsetStore) -> None:
        """One result for each partition, stored or not."""
        offsets.put("c", [({"p": 1}, {"o": 1}), ({"p": 2}, {"o": 2})])
        assert offsets.get("c", [{"p": 2}, {"p": 3}, {"p": 1}]) == [{"o": 2}, None, {"o": 1}]

    def test_partitions_are_equal_whatever_the_order_of_their_keys(self, offsets: OffsetStore) -> None:
        """Partitions are compared as maps."""
        offsets.put("c", [({"a": 1, "b": 2}, {"o": 1})])
        offsets.put("c", [({"b": 2, "a": 1}, {"o": 2})])
        assert offsets.get("c", [{"a": 1, "b": 2}]) == [{"o": 2}]
        assert len(offsets.partitions("c")) == 1

    def test_connectors_do_not_see_each_other(self, offsets: OffsetStore) -> None:
        """The connector's name is part of the key."""
        offsets.put("a", [({"p": 1}, {"o": 1})])
        assert offsets.get("b", [{"p": 1}]) == [None]

    def test_a_none_offset_removes_a_partition(self, offsets: OffsetStore) -> None:
        """A None offset is Kafka's tombstone."""
        offsets.put("c", [({"p": 1}, {"o": 1}), ({"p": 2}, {"o": 2})])
        offsets.put("c", [({"p": 1}, None), ({"p": 9}, None)])
        assert offsets.get("c", [{"p": 1}]) == [None]
        assert offsets.partitions("c") == [{"p": 2}]

    def test_returned_offsets_are_copies(self, offsets: OffsetStore) -> None:
        """A caller that changes the result does not change the store."""
        offsets.put("c", [({"p": 1}, {"o": 1})])
        answer = offsets.get("c", [{"p": 1}])[0]
        assert answer is not None
        answer["o"] = 2
        assert offsets.get("c", [{"p": 1}]) == [{"o": 1}]

    def test_concurrent_writers_lose_nothing(self, offsets: OffsetStore) -> None:
        """Tasks commit concurrently."""

        def write(task: int) -> None:
            for number in range(10):
                offsets.put("c", [({"task": task}, {"n": number}), ({"task": task, "n": number}, {})])

        threads = [threading.Thread(target=write, args=(task,)) for task in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert offsets.get("c", [{"task": task} for task in range(4)]) == [{"n": 9}] * 4
        assert len(offsets.partitions("c")) == 44

    @settings(
        max_examples=25,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        deadline=None,
    )
    @given(partition=maps, offset=maps)
    def test_any_json_map_round_trips(
        self, offsets: OffsetStore, partition: dict[str, object], offset: dict[str, object]
    ) -> None:
        """Keys and values are opaque to the store."""
        offsets.put("c", [(partition, offset)])
        assert offsets.get("c", [partition]) == [offset]
        assert partition in offsets.partitions("c")


class TestStatusStore:
    """Statuses and topics."""

    def test_a_status_replaces_the_one_before(self, statuses: StatusStore) -> None:
        """Only the last status counts."""
        statuses.put_connector(ConnectorStatus("c", State.RUNNING, "w:1", version="1"))
        statuses.put_connector(ConnectorStatus("c", State.FAILED, "w:1", trace="why", version="1"))
        assert statuses.connector("c") == ConnectorStatus("c", State.FAILED, "w:1", 0, "why", "1")
        assert statuses.connector("other") is None

    def test_tasks_are_sorted_by_number(self, statuses: StatusStore) -> None:
        """REST lists tasks sorted."""
        for number in (10, 2, 0):
            statuses.put_task(TaskStatus("c", number, State.RUNNING, "w:1"))
        assert [status.task for status in statuses.tasks("c")] == [0, 2, 10]
        assert statuses.task("c", 2) == TaskStatus("c", 2, State.RUNNING, "w:1")
        assert statuses.task("c", 1) is None
        assert statuses.tasks("other") == []

    def test_destroyed_removes_a_status(self, statuses: StatusStore) -> None:
        """A deleted connector responds with 404, not DESTROYED."""
        statuses.put_connector(ConnectorStatus("c", State.RUNNING, "w:1"))
        statuses.put_task(TaskStatus("c", 0, State.RUNNING, "w:1"))
        statuses.put_task(TaskStatus("c", 0, State.DESTROYED, "w:1"))
        statuses.put_connector(ConnectorStatus("c", State.DESTROYED, "w:1"))
        assert statuses.connector("c") is None
        assert statuses.tasks("c") == []

    def test_topics_are_stored_once_until_reset(self, statuses: StatusStore) -> None:
        """The topics endpoint returns a set."""
        for topic in ("b", "a", "b"):
            statuses.add_topic("c", topic)
        assert statuses.topics("c") == ["b", "a"]
        statuses.reset_topics("c")
        assert statuses.topics("c") == []

    def test_topics_are_removed_with_their_connector(self, statuses: StatusStore) -> None:
        """A new connector with the same name starts without topics."""
        statuses.add_topic("c", "a")
        statuses.put_connector(ConnectorStatus("c", State.DESTROYED, "w:1"))
        assert statuses.topics("c") == []

    def test_runs_are_kept_until_their_connector_is_deleted(self, statuses: StatusStore) -> None:
        """Those of another connector stay."""
        for connector in ("c", "c-1"):
            statuses.put_connector(ConnectorStatus(connector, State.RUNNING, "w:1"))
            statuses.put_runs(connector, 0, {"restarts": 1, "ends": []})
        statuses.put_runs("c", 0, {"restarts": 2, "ends": [{"words": "é", "seconds": 0.5}]})
        statuses.put_runs("c", 1, {"restarts": 0, "ends": []})
        statuses.put_runs("c", 1, None)
        assert statuses.runs("c", 0) == {"restarts": 2, "ends": [{"words": "é", "seconds": 0.5}]}
        assert statuses.runs("c", 1) is None
        statuses.put_connector(ConnectorStatus("c", State.DESTROYED, "w:1"))
        assert statuses.runs("c", 0) is None
        assert statuses.runs("c-1", 0) == {"restarts": 1, "ends": []}


class Recorder(ConfigListener):
    """Records the changes that it is notified of."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []

    def on_change(self, connector: str) -> None:
        """Record it."""
        self.events.append(("change", connector))

    def on_restart(self, request: RestartRequest) -> None:
        """Record it."""
        self.events.append(("restart", request))


class TestConfigStore:
    """Configurations, tasks and targets."""

    def test_a_new_connectors_target_state_is_started(self, configs: ConfigStore) -> None:
        """STARTED is the default of a create request."""
        configs.put_connector("c", {"a": "1"})
        entry = configs.snapshot().find("c")
        assert entry is not None
        assert (entry.config, entry.target, entry.tasks, entry.applied) == (
            {"a": "1"},
            TargetState.STARTED,
            (),
            None,
        )

    def test_a_new_configuration_keeps_target_and_tasks(self, configs: ConfigStore) -> None:
        """A new configuration of a paused connector leaves it paused, with its tasks."""
        configs.put_connector("c", {"a": "1"}, TargetState.PAUSED)
        configs.put_tasks("c", [{"t": "1"}])
        configs.put_connector("c", {"a": "2"})
        entry = configs.snapshot().find("c")
        assert entry is not None
        assert entry.target is TargetState.PAUSED
        assert entry.tasks == ({"t": "1"},)
        assert entry.applied == {"a": "1"}

    def test_a_snapshot_does_not_change(self, configs: ConfigStore) -> None:
        """A reader uses one consistent view."""
        configs.put_connector("c", {"a": "1"})
        before = configs.snapshot()
        configs.remove_connector("c")
        assert before.connectors() == ["c"]
        assert configs.snapshot().connectors() == []

    def test_tasks_record_the_configuration_they_were_made_from(self, configs: ConfigStore) -> None:
        """Equal task configurations of a changed connector still restart."""
        configs.put_connector("c", {"a": "1"})
        configs.put_tasks("c", [{"t": "1"}, {"t": "2"}])
        entry = configs.snapshot().find("c")
        assert entry is not None
        assert entry.tasks == ({"t": "1"}, {"t": "2"})
        assert entry.applied == {"a": "1"}
        configs.remove_tasks("c")
        entry = configs.snapshot().find("c")
        assert entry is not None
        assert entry.tasks == ()

    def test_every_write_of_a_configuration_or_of_tasks_has_a_greater_revision(self, configs: ConfigStore) -> None:
        """Also with equal contents, and for a recreated connector; a target state does not count."""
        seen = [0]

        def look(write: Callable[[], None], is_of_tasks: bool) -> None:
            write()
            entry = configs.snapshot().find("c")
            assert entry is not None
            seen.append(entry.tasks_revision if is_of_tasks else entry.revision)

        configs.put_connector("c", {"a": "1"})
        entry = configs.snapshot().find("c")
        assert entry is not None
        assert entry.tasks_revision == 0
        look(lambda: configs.put_connector("c", {"a": "1"}), False)
        look(lambda: configs.put_tasks("c", [{}]), True)
        look(lambda: configs.put_tasks("c", [{}]), True)
        look(lambda: configs.remove_tasks("c"), True)
        configs.put_target("c", TargetState.PAUSED)
        configs.remove_connector("c")
        look(lambda: configs.put_connector("c", {"a": "1"}), False)
        look(lambda: configs.put_tasks("c", [{}]), True)
        assert seen == sorted(set(seen))
        before = configs.snapshot().find("c")
        configs.put_target("c", TargetState.STOPPED)
        after = configs.snapshot().find("c")
        assert before is not None
        assert after is not None
        assert (after.revision, after.tasks_revision) == (before.revision, before.tasks_revision)

    def test_an_owner_stays_until_its_connector_is_deleted(self, configs: ConfigStore) -> None:
        """Nobody is notified, for nothing has to restart."""

        def owner() -> str | None:
            entry = configs.snapshot().find("owned")
            return None if entry is None else entry.owner

        with pytest.raises(NotFoundError):
            configs.put_owner("owned", "me")
        configs.put_connector("owned", {"a": "1"})
        configs.put_owner("owned", "me")
        configs.put_connector("owned", {"a": "2"})
        configs.put_tasks("owned", [{"t": "1"}])
        assert owner() == "me"
        configs.put_owner("owned", None)
        assert owner() is None
        configs.put_owner("owned", "me")
        configs.remove_connector("owned")
        configs.put_connector("owned", {"a": "1"})
        assert owner() is None

    def test_new_tasks_require_fencing_until_their_count_is_recorded(self, configs: ConfigStore) -> None:
        """As with Kafka Connect's task count records: also for a connector with a deleted one's name."""

        def fencing() -> tuple[int | None, bool]:
            state = configs.snapshot()
            return state.task_counts.get("fenced"), "fenced" in state.pending_fencing

        configs.put_connector("fenced", {"a": "1"})
        assert fencing() == (None, False)
        configs.put_tasks("fenced", [{"t": "1"}, {"t": "2"}])
        assert fencing() == (None, True)
        configs.put_task_count("fenced", 2)
        assert fencing() == (2, False)
        configs.put_connector("fenced", {"a": "2"})
        assert fencing() == (2, False)
        configs.remove_tasks("fenced")
        assert fencing() == (2, True)
        configs.remove_connector("fenced")
        configs.put_connector("fenced", {"a": "1"})
        configs.put_tasks("fenced", [{"t": "1"}])
        assert fencing() == (2, True)

    def test_an_unknown_connector_has_no_tasks_and_no_target(self, configs: ConfigStore) -> None:
        """A connector that was never created has neither."""
        calls: list[Callable[[], None]] = [
            lambda: configs.put_tasks("c", []),
            lambda: configs.remove_tasks("c"),
            lambda: configs.put_target("c", TargetState.PAUSED),
        ]
        for call in calls:
            with pytest.raises(NotFoundError, match="Unknown connector c"):
                call()
        assert configs.snapshot().find("c") is None

    def test_connectors_are_listed_in_creation_order(self, configs: ConfigStore) -> None:
        """In order of creation, whatever changes later."""
        for name in ("b", "a", "b"):
            configs.put_connector(name, {})
        assert configs.snapshot().connectors() == ["b", "a"]

    def test_the_listener_is_notified_after_a_change_is_visible(self, configs: ConfigStore) -> None:
        """A listener reads the change from the store; setting an equal target state is not a change."""
        recorder = Recorder()
        configs.subscribe(recorder)
        configs.put_connector("c", {})
        configs.put_tasks("c", [{}])
        configs.put_target("c", TargetState.PAUSED)
        configs.put_target("c", TargetState.PAUSED)
        configs.put_restart(RestartRequest("c", include_tasks=True))
        configs.remove_tasks("c")
        configs.remove_connector("c")
        assert recorder.events == [
            ("change", "c"),
            ("change", "c"),
            ("change", "c"),
            ("restart", RestartRequest("c", include_tasks=True)),
            ("change", "c"),
            ("change", "c"),
        ]
