"""Hosts that share Kafka's topics: the right to write, what others read, and rejected topics."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from hearth.broker import KafkaBroker
from hearth.config import DistributedConfig
from hearth.kafka.admin import TopicAdmin
from hearth.storage import ConnectorStatus, NotLeading, State, TargetState
from hearth.storage.fenced_producer import Record
from hearth.storage.internal_topic import InternalTopic
from hearth.storage.topic_store import TopicStores
from hearth_api import ConfigError, ConnectError, RetriableError
from tests.peer.cluster_record import KeptRecord, kept_records, read_records
from tests.peer.distributed import cluster_settings
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

RANDOM_SEED = 7
GROUP = "stores"
GROUP_RIGHT = "connect-cluster-stores"
ANYBODY = ("User:ANONYMOUS", "*")
LARGEST = 20_000
"""The record size in bytes that the cluster's config topic accepts."""
_groups = (f"refused-{number}" for number in itertools.count())


class Host(TopicStores):
    """The stores of a host, which counts how often it was notified that it no longer leads."""

    def __init__(self, broker: KafkaBroker, group: str = GROUP, settings: Mapping[str, str] | None = None) -> None:
        self.losses = 0
        servers = {"bootstrap.servers": broker.bootstrap_servers, "fetch.max.wait.ms": "20"}
        converters = {"key.converter": "K", "value.converter": "V"}
        largest = {"config.storage.max.message.bytes": str(LARGEST)}
        properties = {**cluster_settings(group), **largest, **servers, **converters, **(settings or {})}
        super().__init__(DistributedConfig(properties), self._count)
        self.start()

    def _count(self) -> None:
        self.losses += 1


@pytest.fixture(scope="module")
def hosts(broker: KafkaBroker) -> Iterator[tuple[Host, Host]]:
    """Provide two hosts of one cluster, either of which may claim the right to write."""
    with closing(Host(broker)) as first, closing(Host(broker)) as second:
        yield first, second


@pytest.fixture
def leader(hosts: tuple[Host, Host]) -> Host:
    """Provide the host with the right to write."""
    hosts[0].claim()
    return hosts[0]


@pytest.fixture
def late(broker: KafkaBroker) -> Iterator[Callable[[], Host]]:
    """Provide a function that starts another host of the cluster, to check what it reads."""
    started: list[Host] = []

    def start() -> Host:
        started.append(Host(broker))
        return started[-1]

    yield start
    for host in started:
        host.close()


def records_of(broker: KafkaBroker, connector: str) -> list[KeptRecord]:
    """Return the records in the cluster's topics whose keys contain a name."""
    return [each for each in read_records(broker.bootstrap_servers, GROUP) if connector in each.key]


def test_claiming_the_right_to_write_fences_the_other_host(hosts: tuple[Host, Host], late: Callable[[], Host]) -> None:
    """The first host can write nothing any more, whatever it assumes; every host reads the second one's writes."""
    first, second = hosts
    earlier = first.claim()
    first.configs.put_connector("c", {"by": "first"}, TargetState.PAUSED)
    first.statuses.put_connector(ConnectorStatus("c", State.RUNNING, "first:1", 1))
    first.offsets.put("c", [({"p": 1}, {"o": 1})])
    assert second.claim() > earlier
    assert second.configs.snapshot().find("c") is not None
    writes: list[Callable[[], None]] = [
        lambda: first.configs.put_connector("c", {"by": "nobody"}),
        lambda: first.configs.put_target("c", TargetState.STARTED),
        lambda: first.configs.remove_connector("c"),
        lambda: first.offsets.put("c", [({"p": 1}, {"o": 0})]),
    ]
    before = first.losses
    for write in writes:
        with pytest.raises(NotLeading, match=r"this host no longer leads its cluster: .*fenced"):
            write()
    assert first.losses == before + 1
    first.statuses.put_connector(ConnectorStatus("c", State.FAILED, "first:1", 1))
    second.configs.put_connector("c", {"by": "second"})
    second.offsets.put("c", [({"p": 1}, {"o": 2})])
    second.statuses.put_connector(ConnectorStatus("c", State.RUNNING, "second:1", 2))
    first.configs.wait_for(second.configs.snapshot().offset, TIMEOUT)
    assert first.configs.snapshot().entries == second.configs.snapshot().entries
    assert first.offsets.get("c", [{"p": 1}]) == [{"o": 2}]
    assert eventually(lambda: _refreshed(first) == ConnectorStatus("c", State.RUNNING, "second:1", 2), TIMEOUT)
    assert late().configs.snapshot() == first.configs.snapshot()


