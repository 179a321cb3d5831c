"""Hosts that share Kafka's topics: who may write, what others see, and which topics are refused."""

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
"""Bytes of a record that the cluster's topic of configurations takes."""
_groups = (f"refused-{number}" for number in itertools.count())


class Host(TopicStores):
    """The stores of a host, which knows how often it was told that it leads no more."""

    def __init__(self, broker: KafkaBroker, group: str = GROUP, settings: Mapping[str, str] | None = None) -> None:
        self.losses = 0
        servers = {"bootstrap.servers": broker.bootstrap_servers, "fetch.max.wait.ms": "20"}
        converters = {"key.converter": "K", "value.converter": "V"}
        largest = {"config.storage.max.message.bytes": str(LARGEST)}
        told = {**cluster_settings(group), **largest, **servers, **converters, **(settings or {})}
        super().__init__(DistributedConfig(told), self._count)
        self.start()

    def _count(self) -> None:
        self.losses += 1


@pytest.fixture(scope="module")
def hosts(broker: KafkaBroker) -> Iterator[tuple[Host, Host]]:
    """Provide two hosts of one cluster, of which either may have the right to write."""
    with closing(Host(broker)) as first, closing(Host(broker)) as second:
        yield first, second


@pytest.fixture
def leader(hosts: tuple[Host, Host]) -> Host:
    """Provide the host that has the right."""
    hosts[0].claim()
    return hosts[0]


@pytest.fixture
def late(broker: KafkaBroker) -> Iterator[Callable[[], Host]]:
    """Provide what starts one more host of the cluster, for a look at what it reads."""
    started: list[Host] = []

    def start() -> Host:
        started.append(Host(broker))
        return started[-1]

    yield start
    for host in started:
        host.close()


def records_of(broker: KafkaBroker, connector: str) -> list[KeptRecord]:
    """Return what the cluster's topics hold of a connector, or of anything whose keys have its name in them."""
    return [each for each in read_records(broker.bootstrap_servers, GROUP) if connector in each.key]


def test_the_host_that_claims_the_right_takes_it_from_the_other(
    hosts: tuple[Host, Host], late: Callable[[], Host]
) -> None:
    """The first can write nothing any more, whatever it thinks; every host sees what the second writes."""
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


def test_nobody_waits_for_the_transaction_of_a_task_to_lead(
    hosts: tuple[Host, Host], late: Callable[[], Host], broker: KafkaBroker
) -> None:
    """Tasks that died with their host have left theirs open: who leads next begins the tasks that end them."""
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


def test_hosts_that_take_the_right_from_each_other_lose_nothing(
    hosts: tuple[Host, Host], late: Callable[[], Host]
) -> None:
    """Whoever claims and writes in whatever order: what was accepted last is there, what was refused is not.

    Nothing else decides: a host that was asleep while another led writes as if nothing had happened.
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


def test_a_host_without_the_right_only_reads(leader: Host) -> None:
    """Once it gave it up."""
    leader.relinquish()
    with pytest.raises(NotLeading, match="this host does not lead its cluster"):
        leader.configs.put_connector("unwritten", {})
    leader.statuses.put_connector(ConnectorStatus("unwritten", State.RUNNING, "w:1"))
    assert leader.statuses.connector("unwritten") is None


def test_a_level_is_for_every_host_to_write(hosts: tuple[Host, Host], broker: KafkaBroker) -> None:
    """As in Java, where it is not forwarded."""
    hosts[1].relinquish()
    hosts[1].configs.put_logger_level("org.example", "DEBUG")
    written = records_of(broker, "logger-cluster-")
    assert [(each.key, each.value) for each in written] == [("logger-cluster-org.example", '{"level":"DEBUG"}')]


def test_a_record_that_is_too_large_is_refused_alone(leader: Host) -> None:
    """Whether the host or the topic finds it so; who writes beside it is not disturbed, and the right stays."""
    for size in (30_000, 2_000_000):
        with ThreadPoolExecutor(2) as threads:
            texts = {f"large-{size}": {"text": "x" * size}, f"small-{size}": {}}
            large, small = (threads.submit(leader.configs.put_connector, *item) for item in texts.items())
        error = large.exception()
        assert small.exception() is None
        assert f"record 'connector-large-{size}' is not written to topic 'stores-configs': it has " in str(error)
        assert not isinstance(error, RetriableError)
        assert f"small-{size}" in leader.configs.snapshot().connectors()


def test_what_another_wrote_later_by_an_older_generation_is_written_over(
    leader: Host, hosts: tuple[Host, Host], broker: KafkaBroker
) -> None:
    """A host that was stopped and does not know that another leads may still tell of tasks that are gone."""
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


def test_a_key_keeps_its_bytes(leader: Host, broker: KafkaBroker) -> None:
    """Java finds an offset by them, and compaction forgets by them: also what somebody wrote in another order."""
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


def test_a_connectors_own_topic_goes_first(leader: Host, broker: KafkaBroker) -> None:
    """What it lacks is in the cluster's, which is written along and forgets along.

    A connector that is deleted still commits there what its tasks had in hand.
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


