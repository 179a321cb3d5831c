"""The producer of columns, against a real broker and read back by another client."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth.broker import KafkaBroker
from hearth.kafka import library as library_module
from hearth.kafka.kafka_error import KafkaError, is_refusal
from hearth.kafka.library import ERR_INVALID_DIFFERENT_RECORD
from hearth.kafka.linger import Linger
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import DeliveryReport, Producer
from hearth_api import ConfigError
from hearth_execution.raw_header import RawHeaders, raw_column
from tests.timeouts import TIMEOUT
from tests.unit.kafka.conftest import Message

NewTopic = Callable[..., str]
Read = Callable[..., list[Message]]
Open = Callable[..., Producer]
TOO_LARGE, NO_PARTITION, TIMED_OUT, INVALID_RECORD = 10, -190, -192, 87


@pytest.fixture
def open_producer(broker: KafkaBroker) -> Iterator[Open]:
    """Open producers that are closed after the test."""
    opened: list[Producer] = []

    def new(**config: str) -> Producer:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        opened.append(Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "1", **settings}))
        return opened[-1]

    yield new
    for producer in opened:
        producer.close()


def binary(*values: bytes | None) -> Any:
    """Return a column of bytes."""
    return pa.array(values, pa.binary())


def numbers(count: int, first: int = 0) -> Any:
    """Return sequence numbers."""
    return np.arange(first, first + count)


def send(producer: Producer, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
    """Send rows and keep their columns, as everybody who sends must."""
    producer.kept = [*getattr(producer, "kept", []), outgoing]  # type: ignore[attr-defined]
    return producer.send(outgoing, sequence)


def finish(producer: Producer) -> list[DeliveryReport]:
    """Wait until nothing is on its way."""
    deliveries: list[DeliveryReport] = []
    deadline = time.monotonic() + TIMEOUT
    while producer.in_flight:
        assert time.monotonic() < deadline, f"{producer.in_flight} rows were not acknowledged"
        deliveries += producer.poll(100)
    return deliveries


def outcome(deliveries: list[DeliveryReport]) -> dict[int, tuple[int, int, int]]:
    """Return error, partition and offset by sequence number."""
    return {
        number: (error, partition, offset)
        for each in deliveries
        for number, error, partition, offset in zip(
            each.sequence.tolist(), each.error.tolist(), each.partition.tolist(), each.offset.tolist(), strict=True
        )
    }


def test_rows_arrive_in_order_with_their_keys(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """Keys and values go out as they are; a null is not an empty one, for keys and for values."""
    topic, producer = new_topic(), open_producer()
    values = binary(b"a", None, b"", b"\x00\xff", b"last")
    keys = binary(b"k", b"k", None, b"", b"last")
    send(producer, Outgoing(topic, values, keys), numbers(5, 70))
    written = outcome(finish(producer))
    assert written == {70 + row: (0, 0, row) for row in range(5)}
    assert [(each.key, each.value) for each in read(topic, 5)] == list(
        zip(keys.to_pylist(), values.to_pylist(), strict=True)
    )


def test_rows_without_keys_and_from_a_slice(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """A column may begin anywhere in its buffers."""
    topic, producer = new_topic(), open_producer()
    send(producer, Outgoing(topic, binary(b"no", b"a", None, b"b", b"no").slice(1, 3)), numbers(3))
    finish(producer)
    assert [(each.key, each.value) for each in read(topic, 3)] == [(None, b"a"), (None, None), (None, b"b")]


def test_columns_of_nothing_but_empty_values_are_no_tombstones(
    open_producer: Open, new_topic: NewTopic, read: Read
) -> None:
    """An array without a byte of content still distinguishes empty from null."""
    topic, producer = new_topic(), open_producer()
    send(producer, Outgoing(topic, binary(b"", b""), binary(b"", None)), numbers(2))
    finish(producer)
    assert [(each.key, each.value) for each in read(topic, 2)] == [(b"", b""), (None, b"")]


def test_requested_partitions_are_kept(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """A row goes to its requested partition; -1 leaves the choice to the partitioner."""
    topic, producer = new_topic(3), open_producer()
    wanted = np.array([2, 0, 2, -1, 1], np.int32)
    send(producer, Outgoing(topic, binary(b"0", b"1", b"2", b"3", b"4"), partition=wanted), numbers(5))
    written = outcome(finish(producer))
    assert [written[row][1] for row in (0, 1, 2, 4)] == [2, 0, 2, 1]
    assert [each.value for each in read(topic, 5, 3) if each.partition == 2 and each.value != b"3"] == [b"0", b"2"]


@pytest.mark.parametrize("with_timestamps", [False, True], ids=["batch", "rows"])
def test_ten_thousand_rows_keep_their_order(
    open_producer: Open, new_topic: NewTopic, read: Read, with_timestamps: bool
) -> None:
    """Order holds over many requests, in either way rows reach librdkafka."""
    topic, producer, count = new_topic(), open_producer(max_in_flight="1"), 10_000
    values = [f"value {row}".encode() * (row % 7) for row in range(count)]
    stamps = np.arange(1, count + 1) if with_timestamps else None
    for start in range(0, count, 2500):
        part = slice(start, start + 2500)
        stamp = None if stamps is None else stamps[part]
        send(producer, Outgoing(topic, binary(*values[part]), timestamp=stamp), numbers(2500, start))
    written = outcome(finish(producer))
    assert [written[row] for row in range(count)] == [(0, 0, row) for row in range(count)]
    assert [each.value for each in read(topic, count)] == values


def test_timestamps_are_kept(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """A row's own time is written, also the begin of 1970; -1 leaves it to the producer's clock."""
    topic, producer = new_topic(), open_producer()
    before = int(time.time() * 1000)
    producer.wants_timestamps, times = True, np.array([12345, -1, 99, 0])
    send(
        producer,
        Outgoing(topic, binary(b"a", None, b"", b""), binary(b"k", None, b"", b""), timestamp=times),
        numbers(4),
    )
    stamps = {number: at for each in finish(producer) for number, at in zip(each.sequence, each.timestamp)}
    first, second, third, fourth = read(topic, 4)
    create_time = 1
    assert [stamps[number] for number in range(4)] == [each.timestamp[1] for each in (first, second, third, fourth)]
    assert fourth.timestamp == (create_time, 0)
    assert (first.timestamp, third.timestamp) == ((create_time, 12345), (create_time, 99))
    assert before <= second.timestamp[1] <= int(time.time() * 1000)
    assert [(each.key, each.value) for each in (first, second, third)] == [(b"k", b"a"), (None, None), (b"", b"")]


def test_timestamp_zero_waits_for_rows_in_flight(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """Only another client can write it, which must not overtake the first."""
    topic, producer = new_topic(), open_producer(enable_idempotence="true")
    zero = Outgoing(topic, binary(b"b", b"c"), timestamp=np.array([0, 7]), headers=raw_column([[("h", b"1")], []]))
    send(producer, Outgoing(topic, binary(b"a")), numbers(1))
    assert not producer.has_room(zero)
    finish(producer)
    assert producer.has_room(zero)
    send(producer, zero, numbers(2, 1))
    assert producer.has_room(zero)
    send(producer, zero, numbers(2, 3))
    send(producer, Outgoing(topic, binary(b"d")), numbers(1, 5))
    finish(producer)
    messages = read(topic, 6)
    assert [each.value for each in messages] == [b"a", b"b", b"c", b"b", b"c", b"d"]
    assert [each.timestamp[1] for each in messages[1:5]] == [0, 7, 0, 7]
    assert messages[1].headers == [("h", b"1")]


def test_an_unknown_librdkafka_writes_timestamp_one_for_zero(
    open_producer: Open, new_topic: NewTopic, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place of a message's timestamp is known for some versions only."""
    monkeypatch.setattr("hearth.kafka.producer.can_write_zero", lambda: False)
    topic, producer = new_topic(), open_producer()
    send(producer, Outgoing(topic, binary(b"a"), timestamp=np.array([0])), numbers(1))
    finish(producer)
    assert read(topic, 1)[0].timestamp[1] == 1