def test_claiming_leadership_does_not_wait_for_a_tasks_transaction(
    hosts: tuple[Host, Host], late: Callable[[], Host], broker: KafkaBroker
) -> None:
    """Tasks that died with their host left open transactions: the next leader starts the tasks that end them."""
    leader = hosts[0]
    leader.claim()
    leader.offsets.put("t", [({"p": 1}, {"o": 1})])
    killed, successor = (
        Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "transactional.id": "stores-t-0",
                "transaction.timeout.ms": str(int(10 * TIMEOUT * 1000)),
            }
        )
        for _ in range(2)
    )
    killed.init_transactions(TIMEOUT)
    killed.begin_transaction()
    killed.produce(f"{GROUP}-offsets", b'{"o":2}', b'["t",{"p":1}]')
    killed.flush(TIMEOUT)
    began = time.monotonic()
    third = late()
    third.claim()
    successor.init_transactions(TIMEOUT)
    assert third.offsets.get("t", [{"p": 1}]) == [{"o": 1}]
    assert time.monotonic() - began < 2 * TIMEOUT


def _refreshed(host: Host) -> ConnectorStatus | None:
    host.statuses.refresh(TIMEOUT)
    return host.statuses.connector("c")


def test_hosts_that_alternate_the_right_to_write_lose_nothing(
    hosts: tuple[Host, Host], late: Callable[[], Host]
) -> None:
    """For all orders of claims and writes: the last accepted write is stored, a refused one is not.

    Nothing else decides: a host that was suspended while another led simply continues writing.
    """
    chance = random.Random(RANDOM_SEED)
    leader, names = hosts[0], ("x", "y")
    terms = [leader.claim()]
    configs: dict[str, dict[str, str]] = {}
    offsets: dict[str, dict[str, int]] = {}
    for number in range(30):
        if chance.random() < 0.2:
            leader = chance.choice(hosts)
            terms.append(leader.claim())
            assert configs.keys() <= leader.configs.snapshot().entries.keys()
        writer, name = chance.choice(hosts), chance.choice(names)
        is_config = chance.random() < 0.5
        try:
            if is_config:
                writer.configs.put_connector(name, {"n": str(number)})
            else:
                writer.offsets.put(name, [({"p": 1}, {"n": number})])
        except NotLeading:
            assert writer is not leader
            continue
        assert writer is leader
        if is_config:
            configs[name] = {"n": str(number)}
        else:
            offsets[name] = {"n": number}
    assert terms == sorted(set(terms))
    for each in (*hosts, late()):
        each.configs.refresh(TIMEOUT)
        entries = each.configs.snapshot().entries
        assert {name: entries[name].config for name in names} == configs
        assert {name: each.offsets.get(name, [{"p": 1}])[0] for name in names} == offsets


def test_a_host_without_the_right_to_write_only_reads(leader: Host) -> None:
    """After it has given up the right."""
    leader.relinquish()
    with pytest.raises(NotLeading, match="this host does not lead its cluster"):
        leader.configs.put_connector("unwritten", {})
    leader.statuses.put_connector(ConnectorStatus("unwritten", State.RUNNING, "w:1"))
    assert leader.statuses.connector("unwritten") is None


def test_every_host_may_write_log_levels(hosts: tuple[Host, Host], broker: KafkaBroker) -> None:
    """As in Java, where it is not forwarded."""
    hosts[1].relinquish()
    hosts[1].configs.put_logger_level("org.example", "DEBUG")
    written = records_of(broker, "logger-cluster-")
    assert [(each.key, each.value) for each in written] == [("logger-cluster-org.example", '{"level":"DEBUG"}')]


