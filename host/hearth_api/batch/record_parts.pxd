cimport cython
from hearth_api.record cimport ConnectRecord, SinkRecord, SourceRecord

@cython.locals(record=ConnectRecord)
cpdef parts_of(records)

@cython.locals(record=ConnectRecord)
cpdef common_parts(records)

@cython.locals(record=SourceRecord)
cpdef source_partitions(records)

@cython.locals(record=SourceRecord)
cpdef source_offsets(records)

@cython.locals(known=dict, numbers=list)
cpdef counted(offsets)

@cython.locals(record=SinkRecord, records=list)
cpdef sink_records(topic, kind, original_topic, key_schema, value_schema, rows)
