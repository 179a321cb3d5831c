cimport cython
from hearth_api.record cimport ConnectRecord, SourceRecord

@cython.locals(record=ConnectRecord)
cpdef parts_of(records)

@cython.locals(record=ConnectRecord)
cpdef common_parts(records)

@cython.locals(
    record=SourceRecord, before=SourceRecord, known=dict, equal=dict, further=dict, codes=list, firsts=list, own=list,
    place=tuple,
)
cpdef kinds_of(records)

@cython.locals(values=dict)
cdef bint _are_alike(one, other) except -1

@cython.locals(record=SourceRecord)
cpdef source_partitions(records)

@cython.locals(record=SourceRecord)
cpdef source_offsets(records)

@cython.locals(known=dict, numbers=list)
cpdef counted(offsets)