def test_only_the_record_that_is_too_large_is_refused(leader: Host) -> None:
    """Whether the host or the topic rejects it; concurrent writers are not disturbed, and the right stays."""
    for size in (30_000, 2_000_000):
        with ThreadPoolExecutor(2) as threads:
            texts = {f"large-{size}": {"text": "x" * size}, f"small-{size}": {}}
            large, small = (threads.submit(leader.configs.put_connector, *item) for item in texts.items())
        error = large.exception()
        assert small.exception() is None
        assert f"record 'connector-large-{size}' is not written to topic 'stores-configs': it has " in str(error)
        assert not isinstance(error, RetriableError)
        assert f"small-{size}" in leader.configs.snapshot().connectors()


def test_a_status_of_an_older_generation_is_overwritten(
    leader: Host, hosts: tuple[Host, Host], broker: KafkaBroker
) -> None:
    """A suspended host that does not know of its successor may still write statuses of old tasks."""
    running = ConnectorStatus("s", State.RUNNING, "new:1", 5)
    leader.statuses.put_connector(running)
    assert eventually(lambda: hosts[1].statuses.connector("s") == running, TIMEOUT)
    value = json.dumps({"state": "RUNNING", "trace": None, "worker_id": "old:1", "generation": 4, "version": None})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    producer.produce("stores-statuss", value, "status-connector-s")
    producer.flush()
    assert eventually(lambda: len(records_of(broker, "status-connector-s")) == 3, TIMEOUT)
    assert hosts[0].statuses.connector("s") == running
    assert eventually(lambda: hosts[1].statuses.connector("s") == running, TIMEOUT)


def test_offset_keys_keep_their_bytes(leader: Host, broker: KafkaBroker) -> None:
    """Java looks offsets up by the key's bytes, and compaction removes by them: also with fields in another order."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    for key in (b'["k",{"b":1,"a":2}]', b'["k",{"a": 2, "b": 1}]', b'["k"]'):
        producer.produce("stores-offsets", b'{"o":1}', key)
    producer.flush()
    assert leader.offsets.get("k", [{"a": 2, "b": 1}]) == [{"o": 1}]
    leader.offsets.put("k", [({"a": 2, "b": 1}, {"o": 2}), ({"n": "é"}, {"f": 1e10})])
    leader.offsets.put("k", [({"a": 2, "b": 1}, None)])
    assert leader.offsets.partitions("k") == [{"n": "é"}]
    written = [(each.key, each.value) for each in records_of(broker, '"k"')]
    known = ['["k",{"a": 2, "b": 1}]', '["k",{"b":1,"a":2}]']
    assert sorted(written, key=str) == sorted(
        [(key, value) for key in known for value in ('{"o":1}', '{"o":2}', None)]
        + [('["k",{"n":"é"}]', '{"f":1.0E10}'), ('["k"]', '{"o":1}')],
        key=str,
    )


def test_a_connectors_own_offsets_topic_has_priority(leader: Host, broker: KafkaBroker) -> None:
    """Missing offsets are read from the cluster's topic, which gets the same writes and tombstones.

    A deleted connector still commits the last records of its tasks there.
    """
    asked = [{"p": 1}, {"p": 2}]
    leader.configs.put_connector("o", {})
    leader.offsets.put("o", [({"p": 1}, {"o": "cluster"}), ({"p": 2}, {"o": "cluster"})])
    leader.configs.put_connector("o", {"offsets.storage.topic": "stores-own"})
    assert leader.offsets.get("o", asked) == [{"o": "cluster"}] * 2
    leader.offsets.put("o", [({"p": 1}, {"o": "own"}), ({"p": 2}, None)])
    assert leader.offsets.get("o", asked) == [{"o": "own"}, None]
    leader.configs.remove_connector("o")
    leader.offsets.put("o", [({"p": 1}, {"o": "own, later"})])
    leader.configs.put_connector("o", {})
    assert leader.offsets.get("o", asked) == [{"o": "own, later"}, None]
    with closing(Host(broker, settings={"offset.storage.topic": "stores-own"})) as elsewhere:
        assert elsewhere.offsets.get("o", asked) == [{"o": "own, later"}, None]


def test_a_connector_continues_in_another_cluster_with_its_offsets_topic(leader: Host, broker: KafkaBroker) -> None:
    """Its offsets are found by its name, there and back: the topic that both clusters name counts."""
    named = {"offsets.storage.topic": "stores-moving"}
    leader.configs.put_connector("m", named)
    leader.offsets.put("m", [({"p": 1}, {"o": 1})])
    with closing(Host(broker, next(_groups))) as other:
        other.claim()
        other.configs.put_connector("m", named)
        assert other.offsets.get("m", [{"p": 1}]) == [{"o": 1}]
        other.offsets.put("m", [({"p": 1}, {"o": 2})])
    assert leader.offsets.get("m", [{"p": 1}]) == [{"o": 2}]


def overrides(servers: str, topic: str | None = None) -> dict[str, str]:
    """Return the overrides that send a connector's clients to another address."""
    given = {f"{client}.override.bootstrap.servers": servers for client in ("producer", "consumer", "admin")}
    return given if topic is None else {**given, "offsets.storage.topic": topic}


