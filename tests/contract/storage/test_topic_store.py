"""Hosts that share Kafka's topics: who may write, what others see, and which topics are refused."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Producer

from hearth.broker import KafkaBroker
from hearth.config import DistributedConfig
from hearth.kafka.admin import TopicAdmin
from hearth.storage import ConnectorStatus, NotLeading, State, TargetState
from hearth.storage.fenced_producer import Record
from hearth.storage.internal_topic import InternalTopic
from hearth.storage.topic_store import TopicStores
from hearth_api import ConfigError, ConnectError, RetriableError
from tests.peer.cluster_record import kept_records, read_records
from tests.peer.distributed import cluster_settings
from tests.peer.rest import eventually

SOON = 10.0
RANDOM_SEED = 7
_groups = (f"stores-{number}" for number in itertools.count())

Host = Callable[..., TopicStores]


def worker(broker: KafkaBroker, group: str, settings: Mapping[str, str] | None = None) -> DistributedConfig:
    """Return the settings of a host of a cluster."""
    servers = {"bootstrap.servers": broker.bootstrap_servers, "fetch.max.wait.ms": "20"}
    converters = {"key.converter": "K", "value.converter": "V"}
    return DistributedConfig({**cluster_settings(group), **servers, **converters, **(settings or {})})


@pytest.fixture
def group() -> str:
    """Provide the name of a cluster that nobody has used."""
    return next(_groups)


@pytest.fixture
def host(broker: KafkaBroker, group: str) -> Iterator[Host]:
    """Provide what starts the stores of one more host of the cluster."""
    with ExitStack() as stack:

        def start(settings: Mapping[str, str] | None = None, **kwargs: Any) -> TopicStores:
            stores = stack.enter_context(closing(TopicStores(worker(broker, group, settings), **kwargs)))
            stores.start()
            return stores

        yield start


def test_the_host_that_claims_the_right_takes_it_from_the_other(host: Host) -> None:
    """The first can write nothing any more, whatever it thinks; every host sees what the second writes."""
    lost: list[str] = []
    first, second = host(on_fenced=lambda: lost.append("first")), host()
    earlier = first.claim()
    first.configs.put_connector("c", {"by": "first"}, TargetState.PAUSED)
    first.statuses.put_connector(ConnectorStatus("c", State.RUNNING, "first:1", 1))
    first.offsets.put("c", [({"p": 1}, {"o": 1})])
    later = second.claim()
    assert later > earlier
    assert second.configs.snapshot().entries.keys() == {"c"}
    writes: list[Callable[[], None]] = [
        lambda: first.configs.put_connector("c", {"by": "nobody"}),
        lambda: first.configs.put_target("c", TargetState.STARTED),
        lambda: first.configs.remove_connector("c"),
        lambda: first.offsets.put("c", [({"p": 1}, {"o": 0})]),
    ]
    for write in writes:
        with pytest.raises(NotLeading, match=r"this host does not lead its cluster any more: .*fenced"):
            write()
    assert lost == ["first"]
    first.statuses.put_connector(ConnectorStatus("c", State.FAILED, "first:1", 1))
    second.configs.put_connector("c", {"by": "second"})
    second.offsets.put("c", [({"p": 1}, {"o": 2})])
    second.statuses.put_connector(ConnectorStatus("c", State.RUNNING, "second:1", 2))
    first.configs.wait_for(second.configs.snapshot().offset, SOON)
    assert first.configs.snapshot().entries == second.configs.snapshot().entries
    assert first.offsets.get("c", [{"p": 1}]) == [{"o": 2}]
    first.statuses.refresh(SOON)
    assert first.statuses.connector("c") == ConnectorStatus("c", State.RUNNING, "second:1", 2)
    assert host().configs.snapshot() == first.configs.snapshot()


def test_hosts_that_take_the_right_from_each_other_lose_nothing(host: Host) -> None:
    """Whoever claims and writes in whatever order: what was accepted last is there, what was refused is not.

    No look at anything else decides: a host that was asleep while others led writes as if nothing had happened.
    """
    chance = random.Random(RANDOM_SEED)
    hosts = [host() for _ in range(3)]
    terms, leader = [hosts[0].claim()], hosts[0]
    configs: dict[str, dict[str, str]] = {}
    offsets: dict[str, dict[str, int]] = {}
    for number in range(40):
        if chance.random() < 0.2:
            leader = chance.choice(hosts)
            terms.append(leader.claim())
            assert leader.configs.snapshot().entries.keys() == configs.keys()
        writer, name = chance.choice(hosts), chance.choice("abc")
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
    for each in [*hosts, host()]:
        each.configs.refresh(SOON)
        assert {name: entry.config for name, entry in each.configs.snapshot().entries.items()} == configs
        assert {name: each.offsets.get(name, [{"p": 1}])[0] for name in offsets} == offsets


def test_a_record_that_is_too_large_is_refused_alone(broker: KafkaBroker, group: str, host: Host) -> None:
    """Whether the host or the topic finds it so; who writes beside it is not disturbed, and the right stays."""
    stores = host({"config.storage.max.message.bytes": "20000"})
    stores.claim()
    for size in (30_000, 2_000_000):
        with ThreadPoolExecutor(2) as threads:
            texts = {"large": {"text": "x" * size}, "small": {}}
            large, small = (threads.submit(stores.configs.put_connector, *item) for item in texts.items())
        error = large.exception()
        assert small.exception() is None
        assert f"the record 'connector-large' is not written to topic '{group}-configs': it has {size + 41}" in str(
            error
        )
        assert not isinstance(error, RetriableError)
        assert stores.configs.snapshot().connectors() == ["small"]
        stores.configs.remove_connector("small")


def test_a_host_without_the_right_only_reads(host: Host) -> None:
    """Before it claims it, and after it gave it up."""
    stores = host()
    for _ in range(2):
        with pytest.raises(NotLeading, match="this host does not lead its cluster"):
            stores.configs.put_connector("c", {})
        stores.statuses.put_connector(ConnectorStatus("c", State.RUNNING, "w:1"))
        assert stores.statuses.connector("c") is None
        stores.claim()
        stores.relinquish()


def test_a_level_is_for_every_host_to_write(host: Host, broker: KafkaBroker, group: str) -> None:
    """As in Java, where it is not forwarded."""
    host().configs.put_logger_level("org.example", "DEBUG")
    records = list(read_records(broker.bootstrap_servers, group))
    assert [(each.key, each.value) for each in records] == [("logger-cluster-org.example", '{"level":"DEBUG"}')]


def test_what_another_wrote_later_by_an_older_generation_is_written_over(
    host: Host, broker: KafkaBroker, group: str
) -> None:
    """A host that was stopped and does not know that another leads may still tell of tasks that are gone."""
    stores, other = host(), host()
    stores.claim()
    running = ConnectorStatus("c", State.RUNNING, "new:1", 5)
    stores.statuses.put_connector(running)
    value = json.dumps({"state": "FAILED", "trace": "x", "worker_id": "old:1", "generation": 4, "version": None})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(f"{group}-statuss", value, "status-connector-c")
    producer.flush()
    assert eventually(lambda: other.statuses.connector("c") == running, SOON)


def test_a_key_keeps_its_bytes(host: Host, broker: KafkaBroker, group: str) -> None:
    """Java finds an offset by them, and compaction forgets by them: also what somebody wrote in another order."""
    stores = host()
    stores.claim()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key in (b'["c",{"b":1,"a":2}]', b'["c",{"a": 2, "b": 1}]', b'["c"]', b"nothing"):
        producer.produce(f"{group}-offsets", b'{"o":1}', key)
    producer.flush()
    assert stores.offsets.get("c", [{"a": 2, "b": 1}]) == [{"o": 1}]
    stores.offsets.put("c", [({"a": 2, "b": 1}, {"o": 2}), ({"n": "é"}, {"f": 1e10})])
    stores.offsets.put("c", [({"a": 2, "b": 1}, None)])
    assert stores.offsets.partitions("c") == [{"n": "é"}]
    written = [
        (each.key, each.value) for each in read_records(broker.bootstrap_servers, group) if each.kind == "offset"
    ]
    known = ['["c",{"a": 2, "b": 1}]', '["c",{"b":1,"a":2}]']
    assert sorted(written, key=str) == sorted(
        [(key, value) for key in known for value in ('{"o":1}', '{"o":2}', None)]
        + [('["c",{"n":"é"}]', '{"f":1.0E10}'), ('["c"]', '{"o":1}'), ("nothing", '{"o":1}')],
        key=str,
    )


def test_a_connectors_own_topic_goes_first(host: Host, broker: KafkaBroker, group: str) -> None:
    """What it lacks is in the cluster's, which is written along and forgets along."""
    stores, own = host(), f"{group}-own"
    stores.claim()
    stores.configs.put_connector("c", {})
    stores.offsets.put("c", [({"p": 1}, {"o": "cluster"}), ({"p": 2}, {"o": "cluster"})])
    stores.configs.put_connector("c", {"offsets.storage.topic": own})
    assert stores.offsets.get("c", [{"p": 1}, {"p": 2}]) == [{"o": "cluster"}] * 2
    stores.offsets.put("c", [({"p": 1}, {"o": "own"}), ({"p": 2}, None)])
    assert stores.offsets.get("c", [{"p": 1}, {"p": 2}]) == [{"o": "own"}, None]
    stores.configs.put_connector("c", {})
    assert stores.offsets.get("c", [{"p": 1}, {"p": 2}]) == [{"o": "own"}, None]
    elsewhere = host({"offset.storage.topic": own})
    assert elsewhere.offsets.get("c", [{"p": 1}, {"p": 2}]) == [{"o": "own"}, None]


