cimport cython

cdef object _UNCHANGED

cdef class ConnectRecord:
    cdef public object topic, kafka_partition, key_schema, key, value_schema, value, timestamp, _headers

cdef class SourceRecord(ConnectRecord):
    cdef public object source_partition, source_offset

    @cython.locals(record=SourceRecord)
    cpdef new_record(
        self, topic=*, kafka_partition=*, key_schema=*, key=*, value_schema=*, value=*, timestamp=*, headers=*,
        source_partition=*, source_offset=*,
    )

cdef class SinkRecord(ConnectRecord):
    cdef public object consumed, kafka_offset, original_kafka_offset, original_kafka_partition, original_topic
    cdef public object timestamp_type

    @cython.locals(record=SinkRecord)
    cpdef new_record(
        self, topic=*, kafka_partition=*, key_schema=*, key=*, value_schema=*, value=*, timestamp=*, headers=*,
        partition=*, kafka_offset=*, timestamp_type=*, original_topic=*, original_kafka_partition=*,
        original_kafka_offset=*,
    )
