"""A producer of columns: sends a batch in one call, returns acknowledgements as arrays."""

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
from hearth.kafka.client_statistics import STATISTICS_SETTING, StatisticsKeeper
from hearth.kafka.interceptor import ZERO, can_write_zero, write_zero
from hearth.kafka.kafka_error import KafkaError, fatal_error, is_refusal
from hearth.kafka.library import (
    ERR_FATAL,
    ERR_INVALID_DIFFERENT_RECORD,
    ERR_MSG_SIZE_TOO_LARGE,
    EVENT_DELIVERY,
    EVENT_ERROR,
    EVENT_STATISTICS,
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
"""Most records in flight; librdkafka needs about 300 bytes for each."""

DEFAULT_KBYTES = 32_768
"""Most kilobytes in flight, as Java's ``buffer.memory``."""

DEFAULT_BATCH_BYTES = "1000000"
"""librdkafka's own ``batch.size``."""
DEFAULT_BATCH_MESSAGES = 10_000
"""librdkafka's own ``batch.num.messages``."""

_PARTITION_FLAG = 0x8  # RD_KAFKA_MSG_F_PARTITION: each message has its partition
_PURGE_ALL = 0x1 | 0x2 | 0x4
_SHOWN = 300
"""Most characters of a name in an error."""
_FLUSH_MS = 1
"""Duration of a flush in milliseconds, long enough for librdkafka's thread to see it."""


@dataclass(frozen=True)
class DeliveryReport:
    """Delivery report of rows: numpy arrays of sequence number, error (0 = written), partition and offset.

    ``timestamp`` holds the stored timestamps in milliseconds, if the producer's ``wants_timestamps`` is set.
    """

    sequence: Any
    error: Any
    partition: Any
    offset: Any
    timestamp: Any = None


class Producer:
    """One librdkafka producer; used by one thread, which others may ``wake``.

    Order holds per partition when ``max.in.flight`` is 1 or idempotence is on. The memory of a sent row is not copied:
    the caller keeps its columns until the row's ``DeliveryReport``.
    """

    wants_timestamps = False
    """Whether a ``DeliveryReport`` has timestamps, which costs a call for each row."""

    def __init__(self, config: dict[str, str]) -> None:
        config = dict(config)
        kbytes = int(config.pop("queue.buffering.max.kbytes", DEFAULT_KBYTES))
        self._most_messages = int(config.pop("queue.buffering.max.messages", MOST_MESSAGES))
        self._most_bytes = kbytes * 1024
        # The limits are kept here: librdkafka refuses single messages of a batch when full, which breaks their order.
        limits = {"queue.buffering.max.messages": "0", "queue.buffering.max.kbytes": "2097151"}
        self._linger = Linger.of(config)
        self.statistics = StatisticsKeeper()
        self._config = {
            **STATISTICS_SETTING,
            "batch.size": DEFAULT_BATCH_BYTES,
            **self._linger.lengthened(config),
            **limits,
        }
        self._batch_bytes = int(self._config["batch.size"])
        self._partitions: set[int] = set()
        """Partitions from which rows came back, combined with their topics."""
        self._is_batch_too_large = False
        self._writes_zero = False
        self._library = library()
        self._client: int | None = None
        self._queue = 0
        self._waking = threading.Lock()
        self._topics: dict[str, int] = {}
        self._units: dict[tuple[int, ...], MessageUnits] = {}
        """Message units, by their parts and the bit length of their most headers."""
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
        """Return whether the rows fit in addition to those in flight; an idle producer takes any batch."""
        if self._messages == 0:
            return True
        if self._must_write_zero(outgoing):
            return False
        fits = self._messages + len(outgoing.value) <= self._most_messages
        return fits and self._bytes + outgoing.size <= self._most_bytes

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Send all rows; ``sequence`` is a numpy array of their numbers. Does not wait.

        Returns the rows that librdkafka refuses permanently (too large, no such partition); they are not in flight.
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
        """Return delivery reports, waiting up to ``wait_ms`` for the first, or until ``wake``.

        A caller that waits has nothing to send: rows that waited for ``linger.ms`` are flushed then. Raises
        ``KafkaError``, then and in later calls, when the producer cannot continue: fenced, out of sync with its
        broker, or refused by it. Later reports of librdkafka do not show what was written.
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
        """End the current or next wait of ``poll``; may be called from any thread, even after ``close``."""
        with self._waking:
            if self._queue:
                self._library.queue_yield(self._queue)

    def close(self) -> None:
        """Drop what is in flight and free the client."""
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
        self._library.conf_set_events(configuration, EVENT_DELIVERY | EVENT_ERROR | EVENT_STATISTICS)
        if self._writes_zero:
            write_zero(configuration)
        self._client = new_client(PRODUCER, configuration)
        self._queue = self._library.queue_get_main(self._client)
        self._log = ClientLog(self._client, "producer")
        self._topics = {}

    def _adapt(self, outgoing: Outgoing) -> None:
        """Replace the client if it cannot send these rows; nothing is in flight."""
        must_write_zero = self._must_write_zero(outgoing)
        if not (self._is_batch_too_large or must_write_zero):
            return
        self._free()
        if self._is_batch_too_large:  # Java splits it, librdkafka cannot
            self._batch_bytes = max(1, self._batch_bytes // 2)
            self._is_batch_too_large = False
            log.warning("a topic refused requests as large as batch.size, which is reduced to %d", self._batch_bytes)
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
        """Return the parts that every message has, with their unit arguments.

        Rows without a timestamp share the current time, as those of a batch do: librdkafka would read the clock for
        each.
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
        """Return timestamps for librdkafka: 0 means its clock, so a real 0 is replaced (``ZERO``)."""
        epoch = ZERO if self._writes_zero else 1
        return np.where(timestamps == 0, epoch, np.where(timestamps < 0, 0, timestamps))

    def _topics_of(self, outgoing: Outgoing) -> Any:
        """Return the topic of all rows, or an array with the topic of each."""
        if not outgoing.spans:
            return self._topic(outgoing.topic)
        topics = [self._topic(topic) for topic, _, _ in outgoing.spans]
        return np.repeat(np.array(topics, np.int64), [end - start for _, start, end in outgoing.spans])

    def _topic(self, name: str) -> int:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._library.topic_new(self._client, name.encode(), None)
            if not topic:
                raise KafkaError(self._library.last_error(), f"librdkafka accepts no topic {cut(name, _SHOWN)!r}")
            self._topics[name] = topic
        return topic

    def _next_event(self, wait_ms: int) -> int | None:
        """Wait for an event, but with rows in flight no longer than ``linger.ms`` allows; then flush."""
        if not self._messages or ((left := self._linger.left_ms) >= wait_ms and not self._linger.is_late):
            return self._polled(wait_ms)
        event = self._polled(left)
        if event or self._linger.left_ms:
            return event
        self._library.flush(self._client, _FLUSH_MS)
        self._linger.flushed(self._messages)
        return self._polled(0)

    @property
    def _has_full_request(self) -> bool:
        """Return whether rows in flight fill a request, however they are spread over partitions."""
        count = len(self._partitions)
        is_full = self._bytes >= count * self._batch_bytes or self._messages >= count * self._batch_messages
        return count > 0 and is_full

    def _polled(self, wait_ms: int) -> int | None:
        event: int | None = self._library.queue_poll(self._queue, wait_ms)
        return event

    def _take_event(self, event: int) -> bool:
        """Process an event and free it, unless it is a delivery report, whose messages are read later."""
        kind = self._library.event_type(event)
        if kind == EVENT_DELIVERY:
            self._has_worked = True
            return False
        if kind == EVENT_ERROR:
            self._failure = self._lasting_error(event)
        elif kind == EVENT_STATISTICS:
            self.statistics.keep(self._library.event_stats(event))
        self._log.take(event)
        self._library.event_destroy(event)
        return True

    def _report(self, events: list[int]) -> DeliveryReport:
        """Return the report of all events: many small ones cost no more than one."""
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
        self._linger.returned(len(pointers), is_full=self._has_full_request)
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
        """Return the errors of rows; a row that was too large only together with others may be sent again."""
        errors = rows["error"]
        if not (errors == ERR_MSG_SIZE_TOO_LARGE).any():
            return errors
        may_fit = (errors == ERR_MSG_SIZE_TOO_LARGE) & (rows["value_size"] + rows["key_size"] < self._batch_bytes)
        self._is_batch_too_large = self._batch_bytes > 1 and bool(may_fit.any())
        return np.where(may_fit, ERR_INVALID_DIFFERENT_RECORD, errors) if self._is_batch_too_large else errors

    def _lasting_error(self, event: int) -> KafkaError | None:
        """Return a permanent error of an event; librdkafka recovers from others, such as unavailable brokers."""
        number = self._library.event_error(event)
        reason = (self._library.event_error_string(event) or b"").decode(errors="replace")
        if number == ERR_FATAL or self._library.event_error_is_fatal(event):
            return fatal_error(self._client, number, reason)
        if not is_refusal(number, reason, has_worked=self._has_worked):
            return None
        if self._has_worked and desk.has_ended(self._config.get(SOURCE)):
            return None  # wait for the next token
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