def test_headers_are_kept(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """Headers keep order, repeated names, nulls and empty values; names may be of any language."""
    topic, producer = new_topic(2), open_producer()
    headers: list[RawHeaders] = [
        [("b", b"1"), ("a", None), ("b", b""), ("größe", b"\x00\xff")],
        [],
        [("only", b"x" * 3000)],
    ]
    outgoing = Outgoing(
        topic,
        binary(b"v", None, b""),
        binary(b"k", None, b"k"),
        np.array([1, 1, 1], np.int32),
        np.array([5, 6, 7]),
        raw_column(headers),
    )
    send(producer, outgoing, numbers(3, 7))
    assert outcome(finish(producer)) == {7: (0, 1, 0), 8: (0, 1, 1), 9: (0, 1, 2)}
    found = read(topic, 3, 2)
    assert [each.headers for each in found] == headers
    assert [(each.key, each.value, each.timestamp[1]) for each in found] == [
        (b"k", b"v", 5),
        (None, None, 6),
        (b"k", b"", 7),
    ]


@pytest.mark.parametrize("with_headers", [False, True], ids=["batch", "rows"])
def test_rows_for_several_topics_are_handed_over_together(
    open_producer: Open, new_topic: NewTopic, read: Read, with_headers: bool
) -> None:
    """Each goes to its own topic, in either way rows reach librdkafka."""
    topics, producer = [new_topic(), new_topic(), new_topic()], open_producer()
    spans = [(topics[0], 0, 2), (topics[1], 2, 3), (topics[2], 3, 5)]
    headers = raw_column([[("h", b"1")], [], [], [("h", b"4")], []]) if with_headers else None
    values = binary(b"a", None, b"c", b"d", b"e")
    send(producer, Outgoing("", values, values, headers=headers, spans=spans), numbers(5, 7))
    written = outcome(finish(producer))
    assert written == {7: (0, 0, 0), 8: (0, 0, 1), 9: (0, 0, 0), 10: (0, 0, 0), 11: (0, 0, 1)}
    for topic, start, end in spans:
        found = read(topic, end - start)
        assert [each.value for each in found] == values.to_pylist()[start:end]
        assert [bool(each.headers) for each in found] == [with_headers and row in (0, 3) for row in range(start, end)]


def test_rows_with_headers_get_the_current_time(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """One reading of the clock for all of them, as for a batch."""
    topic, producer = new_topic(), open_producer()
    before = int(time.time() * 1000)
    send(producer, Outgoing(topic, binary(b"a", b"b"), headers=raw_column([[("h", b"1")], []])), numbers(2))
    after = int(time.time() * 1000)
    finish(producer)
    stamps = [each.timestamp[1] for each in read(topic, 2)]
    assert before <= stamps[0] == stamps[1] <= after


@pytest.mark.parametrize("way", ["batch", "rows", "headers"])
def test_refused_row_is_reported_and_the_others_sent(
    open_producer: Open, new_topic: NewTopic, read: Read, way: str
) -> None:
    """Rows too large or for a missing partition are reported separately (KIP-779)."""
    topic, producer = new_topic(), open_producer(message_max_bytes="2000")
    send(producer, Outgoing(topic, binary(b"first")), numbers(1, 99))
    finish(producer)  # the partitions of the topic are known by now
    outgoing = Outgoing(
        topic,
        binary(b"a", b"x" * 3000, b"b", b"c"),
        partition=np.array([0, 0, 9, 0], np.int32),
        timestamp=None if way == "batch" else np.array([1, 2, 3, 4]),
        headers=raw_column([[("h", b"1")]] * 4) if way == "headers" else None,
    )
    refused = send(producer, outgoing, numbers(4))
    deliveries = finish(producer) + ([] if refused is None else [refused])
    errors = {number: error for number, (error, _, _) in outcome(deliveries).items()}
    assert errors == {0: 0, 1: TOO_LARGE, 2: NO_PARTITION, 3: 0}
    assert [each.value for each in read(topic, 3)] == [b"first", b"a", b"c"]


def test_room_is_bounded_by_messages(open_producer: Open, new_topic: NewTopic) -> None:
    """Beyond the bound there is no room until rows are delivered; an idle producer takes any batch."""
    topic, producer = new_topic(), open_producer(queue_buffering_max_messages="3")
    four = Outgoing(topic, binary(b"a", b"b", b"c", b"d"))
    assert producer.has_room(four)
    send(producer, Outgoing(topic, binary(b"a", b"b")), numbers(2))
    assert producer.in_flight == 2
    assert producer.has_room(Outgoing(topic, binary(b"c")))
    assert not producer.has_room(Outgoing(topic, binary(b"c", b"d")))
    finish(producer)
    assert producer.has_room(four)


def test_room_is_bounded_by_bytes(open_producer: Open, new_topic: NewTopic) -> None:
    """Keys and values count; what is delivered gives back exactly what it took."""
    topic, producer = new_topic(), open_producer(queue_buffering_max_kbytes="1")
    send(producer, Outgoing(topic, binary(b"x" * 500), binary(b"k" * 100)), numbers(1))
    assert producer.has_room(Outgoing(topic, binary(b"x" * 424)))
    assert not producer.has_room(Outgoing(topic, binary(b"x" * 425)))
    finish(producer)
    assert producer.has_room(Outgoing(topic, binary(b"x" * 5000)))


@pytest.mark.parametrize("column", [binary(b"ab", None, b"", b"c"), binary(b"no", b"ab", b"c", b"no").slice(1, 2)])
def test_size_is_that_of_the_content(column: Any) -> None:
    """What counts against the bound is what the broker is sent, not what Arrow needs to keep it."""
    assert Outgoing("t", column).size == 3
    assert Outgoing("t", column, column).size == 6


def test_rows_that_cannot_be_written_in_time_come_back_with_their_error() -> None:
    """Without a broker a row fails after the delivery timeout; nothing hangs."""
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": "50", "log_level": "0"})
    send(producer, Outgoing("t", binary(b"a", b"b")), numbers(2))
    assert {error for error, _, _ in outcome(finish(producer)).values()} == {TIMED_OUT}
    producer.close()


def test_close_drops_rows_in_flight() -> None:
    """A cancelled task does not wait for a broker; a second close has no effect."""
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
    send(producer, Outgoing("t", binary(b"a")), numbers(1))
    assert producer.in_flight == 1
    begun = time.monotonic()
    producer.close()
    producer.close()
    assert time.monotonic() - begun < TIMEOUT


def test_unknown_setting_of_librdkafka_is_named() -> None:
    """A wrong setting is the user's to repair, so the error repeats it."""
    with pytest.raises(ConfigError, match=r"no\.such\.key"):
        Producer({"no.such.key": "1"})
    with pytest.raises(ConfigError, match=r"linger\.ms='soon'"):
        Producer({"linger.ms": "soon"})


def test_an_invalid_topic_is_named(open_producer: Open) -> None:
    """librdkafka refuses names of more than 512 characters by returning NULL."""
    producer = open_producer()
    with pytest.raises(KafkaError, match="accepts no topic 'ttt"):
        send(producer, Outgoing("t" * 600, binary(b"a")), numbers(1))
    assert producer.in_flight == 0


def test_fenced_producer_cannot_go_on(open_producer: Open, new_topic: NewTopic) -> None:
    """An error after which librdkafka delivers nothing more is raised by ``poll``, not met in silence."""
    producer = open_producer(enable_idempotence="true")
    send(producer, Outgoing(new_topic(), binary(b"a")), numbers(1))
    finish(producer)
    rdkafka = ctypes.CDLL(library_module._loaded_path())
    rdkafka.rd_kafka_test_fatal_error(ctypes.c_void_p(producer._client), 47, b"fenced by a test")
    for _ in range(2):
        with pytest.raises(KafkaError, match="fenced by a test"):
            producer.poll(int(TIMEOUT * 1000))


@pytest.mark.skipif(sys.platform != "linux", reason="reads what threads have taken from /proc")
def test_rows_in_flight_use_no_processor(open_producer: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one request in flight per partition librdkafka does not poll in a busy loop."""
    monkeypatch.setattr("hearth.kafka.linger.LONGEST_MS", 100_000)  # it asks for rows that waited so long
    before = set(threads())
    producer = open_producer(enable_idempotence="true", linger_ms="5", test_mock_num_brokers="1")
    answers_after(producer, milliseconds=800)
    send(producer, Outgoing("t", binary(*[b"v" * 303] * 6_000)), numbers(6_000))
    finish(producer)
    taken = sum(seconds for thread, seconds in threads().items() if thread not in before)
    assert taken < 0.4, f"{taken:.2f} s in the two seconds of its two requests"


def test_full_requests_need_no_flush(
    open_producer: Open, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows or bytes for one full request per partition; partitions are known from reports."""
    full: list[bool] = []
    sent = Linger.sent

    def note(linger: Linger, *, is_full: bool = False, is_crowded: bool = False) -> None:
        full.append(is_full)
        sent(linger, is_full=is_full, is_crowded=is_crowded)

    monkeypatch.setattr(Linger, "sent", note)
    producer = open_producer(enable_idempotence="true", batch_size="1000", batch_num_messages="10")
    topic, other = new_topic(), new_topic()
    for to, rows, size in [(topic, 1, 1001), (topic, 1, 1001), (topic, 1, 500), (topic, 10, 1), (other, 2, 800)]:
        send(producer, Outgoing(to, binary(*[b"v" * size] * rows)), numbers(rows))
        finish(producer)
    send(producer, Outgoing(topic, binary(b"v" * 1999)), numbers(1))
    assert full == [False, True, False, True, True, False]


@pytest.mark.parametrize("linger", ["0", "5", "50"])
def test_a_waiting_producer_flushes_rows(
    open_producer: Open, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch, linger: str
) -> None:
    """A caller that waits has nothing more to send."""
    monkeypatch.setattr("hearth.kafka.linger.LONGEST_MS", 100_000)  # no row goes by itself
    topic, producer = new_topic(), open_producer(enable_idempotence="true", linger_ms=linger)
    for row in range(3):
        send(producer, Outgoing(topic, binary(b"v")), numbers(1, row))
        assert producer.poll(0) == []
        assert outcome(finish(producer)) == {row: (0, 0, row)}


def test_a_busy_producer_flushes_rows_later(
    open_producer: Open, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows wait a little longer: there may be more to send."""
    monkeypatch.setattr("hearth.kafka.linger.LONGEST_MS", 100_000)  # no row goes by itself
    producer = open_producer(enable_idempotence="true", linger_ms="5")
    send(producer, Outgoing(new_topic(), binary(b"v")), numbers(1))
    deadline = time.monotonic() + TIMEOUT
    while producer.in_flight and time.monotonic() < deadline:
        producer.poll(0)
        time.sleep(0.005)
    assert producer.in_flight == 0


def threads() -> dict[str, float]:
    """Return the CPU seconds that each thread of this process has taken."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(") ")[2].split()
            found[thread] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def answers_after(producer: Producer, milliseconds: int) -> None:
    """Have the broker of a producer that brings its own take so long for each answer."""
    rdkafka = ctypes.CDLL(library_module._packaged_path() or library_module._loaded_path())
    rdkafka.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    cluster = ctypes.c_void_p(rdkafka.rd_kafka_handle_mock_cluster(ctypes.c_void_p(producer._client)))
    assert rdkafka.rd_kafka_mock_broker_set_rtt(cluster, 1, milliseconds) == 0


def test_one_bad_record_refuses_its_request(open_producer: Open, new_topic: NewTopic) -> None:
    """A compacted topic refuses records without key: the others get a separate error."""
    topic = new_topic(**{"cleanup.policy": "compact"})
    producer = open_producer(enable_idempotence="true", linger_ms="100")
    send(producer, Outgoing(topic, binary(*[b"v"] * 4), binary(b"a", None, b"c", None)), numbers(4))
    errors = {number: error for number, (error, _, _) in outcome(finish(producer)).items()}
    assert errors == {
        0: ERR_INVALID_DIFFERENT_RECORD,
        1: INVALID_RECORD,
        2: ERR_INVALID_DIFFERENT_RECORD,
        3: INVALID_RECORD,
    }


def test_too_large_requests_are_halved(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """Java splits them; here rows are sent again in smaller ones, and only a too large row is refused."""
    topic = new_topic(**{"max.message.bytes": "2000"})
    producer = open_producer(enable_idempotence="true", batch_size="20000", linger_ms="20")
    values = [b"%03d" % row * 30 for row in range(100)]
    values[50] = b"x" * 3000
    left, refused = list(range(100)), []
    while left:
        send(producer, Outgoing(topic, binary(*[values[row] for row in left])), np.array(left))
        errors = {number: error for number, (error, _, _) in outcome(finish(producer)).items()}
        left = [number for number in sorted(errors) if errors[number] == ERR_INVALID_DIFFERENT_RECORD]
        refused += [number for number, error in errors.items() if error == TOO_LARGE]
    assert refused == [50]
    assert sorted(each.value or b"" for each in read(topic, 99)) == sorted(values[:50] + values[51:])


def test_log_append_time_is_reported(open_producer: Open, new_topic: NewTopic, read: Read) -> None:
    """A record's timestamp is what its topic makes it."""
    topic, producer = new_topic(**{"message.timestamp.type": "LogAppendTime"}), open_producer()
    producer.wants_timestamps = True
    send(producer, Outgoing(topic, binary(b"a"), timestamp=np.array([5])), numbers(1))
    (delivery,) = finish(producer)
    (message,) = read(topic, 1)
    assert delivery.timestamp.tolist() == [message.timestamp[1]]
    assert message.timestamp[1] > 5


@pytest.mark.parametrize(
    ("number", "reason", "is_lasting"),
    [
        (-169, "sasl_plaintext://b:9092/1: SASL authentication error: Authentication failed: wrong password", True),
        (-169, "b: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: mechanisms: X", True),
        (-169, "b: SASL PLAIN mechanism handshake failed: Local: Broker transport failure: mechanisms: (n/a)", False),
        (-169, "b: Disconnected: hung up from peer in state AUTH_LEGACY", False),
        (-169, "Failed to acquire SASL OAUTHBEARER token: issuer says no", True),
        (-181, "b: Failed to verify broker certificate: self-signed certificate", True),
        (-195, "b: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?", False),
        (-187, "1/1 brokers are down", False),
        (-193, "b: Failed to resolve 'b:9092'", False),
    ],
)
def test_refusals_are_distinguished_from_unavailable_brokers(number: int, reason: str, is_lasting: bool) -> None:
    """Wrong credentials or certificates fail a task, as in Java; all else is retried."""
    assert is_refusal(number, reason, has_worked=False) is is_lasting


def test_a_missing_token_is_awaited_after_a_first_one() -> None:
    """Its issuer may be unavailable for a while; acquired tokens stay valid."""
    assert not is_refusal(-169, "Failed to acquire SASL OAUTHBEARER token: connection refused", has_worked=True)


def test_a_too_early_relogin_reconnects() -> None:
    """A listener without SASL gives the same error to the first login."""
    text = "b: SASL OAUTHBEARER mechanism handshake failed: Broker: Request not valid in current SASL state: "
    assert not is_refusal(-169, text, has_worked=True)
    assert is_refusal(-169, text, has_worked=False)


def test_a_refused_client_raises_the_reason() -> None:
    """A TLS client at a plain listener, and a peer without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            """Answer every connection, and read to its end: what is left unread would take the answer back."""
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(ConnectionError):
                        connection.recv(1 << 16)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(1 << 16):
                            pass

        peer = threading.Thread(target=answer, daemon=True)
        peer.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        producer = Producer({"bootstrap.servers": address, "security.protocol": "ssl", "log_level": "0"})
        try:
            send(producer, Outgoing("t", binary(b"a")), numbers(1))
            deadline = time.monotonic() + TIMEOUT
            with pytest.raises(KafkaError, match="SSL handshake failed"):  # noqa: PT012 -- some poll of many raises
                while time.monotonic() < deadline:
                    producer.poll(100)
        finally:
            producer.close()
            listener.shutdown(socket.SHUT_RDWR)
            peer.join(TIMEOUT)


def test_an_unavailable_broker_is_awaited() -> None:
    """Nothing is raised, whatever librdkafka reports of its connections."""
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
    send(producer, Outgoing("t", binary(b"a")), numbers(1))
    assert [producer.poll(300) for _ in range(3)] == [[], [], []]
    producer.close()


def test_wake_ends_a_producer_poll_from_another_thread(open_producer: Open) -> None:
    """The current or the next one; after ``close`` it has no effect."""
    producer = open_producer()
    threading.Timer(0.05, producer.wake).start()
    began = time.monotonic()
    assert producer.poll(60_000) == []
    producer.wake()
    assert producer.poll(60_000) == []
    assert time.monotonic() - began < TIMEOUT
    began = time.monotonic()
    producer.poll(50)
    assert time.monotonic() - began >= 0.05
    producer.close()
    producer.wake()