def test_a_connector_goes_on_in_another_cluster_that_names_its_topic(leader: Host, broker: KafkaBroker) -> None:
    """It is known by its name, and back again: what counts is in the topic that both of them name."""
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
    """Return what has a connector's clients go to a Kafka, by its addresses."""
    given = {f"{client}.override.bootstrap.servers": servers for client in ("producer", "consumer", "admin")}
    return given if topic is None else {**given, "offsets.storage.topic": topic}


def by_another_name(broker: KafkaBroker) -> str:
    """Return addresses of the broker by which nobody else of the tests calls it."""
    return broker.bootstrap_servers.replace("127.0.0.1", "localhost")


def test_a_topic_of_another_kafka_is_where_its_connectors_clients_go(
    hosts: tuple[Host, Host], broker: KafkaBroker
) -> None:
    """It goes first, and the cluster's is written along; who leads no more writes to neither.

    Connectors whose clients go to the same topic share those by which their host does, and leave none behind.
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


def test_a_topic_is_this_hosts_where_the_clients_of_its_connector_go_no_other_way(
    leader: Host, broker: KafkaBroker
) -> None:
    """By the same addresses, say, or with another size of batches."""
    config = overrides(broker.bootstrap_servers, "stores-near") | {"producer.override.batch.size": "1"}
    before = [*leader.offsets._far]
    leader.configs.put_connector("near", config)
    leader.offsets.put("near", [({"p": 1}, {"o": 1})])
    assert leader.offsets.get("near", [{"p": 1}]) == [{"o": 1}]
    assert leader.offsets._far == before


@pytest.mark.long
def test_offsets_are_in_another_kafka(leader: Host, broker: KafkaBroker, own_broker: KafkaBroker) -> None:
    """In the topic that the connector names, or with exactly once in one that is called as the cluster's own."""
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


def test_what_tasks_wrote_themselves_is_listed(leader: Host, broker: KafkaBroker) -> None:
    """With exactly once they write their offsets in their own transactions, which hold up nobody who writes."""
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
    leader.offsets.put("of a neighbour", [({"p": 1}, {"o": 1})])  # waits for no transaction of another
    producer.abort_transaction(TIMEOUT)
    assert leader.offsets.get("of a neighbour", [{"p": 1}]) == [{"o": 1}]


def test_records_go_where_javas_go(leader: Host, broker: KafkaBroker) -> None:
    """A key has its partition by the hash of its bytes, or compaction would keep two values of it."""
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
def test_a_topic_that_would_lose_something_is_refused(
    broker: KafkaBroker, made: tuple[str, int, str], says: str
) -> None:
    """In Java's words."""
    name, partitions, policy = made
    group = next(_groups)
    admin = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    admin.create(f"{group}-{name}", partitions, 1, {"cleanup.policy": policy})
    assert eventually(lambda: admin.exists(f"{group}-{name}"), TIMEOUT)
    with pytest.raises(ConfigError) as refusal:
        Host(broker, group, dict.fromkeys(("offset.storage.partitions", "status.storage.partitions"), "1"))
    assert says in str(refusal.value)


def test_more_copies_than_brokers_are_refused_with_the_key(broker: KafkaBroker) -> None:
    """A cluster that starts may have its brokers later, so that is waited for first."""
    topic = InternalTopic(next(_groups), "config.storage.topic", "connector configurations", 1, 3)
    with pytest.raises(ConnectError, match="Error while attempting to create/find topic") as refusal:
        topic.prepare(TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}), timeout=0.1)
    assert "config.storage.replication.factor=3 exceeds the number of brokers" in str(refusal.value.hint)


@pytest.mark.long
@pytest.mark.parametrize("is_too_long", [False, True])
def test_a_host_that_leads_goes_on_when_its_brokers_come_back(own_broker: KafkaBroker, is_too_long: bool) -> None:
    """While its transaction lasts; when brokers were away for longer it may have to claim the right again."""
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
    """Return whether an offset could be written; that it is not known does not count as an answer."""
    while True:
        try:
            stores.offsets.put("c", [({"p": 1}, {"o": offset})])
            return True
        except NotLeading:
            return False
        except RetriableError:
            continue


@pytest.mark.long
def test_rights_that_a_host_lacks_are_told(tmp_path: Path) -> None:
    """Who may not make topics works with those there are; who may not have the right to write is told which right."""
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


def test_a_key_that_is_exchanged_is_read_by_all(hosts: tuple[Host, Host], leader: Host) -> None:
    """It is another one, and belongs to the same term: the next is greater all the same."""
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