def test_records_go_where_javas_go(host: Host, broker: KafkaBroker, group: str) -> None:
    """A key has its partition by the hash of its bytes, or compaction would keep two values of it."""
    stores = host()
    stores.claim()
    kept = [each for each in kept_records() if each.kind == "offset"]
    stores._producer.write([Record(f"{group}-offsets", each.key.encode(), b"{}") for each in kept])
    ours = {(each.key, each.partition) for each in read_records(broker.bootstrap_servers, group)}
    assert {(each.key, each.partition) for each in kept} <= ours
    assert len({each.partition for each in kept}) > 1


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (
            ("configs", 1, "delete"),
            "'cleanup.policy=delete'. Continuing would likely result in eventually losing conn",
        ),
        (("statuss", 1, "compact,delete"), "supplied via the 'status.storage.topic' property is required to have"),
        (("configs", 2, "compact"), "required to have a single partition in order to guarantee consistency"),
    ],
)
def test_a_topic_that_would_lose_something_is_refused(
    broker: KafkaBroker, host: Host, group: str, made: tuple[str, int, str], says: str
) -> None:
    """In Java's words."""
    name, partitions, policy = made
    admin = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    admin.create(f"{group}-{name}", partitions, 1, {"cleanup.policy": policy})
    assert eventually(lambda: admin.exists(f"{group}-{name}"), SOON)
    with pytest.raises(ConfigError) as refusal:
        host()
    assert says in str(refusal.value)


