"""Group membership of a sink: on a real broker, with the classic and the new protocol."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka import membership
from hearth.kafka.consumer import Consumer
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import library
from hearth.kafka.membership import GroupIdentity
from hearth_api import TopicPartition
from tests.peer.topic import Record, Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT

LONG_SESSION = "120000"
"""Whoever waits for the end of such a session is noticed: it is far longer than a test waits."""

DELAY_SECONDS = 12.0
TASKS = 3
COORDINATOR_MOVES, TIMED_OUT, NOT_AUTHORIZED = 16, -185, 30
_NO_CONSUMER_CLOSE = 0x8
_numbers = itertools.count()
both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


class Run:
    """One run of a task: a consumer that notes which topics it has partitions of."""

    def __init__(self, servers: str, group: str, protocol: str, identity: GroupIdentity) -> None:
        session = {"session.timeout.ms": LONG_SESSION, "heartbeat.interval.ms": "100"} if protocol == "classic" else {}
        settings = {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            **session,
        }
        self.partitions: set[TopicPartition] = set()
        self.values: list[bytes | None] = []
        self.consumer = Consumer(settings, identity)
        self.consumer.listen(self)

    def join(self, *topics: str) -> Run:
        """Join as a sink's subscription does."""
        self.consumer.subscribe(topics)
        return self

    def poll(self) -> None:
        """Poll once and keep the values."""
        for part in self.consumer.poll(20):
            self.values += part.value.to_pylist()

    @property
    def topics(self) -> set[str]:
        """Return the topics of which this run has partitions."""
        return {partition.topic for partition in self.partitions}

    def die(self) -> None:
        """End as a killed process does: without a word to the broker."""
        client, self.consumer._client = self.consumer._client, None
        self.consumer._messages.close()
        self.consumer._commits.close()
        library().destroy_flags(client, _NO_CONSUMER_CLOSE)

    def on_assign(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Take partitions, and read on where the group has committed."""
        self.partitions |= set(partitions)
        return self.consumer.committed(partitions)

    def on_assigned(self) -> None:
        """Nothing is paused."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Give partitions up."""
        self.partitions -= set(partitions)

    def commit(self, topic: str, offset: int) -> bool:
        """Commit an offset of a topic's first partition; returns whether the broker took it."""
        self.consumer.commit({TopicPartition(topic, 0): offset}, 1)
        (answer,) = self.consumer.commit_answers(int(TIMEOUT * 1000))
        return not answer.refused


def until(condition: Callable[[], bool], *runs: Run, seconds: float = TIMEOUT) -> bool:
    """Let runs poll until something holds, or time is over."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        for run in runs:
            run.poll()
    return condition()


NewRun = Callable[..., Run]


@pytest.fixture
def new_run(broker: KafkaBroker) -> Iterator[NewRun]:
    """Make runs of the tasks of one connector; they are closed after the test."""
    group = f"members-{next(_numbers)}"
    runs: list[Run] = []

    def new(protocol: str, task: int = 0, tasks: int = 2, host: str = "host") -> Run:
        runs.append(Run(broker.bootstrap_servers, group, protocol, GroupIdentity(host, task, tasks)))
        return runs[-1]

    yield new
    for run in runs:
        run.consumer.close()


@pytest.fixture(scope="module")
def patient_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Provide a broker that waits for more members whenever somebody joins a group that is empty."""
    settings = {"group.initial.rebalance.delay.ms": str(int(DELAY_SECONDS * 1000))}
    with KafkaBroker(tmp_path_factory.mktemp("patient"), reserve_port(), settings=settings) as running:
        yield running


@pytest.mark.slow
def test_a_successor_does_not_join_an_empty_group(patient_broker: KafkaBroker) -> None:
    """Brokers wait for more members then: three seconds by default, and here for longer than anything else takes.

    Neither when the runs before were killed nor when they were replaced.
    """
    topics = Topics(patient_broker.bootstrap_servers)
    groups = [f"patient-{next(_numbers)}" for _ in range(2)]
    for group in groups:
        topics.create(group, TASKS)

    def start(group: str) -> list[Run]:
        identities = [GroupIdentity("host", number, TASKS) for number in range(TASKS)]
        return [Run(patient_broker.bootstrap_servers, group, "classic", each).join(group) for each in identities]

    def have_all(runs: list[Run], seconds: float) -> bool:
        return until(lambda: all(len(run.partitions) == 1 for run in runs), *runs, seconds=seconds)

    killed, replaced = map(start, groups)
    assert have_all([*killed, *replaced], 3 * DELAY_SECONDS)
    for run in killed:
        run.die()
    for run in replaced:
        run.consumer.close(hands_over=True)
    for group in groups:
        successors = start(group)
        assert have_all(successors, DELAY_SECONDS - 2), group
        for run in successors:
            run.consumer.close()


@pytest.fixture
def names(topics: Topics) -> list[str]:
    """Provide two topics of two partitions."""
    made = [f"members-{next(_numbers)}" for _ in range(2)]
    for name in made:
        topics.create(name, 2)
    return made


@both_protocols
def test_a_closed_run_leaves_the_group(new_run: NewRun, names: list[str], protocol: str) -> None:
    """Its partitions go to the others at once, and not at the end of its session."""
    first, second = new_run(protocol).join(names[0]), new_run(protocol, 1).join(names[0])
    assert until(lambda: len(first.partitions) == len(second.partitions) == 1, first, second)
    second.consumer.close()
    assert until(lambda: len(first.partitions) == 2, first)


@both_protocols
def test_the_successor_of_a_killed_run_reads_what_it_subscribes_to(
    new_run: NewRun, names: list[str], protocol: str
) -> None:
    """A broker would give a static member its old assignment, or refuse it: the successor joins as a new member."""
    killed = new_run(protocol).join(names[0])
    assert until(lambda: len(killed.partitions) == 2, killed)
    killed.die()
    successor = new_run(protocol).join(*names)
    assert until(lambda: successor.topics == set(names), successor)


@both_protocols
def test_a_replaced_run_is_removed_by_its_successor(new_run: NewRun, names: list[str], protocol: str) -> None:
    """Others get none of its partitions meanwhile; the successor reads what it subscribes to."""
    other, replaced = new_run(protocol, 1).join(names[0]), new_run(protocol).join(names[0])
    assert until(lambda: len(other.partitions) == len(replaced.partitions) == 1, other, replaced)
    replaced.consumer.close(hands_over=True)
    assert replaced.partitions == set()
    until(lambda: False, other, seconds=0.5)
    assert len(other.partitions) == 1
    successor = new_run(protocol).join(*names)
    everything = {TopicPartition(name, number) for name in names for number in range(2)}
    assert until(lambda: successor.partitions | other.partitions == everything, successor, other)


@both_protocols
def test_the_first_task_removes_members_of_deleted_tasks(new_run: NewRun, names: list[str], protocol: str) -> None:
    """They have no successor: their partitions would wait for the end of their sessions."""
    runs = [new_run(protocol, number).join(names[0]) for number in range(2)]
    assert until(lambda: all(len(run.partitions) == 1 for run in runs), *runs)
    runs[0].consumer.close(hands_over=True)
    runs[1].die()
    successor = new_run(protocol, 0, 1).join(names[0])
    assert until(lambda: len(successor.partitions) == 2, successor)


def test_all_dead_members_are_removed_at_once(new_run: NewRun, names: list[str]) -> None:
    """A rebalance in progress waits for each: one after the other would never finish."""
    killed = [new_run("classic", number, 3).join(names[0]) for number in range(3)]
    assert until(lambda: sum(len(run.partitions) for run in killed) == 2, *killed)
    for run in killed:
        run.die()
    other = new_run("classic", 0, 1, host="other").join(names[0])
    until(lambda: False, other, seconds=1)
    successor = new_run("classic", 0, 1).join(names[0])
    assert until(lambda: len(successor.partitions) == len(other.partitions) == 1, successor, other)


def test_identities_are_compared_by_whole_parts() -> None:
    """Ten starts with one; and a connector's name may be a prefix of another's."""
    identity = GroupIdentity("connect-a", 1, 2)
    assert identity.answers_for("connect-a.1.token")
    assert not any(
        map(identity.answers_for, ["connect-a.10.token", "connect-a.0.token", "connect-a.2.token", "other"])
    )
    first = GroupIdentity("connect-a", 0, 2)
    assert all(map(first.answers_for, ["connect-a.0.token", "connect-a.2.token", "connect-a.10.token"]))
    assert not any(map(first.answers_for, ["connect-a.1.token", "connect-ab.2.token", "connect-a.x.token", "mine"]))


@both_protocols
def test_killed_runs_of_several_tasks_have_successors_at_once(
    new_run: NewRun, names: list[str], protocol: str
) -> None:
    """Each takes its own predecessor out; a rebalance that waits for another's predecessor ends when that has gone."""
    killed = [new_run(protocol, number).join(names[0]) for number in range(2)]
    assert until(lambda: all(len(run.partitions) == 1 for run in killed), *killed)
    for run in killed:
        run.die()
    runs = [new_run(protocol, number).join(names[0]) for number in range(2)]
    assert until(lambda: all(len(run.partitions) == 1 for run in runs), *runs)


def test_a_run_closed_while_joining_leaves_the_group(new_run: NewRun, names: list[str]) -> None:
    """It does not know its member id yet: the rebalance waits for a busy member."""
    busy = new_run("classic").join(names[0])
    assert until(lambda: len(busy.partitions) == 2, busy)
    joining = new_run("classic", 1).join(names[0])
    until(lambda: False, joining, seconds=0.5)
    closing = threading.Thread(target=joining.consumer.close)
    closing.start()
    assert until(lambda: not closing.is_alive(), busy)
    assert until(lambda: len(busy.partitions) == 2, busy)
    until(lambda: False, busy, seconds=0.5)
    assert len(busy.partitions) == 2


def test_a_surviving_run_is_fenced_by_its_successor(new_run: NewRun, topics: Topics, names: list[str]) -> None:
    """After a network partition it can commit nothing, and raises the reason."""
    topics.produce(names[0], [Record(None, b"a")])
    zombie = new_run("classic").join(names[0])
    assert until(lambda: zombie.values == [b"a"], zombie)
    successor = new_run("classic").join(names[0])
    assert until(lambda: successor.values == [b"a"], successor)
    assert not zombie.commit(names[0], 1)
    with pytest.raises(KafkaError) as caught:
        until(lambda: False, zombie, successor)
    assert caught.value.name == "FENCED_INSTANCE_ID"
    assert successor.consumer.committed([TopicPartition(names[0], 0)]) == {}


@both_protocols
def test_is_member_detects_a_successor(new_run: NewRun, names: list[str], protocol: str) -> None:
    """Before a poll that would report it; fetched records would delay the answer."""
    run = new_run(protocol).join(names[0])
    assert not run.consumer.is_member()
    assert until(lambda: len(run.partitions) == 2, run)
    run.consumer.pause(run.partitions)
    assert until(run.consumer.is_member, run)
    successor = new_run(protocol).join(names[0])
    assert until(lambda: len(successor.partitions) == 2, successor)
    successor.consumer.pause(successor.partitions)
    assert until(successor.consumer.is_member, successor)
    assert not any(run.consumer.is_member() for _ in range(3))


@both_protocols
def test_closing_a_replaced_run_does_not_affect_its_successor(
    new_run: NewRun, names: list[str], protocol: str
) -> None:
    """A run that hung leaves with an outdated membership."""
    hung = new_run(protocol).join(names[0])
    assert until(lambda: len(hung.partitions) == 2, hung)
    successor = new_run(protocol).join(names[0])
    assert until(lambda: len(successor.partitions) == 2, successor)
    hung.consumer.close()
    assert successor.commit(names[0], 0)
    assert len(successor.partitions) == 2


def test_a_run_joins_only_after_the_broker_answered() -> None:
    """The caller serves its event queue and asks again."""
    lonely = Run("127.0.0.1:1", "nobody", "classic", GroupIdentity("host", 0)).join("any")
    for _ in range(2):
        lonely.poll()
    assert not lonely.consumer._is_subscribed
    lonely.consumer.close()


@pytest.mark.parametrize(
    ("number", "is_free"), [(COORDINATOR_MOVES, False), (TIMED_OUT, False), (NOT_AUTHORIZED, True)]
)
def test_a_group_without_describe_permission_is_joined(
    monkeypatch: pytest.MonkeyPatch, number: int, is_free: bool
) -> None:
    """A sink needs READ only; other errors are retried."""

    def refuse(*_: object) -> dict[str, str]:
        raise KafkaError(number)

    monkeypatch.setattr(membership, "_classic_members", refuse)
    joined: list[bool] = []
    member = membership.Membership({"group.id": "group"}, GroupIdentity("host", 0))
    assert next(member.admission(0, ["any"], lambda: joined.append(True)), True) is is_free
    assert bool(joined) is is_free
    monkeypatch.setattr(membership, "_member_id", lambda client: "host.0")
    assert member.is_present(0) is is_free
