"""A sink that books every accepted record, and can be unwell, lazy and particular.

While the file ``ledger.unwell`` exists it is unwell: it refuses 7 of 10 puts, after a wait of at most
``ledger.timeout.ms``. A lazy sink buffers, and each ``pre_commit`` books only a part and agrees to no more. A
particular one finds every 101st number bad, and reports it at once, in ``pre_commit`` or later from a thread.
"""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from hearth_api import (
    ConfigDef,
    ConfigType,
    ConnectError,
    Importance,
    OffsetAndMetadata,
    RetriableError,
    SinkConnector,
    SinkTask,
    TopicPartition,
)
from hearth_api.batch import BatchSinkTask, batch_to_sink_records
from ledger.book import Book, Entry

LEAST_TIMEOUT_MS = 100
REFUSED = 0.7
ERRANT_EVERY = 101
FLUSH_FAILS = 0.3
ASKS = 0.05


class LedgerSinkConnector(SinkConnector):
    """Passes its configuration to every task."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        low, high = Importance.LOW, Importance.HIGH
        return (
            ConfigDef()
            .define("ledger.folder", ConfigType.STRING, importance=high, doc="Folder of the books.")
            .define("ledger.unwell", ConfigType.STRING, importance=high, doc="While this file exists, puts may fail.")
            .define("ledger.seed", ConfigType.LONG, default=0, importance=low, doc="Seed of all random choices.")
            .define("ledger.timeout.ms", ConfigType.LONG, default=5000, importance=low, doc="Longest context.timeout.")
            .define("ledger.lazy", ConfigType.BOOLEAN, default=False, importance=low, doc="Whether it buffers.")
            .define("ledger.asks", ConfigType.BOOLEAN, default=False, importance=low, doc="Whether it requests commits.")
            .define("ledger.fails", ConfigType.BOOLEAN, default=False, importance=low, doc="Whether pre_commit fails.")
            .define("ledger.errant", ConfigType.STRING, default="never", importance=low, doc="never, put, flush, later")
        )

    def start(self, props) -> None:
        self._props = dict(props)

    def task_class(self):
        return LedgerSinkTask

    def task_configs(self, max_tasks: int):
        return [{**self._props, "ledger.task": str(number)} for number in range(max_tasks)]

    def stop(self) -> None:
        return


class LedgerBatchSinkConnector(LedgerSinkConnector):
    """The same with batches."""

    def task_class(self):
        return LedgerBatchSinkTask


class LedgerSinkTask(SinkTask):
    """Accepts or refuses records."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._book = Book(props["ledger.folder"], props["name"], props["ledger.task"])
        self._chance = random.Random(f"{props.get('ledger.seed', 0)} {props['ledger.task']}")
        self._unwell, self._most = props["ledger.unwell"], int(props.get("ledger.timeout.ms", 5000))
        self._lazy, self._asks, self._fails = (
            props.get(f"ledger.{name}", "false") == "true" for name in ("lazy", "asks", "fails")
        )
        self._errant = props.get("ledger.errant", "never")
        self._held: list[Entry] = []
        self._bad: list[tuple[Entry, object]] = []
        self._later = Later(self._report)

    def open(self, partitions) -> None:
        self._book.note("open", *_names(partitions))

    def put(self, records) -> None:
        entries = [_entry(each.topic, each.kafka_partition, each.kafka_offset, each.value) for each in records]
        self._take(entries, lambda index: records[index])

    def pre_commit(self, current_offsets):
        self._later.check()
        if self._fails and self._is_unwell() and self._chance.random() < FLUSH_FAILS:
            self._forget(lambda entry: True)
            self._book.note("fail")
            raise RetriableError("cannot flush now")
        kept = self._flush()
        bad, self._bad = self._bad, []
        for _, record in bad:
            self._report(record)
        agreed = _at_most(current_offsets, [*kept, *self._later.waiting()])
        self._book.note("agree", *(f"{_name(place)}:{each.offset}" for place, each in agreed.items()))
        return agreed

    def close(self, partitions) -> None:
        gone = set(partitions)
        self._forget(lambda entry: TopicPartition(entry.topic, entry.partition) in gone)
        self._book.note("close", *_names(partitions))

    def stop(self) -> None:
        self._later.stop()
        self._book.close()

    def _take(self, entries: list[Entry], record: Callable[[int], object]) -> None:
        """Book all records or refuse them all; bad ones are reported."""
        self._later.check()
        if not entries:
            return
        if self._is_unwell() and self._chance.random() < REFUSED:
            self._book.enter("refuse", entries)
            self.context.timeout(self._wait())
            raise RetriableError("unwell")
        self._enter([each for each in entries if not self._is_bad(each)])
        for index, entry in enumerate(entries):
            if self._is_bad(entry):
                self._dispose(entry, record(index))
        if self._asks and self._chance.random() < ASKS:
            self.context.request_commit()

    def _enter(self, entries: list[Entry]) -> None:
        if self._lazy:
            self._held += entries
        else:
            self._book.enter("put", entries)

    def _flush(self) -> list[Entry]:
        """Book a part of the buffer, and return the rest."""
        count = len(self._held)
        part = self._chance.choice([0, count, self._chance.randint(0, count)])
        self._book.enter("put", self._held[:part])
        self._held = self._held[part:]
        return self._held

    def _dispose(self, entry: Entry, record: object) -> None:
        if self._errant == "put":
            self._report(record)
        elif self._errant == "flush":
            self._bad.append((entry, record))
        else:
            self._later.add(entry, record, self._chance.uniform(0.01, 0.5))

    def _report(self, record):
        return self.context.errant_record_reporter().report(record, ValueError("a bad number"))

    def _forget(self, which: Callable[[Entry], bool]) -> None:
        """Drop records that are neither booked nor reported: they will be delivered again."""
        self._held = [each for each in self._held if not which(each)]
        self._bad = [each for each in self._bad if not which(each[0])]
        self._later.forget(which)

    def _is_bad(self, entry: Entry) -> bool:
        return self._errant != "never" and entry.number % ERRANT_EVERY == ERRANT_EVERY - 1

    def _is_unwell(self) -> bool:
        return os.path.exists(self._unwell)

    def _wait(self) -> int:
        """Return a time in milliseconds; short ones are as likely as long ones."""
        return int(math.exp(self._chance.uniform(math.log(LEAST_TIMEOUT_MS), math.log(self._most))))


