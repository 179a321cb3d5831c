"""A producer of columns: a batch goes to librdkafka in one call, its acknowledgements come back as arrays."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from hearth.kafka.c_memory import MESSAGE, locate, messages
from hearth.kafka.c_object import new_client, new_configuration
from hearth.kafka.client_log import LOG_SETTING, ClientLog
from hearth.kafka.interceptor import ZERO, can_write_zero, write_zero
from hearth.kafka.kafka_error import KafkaError, fatal_error, is_refusal
from hearth.kafka.library import (
    ERR_FATAL,
    ERR_INVALID_DIFFERENT_RECORD,
    ERR_MSG_SIZE_TOO_LARGE,
    EVENT_DELIVERY,
    EVENT_ERROR,
    PARTITION_ANY,
    PRODUCER,
    library,
)
from hearth.kafka.linger import Linger
from hearth.kafka.message_unit import (
    KEY,
    OPAQUE,
    PARTITION,
    TIMESTAMP,
    TOPIC,
    VALUE,
    HeaderCells,
    MessageUnits,
)
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.token import desk
from hearth.kafka.token_source import SOURCE
from hearth_execution.failure import cut

log = logging.getLogger(__name__)

MOST_MESSAGES = 30_000
"""Most records on their way; librdkafka needs about 300 bytes for each."""

DEFAULT_KBYTES = 32_768
"""Most kilobytes on their way, as Java's ``buffer.memory``."""

DEFAULT_BATCH_BYTES = "1000000"
"""librdkafka's own ``batch.size``."""
DEFAULT_BATCH_MESSAGES = 10_000
"""librdkafka's own ``batch.num.messages``."""

_PARTITION_FLAG = 0x8  # RD_KAFKA_MSG_F_PARTITION: the partition stands in each message
_PURGE_ALL = 0x1 | 0x2 | 0x4
_SHOWN = 300
"""Characters that are shown of a name."""
_HURRY_MS = 1
"""How long librdkafka is told to send at once what it has: its thread must have seen it by then."""


@dataclass(frozen=True)
class DeliveryReport:
    """What became of rows: numpy arrays of sequence number, error (0 = written), partition and offset.

    ``timestamp`` holds the milliseconds the rows are stored with, where the producer was asked for them.
    """

    sequence: Any
    error: Any
    partition: Any
    offset: Any
    timestamp: Any = None