def by_another_name(broker: KafkaBroker) -> str:
    """Return an address of the broker that no other test uses."""
    return broker.bootstrap_servers.replace("127.0.0.1", "localhost")


def test_an_offsets_topic_is_accessed_with_its_connectors_overrides(
    hosts: tuple[Host, Host], broker: KafkaBroker
) -> None:
    """It has priority, and the cluster's gets the same writes; a former leader writes to neither.

    Connectors with the same offsets topic share their host's clients for it, and leave none open.
    """
    first, second = hosts
    first.claim()
    servers, asked = by_another_name(broker), [{"p": 1}, {"p": 2}]
    first.offsets.put("far-a", [({"p": 1}, {"o": "cluster"}), ({"p": 2}, {"o": "cluster"})])
    for name in ("far-a", "far-b"):
        first.configs.put_connector(name, overrides(servers, "stores-far"))
    assert first.offsets.get("far-a", asked) == [{"o": "cluster"}] * 2
    first.offsets.put("far-a", [({"p": 1}, {"o": "far"}), ({"p": 2}, None)])
    first.offsets.put("far-b", [({"p": 1}, {"o": "far"})])
    assert first.offsets.get("far-a", asked) == [{"o": "far"}, None]
    assert len(first.offsets._far) == 1
    second.claim()
    second.configs.refresh(TIMEOUT)
    assert second.offsets.get("far-a", asked) == [{"o": "far"}, None]
    with pytest.raises(NotLeading):
        first.offsets.put("far-a", [({"p": 1}, {"o": "too late"})])
    assert second.offsets.get("far-a", asked) == [{"o": "far"}, None]
    for name in ("far-a", "far-b"):
        second.configs.put_connector(name, overrides(servers, "stores-farther"))
    assert second.offsets.get("far-a", asked) == [{"o": "far"}, None]
    assert second.offsets.get("far-b", asked) == [{"o": "far"}, None]
    assert [each.topic.name for each in second.offsets._far] == ["stores-farther"]


def test_a_topic_uses_the_hosts_clients_unless_overrides_differ(leader: Host, broker: KafkaBroker) -> None:
    """With the same addresses, for example, or with another batch size."""
    config = overrides(broker.bootstrap_servers, "stores-near") | {"producer.override.batch.size": "1"}
    before = [*leader.offsets._far]
    leader.configs.put_connector("near", config)
    leader.offsets.put("near", [({"p": 1}, {"o": 1})])
    assert leader.offsets.get("near", [{"p": 1}]) == [{"o": 1}]
    assert leader.offsets._far == before