class LedgerBatchSinkTask(BatchSinkTask, LedgerSinkTask):
    """Accepts or refuses batches."""

    def put_batch(self, batches) -> None:
        rows = [(batch, row) for batch in batches for row in range(batch.num_rows)]
        entries = [entry for batch in batches for entry in _entries(batch)]
        self._take(entries, lambda index: batch_to_sink_records(rows[index][0].slice(rows[index][1], 1))[0])


class Later:
    """Reports records from a thread, each after a delay, and tracks those that wait."""

    def __init__(self, report: Callable[[object], object]) -> None:
        self._report = report
        self._waiting: dict[int, tuple[float, Entry, object]] = {}
        self._next, self._error = 0, None
        self._changed, self._stopped = threading.Condition(), False
        self._thread: threading.Thread | None = None

    def add(self, entry: Entry, record: object, seconds: float) -> None:
        """Report a record after a delay."""
        with self._changed:
            self._waiting[self._next] = (time.monotonic() + seconds, entry, record)
            self._next += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify()

    def waiting(self) -> list[Entry]:
        """Return the entries that are not known to be stored."""
        with self._changed:
            return [entry for _, entry, _ in self._waiting.values()]

    def forget(self, which: Callable[[Entry], bool]) -> None:
        """Drop records; a report in progress continues."""
        with self._changed:
            self._waiting = {key: each for key, each in self._waiting.items() if not which(each[1])}

    def check(self) -> None:
        """Raise the thread's error."""
        if self._error is not None:
            raise ConnectError("a record could not be reported") from self._error

    def stop(self) -> None:
        """End the thread; waiting records are delivered again."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _run(self) -> None:
        try:
            while (due := self._due()) is not None:
                futures = [(key, self._report(record)) for key, record in due.items()]
                for key, future in futures:
                    future.result()
                    with self._changed:
                        self._waiting.pop(key, None)
        except BaseException as error:  # raised again in the task's own calls
            self._error = error

    def _due(self) -> dict[int, object] | None:
        """Wait for records that are due; return None after the stop."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                if due := {key: record for key, (when, _, record) in self._waiting.items() if when <= now}:
                    return due
                self._changed.wait(min((when - now for when, _, _ in self._waiting.values()), default=None))
            return None


def _entry(topic: str, partition: int, offset: int, value: str) -> Entry:
    return Entry(topic, partition, offset, int(value))


def _entries(batch) -> Iterable[Entry]:
    columns = [batch.column(name).to_pylist() for name in ("partition", "offset", "value")]
    return (_entry(batch.topic, *row) for row in zip(*columns, strict=True))


def _at_most(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], kept: Iterable[Entry]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets that do not pass any withheld record."""
    agreed = dict(offsets)
    for entry in kept:
        place = TopicPartition(entry.topic, entry.partition)
        if place in agreed and agreed[place].offset > entry.offset:
            agreed[place] = OffsetAndMetadata(entry.offset)
    return agreed


def _names(partitions) -> list[str]:
    return sorted(map(_name, partitions))


def _name(place: TopicPartition) -> str:
    return f"{place.topic}:{place.partition}"
