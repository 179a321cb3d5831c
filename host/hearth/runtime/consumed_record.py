"""Consumed records, as error reports and dead letters need them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hearth.kafka.c_memory import content_size
from hearth.kafka.fetched import TIMESTAMP_TYPES, Incoming
from hearth.runtime.body_format import body_format
from hearth.runtime.polled_record import key_text
from hearth_api import TopicPartition
from hearth_api.batch import Batch


@dataclass(frozen=True)
class Consumed:
    """One consumed record, for a report: a row of a fetched batch."""

    incoming: Incoming
    row: int

    @classmethod
    def of(cls, batch: Batch) -> Consumed:
        """Return the record in a one-row batch that a stage sent back (see ``as_consumed``)."""
        data = {name: batch.column(name) for name in batch.data.schema.names}
        times = data.get("timestamp")
        incoming = Incoming(
            topic=batch.topic or "",
            partition=data["partition"].to_numpy(),
            offset=data["offset"].to_numpy(),
            key=data["key"],
            value=data["value"],
            timestamp=None if times is None else times.to_numpy(),
            timestamp_type=TIMESTAMP_TYPES.index(batch.timestamp_type),
            headers=data.get("headers"),
        )
        return cls(incoming, 0)

    @property
    def partition(self) -> TopicPartition:
        """Return the partition the record was read from."""
        return TopicPartition(self.incoming.topic, int(self.incoming.partition[self.row]))

    @property
    def offset(self) -> int:
        """Return the record's offset."""
        return int(self.incoming.offset[self.row])

    def place(self, *, with_key: bool = True) -> str:
        """Name the record's topic, partition, offset, key and size, and the formats that its bytes look like."""
        part, row = self.incoming, self.row
        keys, values = part.key[row : row + 1], part.value[row : row + 1]
        size = content_size(keys) + content_size(values)
        partition, offset = part.partition[row], part.offset[row]
        key = key_text(keys) if with_key else ""
        looks = [
            f"{name} {body_format(column[0].as_py())}"
            for name, column in (("key", keys), ("value", values))
            if column[0].is_valid
        ]
        formats = f" ({', '.join(looks)})" if looks else ""
        return f"topic {part.topic!r}, partition {partition}, offset {offset}{key}, {size} bytes{formats}"

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        part, row = self.incoming, self.row
        origin = f"topic='{part.topic}', partition={part.partition[row]}, offset={part.offset[row]}"
        kind = TIMESTAMP_TYPES[part.timestamp_type].value
        stamp = f", timestamp={part.timestamp[row]}, timestampType={kind}" if part.timestamp_type else ""
        return f"consumed record is {{{origin}{stamp}}}"


def as_consumed(incoming: Incoming) -> Batch:
    """Return the consumed records as a batch (bytes, times, headers), to send along with the converted ones.

    A task may report a record long after its put. Its dead letter is then made from what the task's stage kept.
    """
    columns = {
        "partition": pa.array(incoming.partition),
        "offset": pa.array(incoming.offset),
        "key": incoming.key,
        "value": incoming.value,
    }
    if incoming.timestamp is not None:
        columns["timestamp"] = pa.array(incoming.timestamp)
    if incoming.headers is not None:
        columns["headers"] = incoming.headers
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(incoming.topic, None, None, data, None, TIMESTAMP_TYPES[incoming.timestamp_type])