def test_more_copies_than_brokers_are_refused_with_the_key(broker: KafkaBroker, group: str) -> None:
    """A cluster that starts may have its brokers later, so that is waited for first."""
    topic = InternalTopic(group, "config.storage.topic", "connector configurations", 1, 3)
    with pytest.raises(ConnectError, match="Error while attempting to create/find topic") as refusal:
        topic.prepare(TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}), timeout=0.1)
    assert "config.storage.replication.factor=3 asks for more brokers than there are" in str(refusal.value.hint)


@pytest.mark.long
@pytest.mark.parametrize("is_too_long", [False, True])
def test_a_host_that_leads_goes_on_when_its_brokers_come_back(own_broker: KafkaBroker, is_too_long: bool) -> None:
    """While its transaction lasts; when brokers were away for longer it may have to claim the right again."""
    settings = worker(own_broker, "away", {"transaction.timeout.ms": "3000" if is_too_long else "60000"})
    with closing(TopicStores(settings)) as stores:
        stores.start()
        earlier = stores.claim()
        stores.offsets.put("c", [({"p": 1}, {"o": 1})])
        assert own_broker.pid is not None
        os.kill(own_broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(RetriableError, match="not written to the topics of the cluster"):
                stores._producer.write([Record("away-offsets", b'["c",{"p":1}]', b'{"o":2}')], 6)
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
