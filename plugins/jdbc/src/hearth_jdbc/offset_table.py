"""The table of offsets in the sink's database, which is written in the transactions of the rows: exactly once.

A row holds the offset that comes next in a topic partition, and the task that owns the partition. A task claims the
rows of its partitions in `open`. Each transaction begins with the update of these rows, on the condition that the task
still owns them. So a task that has lost a partition, and does not know it yet, waits for the row that the new owner
changes, or has changed, and then writes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import TopicPartition
from hearth_api.batch import Batch
from hearth_jdbc.dialect.interface import TableId
from hearth_jdbc.dialect.sink_dialect import SinkDialect


class Fenced(Exception):
    """Another task owns a partition."""


class OffsetTable:
    """The offsets of one task's topic partitions."""

    def __init__(self, dialect: SinkDialect, table: TableId, connector: str) -> None:
        """Store where the offsets are; every instance is another owner."""
        self._dialect = dialect
        self._table = table
        self._connector = connector
        self._owner = uuid.uuid4().hex
        self._owned: set[TopicPartition] = set()
        self._next: dict[TopicPartition, int] | None = {}

    def claim(self, connection: Any, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Become the owner of partitions; return the offsets after the last rows of those that have any."""
        self._create(connection)
        owner = self._text(self._owner)
        for place in sorted(partitions):
            with self._dialect.transaction(connection):
                if not self._dialect.execute(connection, f"{self._update('owner', owner)} WHERE {self._is(place)}"):
                    self._insert(connection, place)
        self._owned.update(partitions)
        found = self._read(connection)
        self._next = found
        return {place: offset for place, offset in found.items() if place in partitions}

    def release(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions, whose rows another task may claim at any time."""
        self._owned.difference_update(partitions)
        for place in partitions:
            if self._next is not None:
                self._next.pop(place, None)

    def forget(self) -> None:
        """Read the offsets again before the next rows, since a commit may have come about without an answer."""
        self._next = None

    def unwritten(self, connection: Any, batches: Sequence[Batch]) -> list[Batch]:
        """Return the batches without the rows that are in the database."""
        if self._next is None:
            self._next = self._read(connection)
        found = [self._later(batch, self._next) for batch in batches]
        return [batch for batch in found if batch.num_rows]

    def ends(self, batches: Sequence[Batch]) -> dict[TopicPartition, int]:
        """Return the offsets after the last rows of batches."""
        found: dict[TopicPartition, int] = {}
        for batch in batches:
            topic, partitions, offsets = batch.originals()
            for partition in np.unique(partitions):
                place = TopicPartition(topic, int(partition))
                last = int(offsets[partitions == partition].max())
                found[place] = max(found.get(place, 0), last + 1)
        return found

    def store(self, connection: Any, ends: Mapping[TopicPartition, int]) -> None:
        """Store offsets within a transaction; raise `Fenced` if another task owns a partition."""
        owner = self._text(self._owner)
        for place, offset in sorted(ends.items()):
            sql = f"{self._update('next_offset', str(offset))} WHERE {self._is(place)} AND owner = {owner}"
            if self._dialect.execute(connection, sql) != 1:
                raise Fenced(f"another task writes partition {place.partition} of topic {place.topic} by now")

    def advance(self, ends: Mapping[TopicPartition, int]) -> None:
        """Take note that offsets are committed."""
        if self._next is not None:
            self._next.update(ends)

    def alter(self, connection: Any, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Set offsets by hand, or remove them."""
        self._create(connection)
        with self._dialect.transaction(connection):
            for place, offset in sorted(offsets.items()):
                sql = f"DELETE FROM {self._dialect.quote_table(self._table)} WHERE {self._is(place)}"  # noqa: S608
                self._dialect.execute(connection, sql)
                if offset is not None:
                    self._insert(connection, place, str(offset))

    def _create(self, connection: Any) -> None:
        if not self._dialect.describe(connection, self._table):
            text = self._dialect.KEY_TEXT
            columns = f"connector {text}, topic {text}, kafka_partition INTEGER NOT NULL"
            key = "PRIMARY KEY (connector, topic, kafka_partition)"
            name = self._dialect.quote_table(self._table)
            sql = f"CREATE TABLE IF NOT EXISTS {name} ({columns}, next_offset BIGINT, owner {text}, {key})"
            self._dialect.execute(connection, sql)

    def _insert(self, connection: Any, place: TopicPartition, offset: str = "NULL") -> None:
        values = f"{self._text(self._connector)}, {self._text(place.topic)}, {place.partition}, {offset}"
        name = self._dialect.quote_table(self._table)
        self._dialect.execute(connection, f"INSERT INTO {name} VALUES ({values}, {self._text(self._owner)})")  # noqa: S608

    def _read(self, connection: Any) -> dict[TopicPartition, int]:
        """Return the offsets of the partitions that this task has claimed and still owns."""
        name = self._dialect.quote_table(self._table)
        sql = f"SELECT topic, kafka_partition, next_offset FROM {name} WHERE owner = {self._text(self._owner)}"  # noqa: S608
        found = {
            TopicPartition(topic, int(number)): offset for topic, number, offset in self._dialect.rows(connection, sql)
        }
        return {place: int(offset) for place, offset in found.items() if offset is not None and place in self._owned}

    def _update(self, column: str, value: str) -> str:
        return f"UPDATE {self._dialect.quote_table(self._table)} SET {column} = {value}"  # noqa: S608

    def _is(self, place: TopicPartition) -> str:
        connector, topic = self._text(self._connector), self._text(place.topic)
        return f"connector = {connector} AND topic = {topic} AND kafka_partition = {place.partition}"

    def _text(self, text: str) -> str:
        return self._dialect.text_literal(text)

    @staticmethod
    def _later(batch: Batch, after: Mapping[TopicPartition, int]) -> Batch:
        topic, partitions, offsets = batch.originals()
        late = np.ones(len(offsets), bool)
        for partition in np.unique(partitions):
            place = TopicPartition(topic, int(partition))
            late &= (partitions != partition) | (offsets >= after.get(place, 0))
        return batch if late.all() else batch.filter(pa.array(late))