@pytest.mark.long
def test_offsets_can_be_stored_in_another_kafka_cluster(
    leader: Host, broker: KafkaBroker, own_broker: KafkaBroker
) -> None:
    """In the topic that the connector names, or with exactly once in one named like the cluster's own."""
    far = own_broker.bootstrap_servers
    leader.configs.put_connector("f", overrides(far, "named"))
    leader.offsets.put("f", [({"p": 1}, {"o": 1})])
    with closing(Host(broker, settings={"exactly.once.source.support": "enabled"})) as exactly:
        exactly.claim()
        exactly.configs.put_connector("x", overrides(far))
        assert exactly.offsets.get("x", [{"p": 1}]) == [None]
        task = Producer({"bootstrap.servers": far, "transactional.id": "stores-x-0"})
        task.init_transactions(TIMEOUT)
        task.begin_transaction()
        task.produce("stores-offsets", b'{"o":2}', b'["x",{"p":1}]')
        task.commit_transaction(TIMEOUT)
        assert exactly.offsets.get("x", [{"p": 1}]) == [{"o": 2}]
        assert exactly.offsets.get("f", [{"p": 1}]) == [{"o": 1}]
        exactly.offsets.put("x", [({"p": 1}, None)])
        assert exactly.offsets.partitions("x") == []
    topics = AdminClient({"bootstrap.servers": far}).list_topics(timeout=TIMEOUT).topics
    assert {"named", "stores-offsets"} <= topics.keys()


def test_offsets_written_by_tasks_are_listed(leader: Host, broker: KafkaBroker) -> None:
    """With exactly once they write offsets in their own transactions, which block no other writer."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    producer = Producer({**settings, "transactional.id": "stores-t-0"})
    producer.init_transactions(TIMEOUT)
    for offset in (1, 2):
        producer.begin_transaction()
        producer.produce("stores-offsets", b'{"o":%d}' % offset, b'["t",{"p":%d}]' % offset)
        producer.flush()
        producer.commit_transaction(TIMEOUT)
        assert leader.offsets.partitions("t")[-1] == {"p": offset}
        assert leader.offsets.get("t", [{"p": offset}]) == [{"o": offset}]
    producer.begin_transaction()
    for number in range(20):
        producer.produce("stores-offsets", b"{}", b'["t",{"n":%d}]' % number)
    producer.flush()
    leader.offsets.put("of a neighbour", [({"p": 1}, {"o": 1})])  # does not wait for another writer's transaction
    producer.abort_transaction(TIMEOUT)
    assert leader.offsets.get("of a neighbour", [{"p": 1}]) == [{"o": 1}]


def test_records_have_javas_partition(leader: Host, broker: KafkaBroker) -> None:
    """A key's partition is the hash of its bytes; otherwise compaction would keep two values of it."""
    kept = [each for each in kept_records() if each.kind == "offset"]
    leader._producer.write([Record("stores-offsets", each.key.encode(), b"{}") for each in kept])
    ours = {(each.key, each.partition) for each in read_records(broker.bootstrap_servers, GROUP)}
    assert {(each.key, each.partition) for each in kept} <= ours
    assert len({each.partition for each in kept}) > 1


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (
            ("configs", 1, "delete"),
            "'cleanup.policy=delete'. Continuing would likely result in eventually losing conn",
        ),
        (("configs", 2, "compact"), "required to have a single partition in order to guarantee consistency"),
    ],
)
def test_a_topic_with_unsafe_settings_is_refused(broker: KafkaBroker, made: tuple[str, int, str], says: str) -> None:
    """With Java's message."""
    name, partitions, policy = made
    group = next(_groups)
    admin = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    admin.create(f"{group}-{name}", partitions, 1, {"cleanup.policy": policy})
    assert eventually(lambda: admin.exists(f"{group}-{name}"), TIMEOUT)
    with pytest.raises(ConfigError) as refusal:
        Host(broker, group, dict.fromkeys(("offset.storage.partitions", "status.storage.partitions"), "1"))
    assert says in str(refusal.value)


