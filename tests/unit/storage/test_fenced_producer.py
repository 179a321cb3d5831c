"""The fenced producer with any results of librdkafka; `test_topic_store` tests it with real brokers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from hearth.storage import NotLeading, fenced_producer
from hearth.storage.fenced_producer import FencedProducer, Record
from hearth_api import ConnectError, RetriableError
from tests.timeouts import TIMEOUT

RECORD = Record("t", b"k", b"v")


class Message:
    """A delivered record."""

    def __init__(self, topic: str, offset: int) -> None:
        self._topic, self._offset = topic, offset

    def topic(self) -> str:
        """Return it."""
        return self._topic

    def partition(self) -> int:
        """Return it."""
        return 0

    def offset(self) -> int:
        """Return it."""
        return self._offset


class ScriptedProducer:
    """Records its calls, and raises the scripted error for the next call of a name."""

    script: dict[str, list[KafkaError]]
    calls: list[str]

    def __init__(self, _config: dict[str, Any]) -> None:
        self.sent: list[tuple[str, Callable[..., None]]] = []
        self.offset = 0

    def produce(self, topic: str, _value: bytes | None, _key: bytes, on_delivery: Callable[..., None]) -> None:
        """Keep a record until its transaction ends."""
        self.sent.append((topic, on_delivery))

    def _call(self, name: str) -> None:
        self.calls.append(name)
        errors = self.script.get(name, [])
        if errors:
            raise KafkaException(errors.pop(0))

    def init_transactions(self, _timeout: float) -> None:
        """Follow the script."""
        self._call("init")

    def begin_transaction(self) -> None:
        """Follow the script."""
        self._call("begin")

    def abort_transaction(self, _timeout: float) -> None:
        """Follow the script."""
        self._call("abort")
        self.sent.clear()

    def commit_transaction(self, _timeout: float) -> None:
        """Follow the script, and report the delivered records."""
        self._call("commit")
        for topic, on_delivery in self.sent:
            on_delivery(None, Message(topic, self.offset))
            self.offset += 1
        self.sent.clear()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[KafkaError]]:
    """Provide the script of all producers."""
    ScriptedProducer.script, ScriptedProducer.calls = {}, []
    monkeypatch.setattr(fenced_producer, "Producer", ScriptedProducer)
    return ScriptedProducer.script


@pytest.fixture
def lost() -> list[str]:
    """Provide the list of lost rights."""
    return []


@pytest.fixture
def producer(script: dict[str, list[KafkaError]], lost: list[str]) -> FencedProducer:
    """Provide a producer that has claimed the right."""
    producer = FencedProducer({"transactional.id": "x"}, lambda: lost.append("lost"))
    producer.claim()
    ScriptedProducer.calls.clear()
    return producer


TIMED_OUT = KafkaError(KafkaError._TIMED_OUT, "too late", retriable=True)
ABORTABLE = KafkaError(KafkaError._MSG_TIMED_OUT, "not sent", txn_requires_abort=True)
FENCED = KafkaError(KafkaError._FENCED, "fenced", fatal=True)


def test_write_returns_the_offsets_after_the_last_records(producer: FencedProducer) -> None:
    """For each topic and partition."""
    assert producer.write([]) == {}
    assert producer.write([RECORD, RECORD, Record("u", b"k", None)]) == {("t", 0): 2, ("u", 0): 3}
    assert ScriptedProducer.calls == ["begin", "commit"]


def test_a_commit_that_timed_out_is_completed_first(
    producer: FencedProducer, script: dict[str, list[KafkaError]]
) -> None:
    """Its records may or may not have been written."""
    script["commit"] = [TIMED_OUT]
    with pytest.raises(RetriableError, match="not written to the topics of the cluster: too late"):
        producer.write([RECORD])
    assert producer.has_right
    assert producer.write([RECORD]) == {("t", 0): 2}
    assert ScriptedProducer.calls == ["begin", "commit", "commit", "begin", "commit"]


def test_an_abort_that_timed_out_is_completed_first(
    producer: FencedProducer, script: dict[str, list[KafkaError]]
) -> None:
    """An aborting transaction cannot be committed."""
    script["commit"], script["abort"] = [ABORTABLE], [TIMED_OUT] * 3
    for _ in range(2):
        with pytest.raises(RetriableError):
            producer.write([RECORD])
    assert producer.write([RECORD]) == {("t", 0): 1}
    assert ScriptedProducer.calls == ["begin", "commit", "abort", "abort", "abort", "abort", "begin", "commit"]


@pytest.mark.parametrize("where", ["begin", "commit", "abort"])
def test_a_lost_right_is_reported_once(
    producer: FencedProducer, script: dict[str, list[KafkaError]], lost: list[str], where: str
) -> None:
    """Nothing more is written until it is claimed again."""
    script[where] = [FENCED]
    if where == "abort":
        script["commit"] = [ABORTABLE]
    for _ in range(2):
        with pytest.raises(NotLeading, match="this host no longer leads its cluster: fenced"):
            producer.write([RECORD])
    assert lost == ["lost"]
    assert not producer.has_right
    producer.claim()
    assert producer.write([RECORD]) == {("t", 0): 1}


def test_relinquishing_is_not_reported_as_a_loss(producer: FencedProducer, lost: list[str]) -> None:
    """The right simply ends."""
    producer.relinquish()
    with pytest.raises(NotLeading):
        producer.write([RECORD])
    assert lost == []


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "WRITE and DESCRIBE on that id"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "IDEMPOTENT_WRITE on the cluster"),
        (KafkaError._TIMED_OUT, "transaction.state.log.replication.factor"),
    ],
)
def test_a_rejected_claim_has_a_remedy(script: dict[str, list[KafkaError]], code: int, hint: str) -> None:
    """With the transactional id, which has its own ACLs."""
    script["init"] = [KafkaError(code)]
    with pytest.raises(ConnectError, match="transactional id 'x', was not granted") as refusal:
        FencedProducer({"transactional.id": "x"}).claim()
    assert hint in str(refusal.value.hint)


def test_a_failure_before_sending_aborts_the_transaction(
    producer: FencedProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and the write is retried once."""

    def full(*_args: object, **_kwargs: object) -> None:
        raise BufferError("queue full")

    with monkeypatch.context() as patched:
        patched.setattr(ScriptedProducer, "produce", full)
        with pytest.raises(RetriableError, match="queue full"):
            producer.write([RECORD])
    assert producer.write([RECORD]) == {("t", 0): 1}
    assert ScriptedProducer.calls == ["begin", "abort"] * 2 + ["begin", "commit"]


