"""Builds the records of a sink from the memory of their columns, in one loop."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLong, PyLong_FromLongLong
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from hearth_api.record cimport SinkRecord


cdef class RowColumn:
    """A column of which each row is read once.

    ``letter`` is the type of numbers as a ``struct`` format, or `u` for texts, `y` for bytes, whose memory is at the
    addresses of the data, the offsets and the validity (0: no nulls); ``first`` is the array's offset. With `l` the
    values are in a list, with `-` all are null.
    """

    cdef int letter
    cdef const char *data
    cdef const int32_t *start
    cdef const uint8_t *valid
    cdef Py_ssize_t first
    cdef list values
    cdef int64_t last
    cdef object last_value  # of the last 64-bit integer: successive timestamps are often equal

    def __cinit__(
        self, str letter, size_t data=0, size_t offsets=0, size_t validity=0, Py_ssize_t first=0, list values=None
    ):
        self.letter, self.first, self.values = ord(letter), first, values
        self.data, self.start, self.valid = <const char *>data, <const int32_t *>offsets, <const uint8_t *>validity

    cdef inline object at(self, Py_ssize_t row):
        cdef int letter = self.letter
        cdef Py_ssize_t place = row + self.first
        if letter == c"-":
            return None
        if letter == c"l":
            return self.values[row]
        if self.valid is not NULL and not self.valid[place >> 3] >> (place & 7) & 1:
            return None
        if letter == c"q":
            if self.last_value is None or self.last != (<const int64_t *>self.data)[place]:
                self.last = (<const int64_t *>self.data)[place]
                self.last_value = PyLong_FromLongLong(self.last)
            return self.last_value
        if letter == c"u":
            return PyUnicode_DecodeUTF8(
                self.data + self.start[place], self.start[place + 1] - self.start[place], NULL
            )
        if letter == c"i":
            return PyLong_FromLong((<const int32_t *>self.data)[place])
        if letter == c"y":
            return PyBytes_FromStringAndSize(
                self.data + self.start[place], self.start[place + 1] - self.start[place]
            )
        if letter == c"d":
            return PyFloat_FromDouble((<const double *>self.data)[place])
        if letter == c"h":
            return PyLong_FromLong((<const int16_t *>self.data)[place])
        return PyLong_FromLong((<const int8_t *>self.data)[place])


def build_records(
    tuple common not None, consumed, Py_ssize_t count,
    RowColumn partitions not None, RowColumn keys not None, RowColumn values not None, RowColumn offsets not None,
    RowColumn timestamps not None, RowColumn headers not None, RowColumn original_partitions not None,
    RowColumn original_offsets not None, RowColumn rows not None,
):
    """Return ``count`` records with the ``common`` parts (`sink_row.CommonParts`).

    ``consumed`` holds their messages by the numbers in ``rows``, or is ``None``.
    """
    cdef SinkRecord record
    cdef Py_ssize_t row
    cdef list records = []
    topic, kind, original_topic, key_schema, value_schema = common
    for row in range(count):
        record = SinkRecord.__new__(SinkRecord)
        record.topic = topic
        record.kafka_partition = partition = partitions.at(row)
        record.key_schema = key_schema
        record.key = keys.at(row)
        record.value_schema = value_schema
        record.value = values.at(row)
        record.timestamp = timestamps.at(row)
        record._headers = headers.at(row)
        record.kafka_offset = offset = offsets.at(row)
        record.timestamp_type = kind
        record.original_topic = original_topic
        original = original_partitions.at(row)
        record.original_kafka_partition = partition if original is None else original
        original = original_offsets.at(row)
        record.original_kafka_offset = offset if original is None else original
        record.consumed = None if consumed is None else (consumed, rows.at(row))
        records.append(record)
    return records