def test_more_copies_than_brokers_are_refused_with_the_key(broker: KafkaBroker) -> None:
    """Brokers of a starting cluster may come up later, so the host waits for them first."""
    topic = InternalTopic(next(_groups), "config.storage.topic", "connector configurations", 1, 3)
    with pytest.raises(ConnectError, match="Error while attempting to create/find topic") as refusal:
        topic.prepare(TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}), timeout=0.1)
    assert "config.storage.replication.factor=3 exceeds the number of brokers" in str(refusal.value.hint)


@pytest.mark.long
@pytest.mark.parametrize("is_too_long", [False, True])
def test_a_leader_continues_when_its_brokers_are_back(own_broker: KafkaBroker, is_too_long: bool) -> None:
    """Within the transaction timeout; after a longer outage it may have to claim the right again."""
    lasts = {"transaction.timeout.ms": "3000" if is_too_long else "60000"}
    with closing(Host(own_broker, settings=lasts)) as stores:
        earlier = stores.claim()
        stores.offsets.put("c", [({"p": 1}, {"o": 1})])
        assert own_broker.pid is not None
        os.kill(own_broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(RetriableError, match="not written to the topics of the cluster"):
                stores._producer.write([Record("stores-offsets", b'["c",{"p":1}]', b'{"o":2}')], 6)
        finally:
            os.kill(own_broker.pid, signal.SIGCONT)
        if not is_written(stores, 3):
            assert is_too_long
            assert stores.claim() > earlier
        assert is_written(stores, 4)
        assert stores.offsets.get("c", [{"p": 1}]) == [{"o": 4}]


def is_written(stores: TopicStores, offset: int) -> bool:
    """Return whether an offset could be written; an unknown result is neither."""
    while True:
        try:
            stores.offsets.put("c", [({"p": 1}, {"o": offset})])
            return True
        except NotLeading:
            return False
        except RetriableError:
            continue


@pytest.mark.long
def test_missing_rights_are_reported(tmp_path: Path) -> None:
    """A host without the right to create topics uses existing ones; without the right to write, the error names it."""
    rules = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaBroker(tmp_path, reserve_port(), retention_bytes=64 << 20, settings=rules) as broker:
        with closing(Host(broker)) as stores:
            stores.claim()
        acls = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for resource, operation in (
            ((ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL), AclOperation.CREATE),
            ((ResourceType.TOPIC, "stores-", ResourcePatternType.PREFIXED), AclOperation.CREATE),
            ((ResourceType.TOPIC, "others-", ResourcePatternType.PREFIXED), AclOperation.CREATE),
            ((ResourceType.TRANSACTIONAL_ID, GROUP_RIGHT, ResourcePatternType.LITERAL), AclOperation.WRITE),
        ):
            rest = AclBinding(*resource, *ANYBODY, AclOperation.ALL, AclPermissionType.ALLOW)
            denied = AclBinding(*resource, *ANYBODY, operation, AclPermissionType.DENY)
            for acl in (rest, denied):
                for answer in acls.create_acls([acl]).values():
                    answer.result(TIMEOUT)
        with closing(Host(broker)) as stores:
            with pytest.raises(
                ConnectError, match="transactional id 'connect-cluster-stores', was not granted"
            ) as refusal:
                stores.claim()
            assert "WRITE and DESCRIBE on that id" in str(refusal.value.hint)
        with pytest.raises(ConnectError, match=r"Could not look up .* for topic 'others-configs'"):
            Host(broker, "others")


def test_a_rotated_session_key_is_read_by_all_hosts(hosts: tuple[Host, Host], leader: Host) -> None:
    """The new key belongs to the same term; the next term is still greater."""
    before, other = leader.configs.snapshot().session_key, hosts[1]
    assert before is not None
    number = leader.exchange_key()
    after = leader.configs.snapshot().session_key
    assert after is not None
    assert after.key != before.key
    assert after.created_ms >= before.created_ms
    assert eventually(lambda: other.configs.snapshot().session_key == after, TIMEOUT)
    assert other.claim() > number
    with pytest.raises(NotLeading):
        leader.exchange_key()