class Producer:
    """One librdkafka producer; used by one thread, which others may ``wake``.

    Order holds per partition when ``max.in.flight`` is 1 or idempotence is on. The memory of a sent row is not
    copied: the caller keeps its columns until the row's ``DeliveryReport``.
    """

    wants_timestamps = False
    """Whether a ``DeliveryReport`` tells timestamps, which costs a call for each row."""

    def __init__(self, config: dict[str, str]) -> None:
        config = dict(config)
        kbytes = int(config.pop("queue.buffering.max.kbytes", DEFAULT_KBYTES))
        self._most_messages = int(config.pop("queue.buffering.max.messages", MOST_MESSAGES))
        self._most_bytes = kbytes * 1024
        # The bounds are kept here: librdkafka refuses single messages of a batch when full, which breaks their order.
        limits = {"queue.buffering.max.messages": "0", "queue.buffering.max.kbytes": "2097151"}
        self._linger = Linger.of(config)
        self._config = {"batch.size": DEFAULT_BATCH_BYTES, **self._linger.lengthened(config), **limits}
        self._batch_bytes = int(self._config["batch.size"])
        self._partitions: set[int] = set()
        """The partitions that rows came back from, each of its topic."""
        self._is_batch_too_large = False
        self._writes_zero = False
        self._library = library()
        self._client: int | None = None
        self._queue = 0
        self._waking = threading.Lock()
        self._topics: dict[str, int] = {}
        self._units: dict[tuple[int, ...], MessageUnits] = {}
        """The units of messages, by their parts and the bits of how many headers they have at most."""
        self._open()
        self._batch_messages = int(self._config.get("batch.num.messages", DEFAULT_BATCH_MESSAGES))
        self._failure: KafkaError | None = None
        self._has_worked = False
        self._messages = 0
        self._bytes = 0

    @property
    def in_flight(self) -> int:
        """Return the number of rows sent and not yet delivered or failed."""
        return self._messages

    def has_room(self, outgoing: Outgoing) -> bool:
        """Return whether the rows fit beside what is on its way; an idle producer takes any batch."""
        if self._messages == 0:
            return True
        if self._must_write_zero(outgoing):
            return False
        fits = self._messages + len(outgoing.value) <= self._most_messages
        return fits and self._bytes + outgoing.size <= self._most_bytes

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Hand all rows over; ``sequence`` is a numpy array of their numbers. Does not wait.

        Returns the rows that librdkafka refuses for good (too large, no such partition); they are not on their way.
        """
        if self._messages == 0:
            self._adapt(outgoing)
        if outgoing.headers is None and outgoing.timestamp is None:
            errors = self._send_batch(outgoing, sequence)
        else:
            errors = self._send_rows(outgoing, sequence)
        self._messages += len(outgoing.value)
        self._bytes += outgoing.size
        is_crowded = 2 * self._messages > self._most_messages or 2 * self._bytes > self._most_bytes
        self._linger.sent(is_full=self._has_full_request, is_crowded=is_crowded)
        refused = np.flatnonzero(errors) if errors is not None else ()
        if len(refused) == 0:
            return None
        self._messages -= len(refused)
        nowhere = np.full(len(refused), PARTITION_ANY)
        return DeliveryReport(sequence[refused], errors[refused], nowhere, nowhere)

    def poll(self, wait_ms: int) -> list[DeliveryReport]:
        """Collect what was delivered, waiting up to ``wait_ms`` for the first of it, or until ``wake``.

        Who waits has nothing to send: rows that have waited ``linger.ms`` for company are sent without it then.
        Raises ``KafkaError``, from then on always, when the producer cannot go on: fenced, out of step with its
        broker, or refused by it. What librdkafka reports after that says nothing of what is written.
        """
        delivered: list[int] = []
        try:
            while self._failure is None and (event := self._next_event(wait_ms)):
                if not self._take_event(event):
                    delivered.append(event)
                wait_ms = 0
            reports = [self._report(delivered)] if delivered else []
        finally:
            for event in delivered:
                self._library.event_destroy(event)
        if self._failure is not None and not reports:
            raise self._failure
        return reports

    def wake(self) -> None:
        """End a wait of ``poll``, this one or the next; may be called from any thread, also when it is closed."""
        with self._waking:
            if self._queue:
                self._library.queue_yield(self._queue)

    def close(self) -> None:
        """Forget what is still on its way and free the client."""
        self._free()

    def _free(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        with self._waking:
            queue, self._queue = self._queue, 0
        self._library.purge(client, _PURGE_ALL)
        while event := self._library.queue_poll(queue, 0):
            self._log.take(event)
            self._library.event_destroy(event)
        for topic in self._topics.values():
            self._library.topic_destroy(topic)
        self._library.queue_destroy(queue)
        self._library.destroy_flags(client, 0)

    def _open(self) -> None:
        configuration = new_configuration({**self._config, "batch.size": str(self._batch_bytes)} | LOG_SETTING)
        self._library.conf_set_events(configuration, EVENT_DELIVERY | EVENT_ERROR)
        if self._writes_zero:
            write_zero(configuration)
        self._client = new_client(PRODUCER, configuration)
        self._queue = self._library.queue_get_main(self._client)
        self._log = ClientLog(self._client, "producer")
        self._topics = {}

    def _adapt(self, outgoing: Outgoing) -> None:
        """Go on with another client where this one cannot do what is needed; nothing is on its way."""
        must_write_zero = self._must_write_zero(outgoing)
        if not (self._is_batch_too_large or must_write_zero):
            return
        self._free()
        if self._is_batch_too_large:  # Java splits it, librdkafka cannot
            self._batch_bytes = max(1, self._batch_bytes // 2)
            self._is_batch_too_large = False
            log.warning("a topic takes no requests as large as batch.size, which is %d from now on", self._batch_bytes)
        self._writes_zero = self._writes_zero or must_write_zero
        self._open()

    def _must_write_zero(self, outgoing: Outgoing) -> bool:
        if self._writes_zero or outgoing.timestamp is None:
            return False
        return bool((outgoing.timestamp == 0).any()) and can_write_zero()

    def _send_batch(self, outgoing: Outgoing, sequence: Any) -> Any:
        count = len(outgoing.value)
        rows = np.zeros(count, MESSAGE)
        rows["value"], rows["value_size"] = locate(outgoing.value)
        if outgoing.key is not None:
            rows["key"], rows["key_size"] = locate(outgoing.key)
        rows["opaque"] = sequence
        flags, partition = 0, PARTITION_ANY
        if outgoing.partition is not None:
            rows["partition"], flags = outgoing.partition, _PARTITION_FLAG
        topics = [(self._topic(topic), start, end - start) for topic, start, end in outgoing.by_topic]
        first, produce = rows.ctypes.data, self._library.produce_batch
        sent = sum(
            produce(topic, partition, flags, first + start * MESSAGE.itemsize, length)
            for topic, start, length in topics
        )
        return None if sent == count else rows["error"]

    def _send_rows(self, outgoing: Outgoing, sequence: Any) -> Any:
        columns = self._columns(outgoing, sequence)
        headers = None if outgoing.headers is None else HeaderCells.of(outgoing.headers)
        kind = (*columns, 0 if headers is None else headers.most.bit_length())
        if (units := self._units.get(kind)) is None:
            units = self._units[kind] = MessageUnits(tuple(columns), (1 << kind[-1]) - 1)
        return _numbers(units.send(self._library.produceva, self._client or 0, list(columns.values()), headers))

    def _columns(self, outgoing: Outgoing, sequence: Any) -> dict[int, tuple[Any, ...]]:
        """Return the parts that every message has, with the arguments of their units.

        Rows without a time of their own get this one, as those of a batch do: librdkafka would look at the clock for
        each of them.
        """
        now = time.time_ns() // 1_000_000
        columns: dict[int, tuple[Any, ...]] = {
            TOPIC: (self._topics_of(outgoing),),
            VALUE: locate(outgoing.value),
            OPAQUE: (sequence,),
            TIMESTAMP: (now if outgoing.timestamp is None else self._stamps(outgoing.timestamp),),
        }
        if outgoing.partition is not None:
            columns[PARTITION] = (outgoing.partition,)
        if outgoing.key is not None:
            columns[KEY] = locate(outgoing.key)
        return columns

    def _stamps(self, timestamps: Any) -> Any:
        """Return timestamps as librdkafka takes them: 0 is its clock, so that the begin of 1970 needs another word."""
        begin = ZERO if self._writes_zero else 1
        return np.where(timestamps == 0, begin, np.where(timestamps < 0, 0, timestamps))

    def _topics_of(self, outgoing: Outgoing) -> Any:
        """Return the topic of all rows, or those of each."""
        if not outgoing.spans:
            return self._topic(outgoing.topic)
        topics = [self._topic(topic) for topic, _, _ in outgoing.spans]
        return np.repeat(np.array(topics, np.int64), [end - start for _, start, end in outgoing.spans])

    def _topic(self, name: str) -> int:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._library.topic_new(self._client, name.encode(), None)
            if not topic:
                raise KafkaError(self._library.last_error(), f"librdkafka takes no topic {cut(name, _SHOWN)!r}")
            self._topics[name] = topic
        return topic

    def _next_event(self, wait_ms: int) -> int | None:
        """Wait for an event; while rows are on their way no longer than they are to wait for company."""
        if not self._messages or ((left := self._linger.left_ms) >= wait_ms and not self._linger.is_late):
            return self._polled(wait_ms)
        event = self._polled(left)
        if event or self._linger.left_ms:
            return event
        self._library.flush(self._client, _HURRY_MS)
        self._linger.hurried(self._messages)
        return self._polled(0)

    @property
    def _has_full_request(self) -> bool:
        """Return whether rows are on their way that fill a request, however they are spread over partitions."""
        count = len(self._partitions)
        is_full = self._bytes >= count * self._batch_bytes or self._messages >= count * self._batch_messages
        return count > 0 and is_full

    def _polled(self, wait_ms: int) -> int | None:
        event: int | None = self._library.queue_poll(self._queue, wait_ms)
        return event

    def _take_event(self, event: int) -> bool:
        """Take in an event and free it, unless it tells of messages, which it holds."""
        kind = self._library.event_type(event)
        if kind == EVENT_DELIVERY:
            self._has_worked = True
            return False
        if kind == EVENT_ERROR:
            self._failure = self._lasting_error(event)
        self._log.take(event)
        self._library.event_destroy(event)
        return True

    def _report(self, events: list[int]) -> DeliveryReport:
        """Return what became of the messages of all events: many small ones cost no more than one."""
        counts = list(map(self._library.event_message_count, events))
        pointers = np.empty(sum(counts), np.int64)
        for event, count, end in zip(events, counts, accumulate(counts)):
            self._library.event_message_array(event, pointers[end - count :].ctypes.data, count)
        rows = messages(pointers)
        self._note_partitions(rows)
        self._messages -= len(pointers)
        self._bytes -= int(rows["value_size"].sum() + rows["key_size"].sum())
        if self._messages == 0:
            self._bytes = 0
        self._linger.told(len(pointers), is_full=self._has_full_request)
        timestamps = None
        if self.wants_timestamps:
            stamps = map(self._library.message_timestamp, pointers.tolist(), repeat(None))
            timestamps = np.fromiter(stamps, np.int64, len(pointers))
        return DeliveryReport(rows["opaque"], self._errors(rows), rows["partition"], rows["offset"], timestamps)

    def _note_partitions(self, rows: Any) -> None:
        places = (rows["topic"] << 16) ^ rows["partition"]
        is_one = (places == places[:1]).all()
        self._partitions.update((places[:1] if is_one else np.unique(places)).tolist())

    def _errors(self, rows: Any) -> Any:
        """Return the errors of rows; one that was too large together with others is refused for their sake."""
        errors = rows["error"]
        if not (errors == ERR_MSG_SIZE_TOO_LARGE).any():
            return errors
        may_fit = (errors == ERR_MSG_SIZE_TOO_LARGE) & (rows["value_size"] + rows["key_size"] < self._batch_bytes)
        self._is_batch_too_large = self._batch_bytes > 1 and bool(may_fit.any())
        return np.where(may_fit, ERR_INVALID_DIFFERENT_RECORD, errors) if self._is_batch_too_large else errors

    def _lasting_error(self, event: int) -> KafkaError | None:
        """Return what an error event says, unless librdkafka goes on by itself, as it does when brokers are away."""
        number = self._library.event_error(event)
        reason = (self._library.event_error_string(event) or b"").decode(errors="replace")
        if number == ERR_FATAL or self._library.event_error_is_fatal(event):
            return fatal_error(self._client, number, reason)
        if not is_refusal(number, reason, has_worked=self._has_worked):
            return None
        if self._has_worked and desk.has_ended(self._config.get(SOURCE)):
            return None  # the next token is waited for
        return KafkaError(number, reason)


def _numbers(errors: Any) -> Any:
    """Turn ``rd_kafka_error_t *`` addresses into error numbers, and free them; ``None`` when there is no error."""
    if not errors.any():
        return None
    rdkafka = library()
    for row in np.flatnonzero(errors):
        error = int(errors[row])
        errors[row] = rdkafka.error_code(error)
        rdkafka.error_destroy(error)
    return errors