def test_an_interrupted_write_is_not_reported_as_done(
    producer: FencedProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither to the writing thread nor to those waiting for it; the next write works as usual."""
    is_under_way, may_end = threading.Event(), threading.Event()
    errors: list[BaseException] = []
    interruptions = iter([MemoryError(), MemoryError()])
    commit = ScriptedProducer.commit_transaction

    def interrupted(scripted: ScriptedProducer, timeout: float) -> None:
        is_under_way.set()
        assert may_end.wait(TIMEOUT)
        if (error := next(interruptions, None)) is not None:
            raise error
        commit(scripted, timeout)

    def write() -> None:
        try:
            producer.write([RECORD])
        except (MemoryError, RetriableError) as error:
            errors.append(error)

    monkeypatch.setattr(ScriptedProducer, "commit_transaction", interrupted)
    first, *others = (threading.Thread(target=write) for _ in range(3))
    first.start()
    assert is_under_way.wait(TIMEOUT)
    for other in others:
        other.start()
    while len(producer._waiting) < 2:
        may_end.wait(0.001)
    may_end.set()
    for thread in (first, *others):
        thread.join()
    assert [type(error) for error in errors].count(MemoryError) == 2
    assert len(errors) == 3
    assert producer.write([RECORD])


def test_concurrent_writes_share_a_transaction(producer: FencedProducer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that arrive during a transaction are written together in the next."""
    is_under_way, may_end = threading.Event(), threading.Event()
    commit = ScriptedProducer.commit_transaction

    def slow_commit(scripted: ScriptedProducer, timeout: float) -> None:
        is_under_way.set()
        assert may_end.wait(TIMEOUT)
        commit(scripted, timeout)

    monkeypatch.setattr(ScriptedProducer, "commit_transaction", slow_commit)
    written: list[dict[tuple[str, int], int]] = []
    threads = [threading.Thread(target=lambda: written.append(producer.write([RECORD]))) for _ in range(5)]
    threads[0].start()
    assert is_under_way.wait(TIMEOUT)
    for thread in threads[1:]:
        thread.start()
    while len(producer._waiting) < 4:
        may_end.wait(0.001)
    may_end.set()
    for thread in threads:
        thread.join()
    assert sorted(each["t", 0] for each in written) == [1, 2, 3, 4, 5]
    assert ScriptedProducer.calls == ["begin", "commit"] * 2
