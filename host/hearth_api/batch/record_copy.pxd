cimport cython
from hearth_api.header cimport Headers
from hearth_api.record cimport SourceRecord
from hearth_api.struct cimport Struct

@cython.locals(record=SourceRecord, made=SourceRecord, headers=Headers, copies=list, size=Py_ssize_t)
cpdef copies_of(records, copy)

cdef bint _are_lasting(Headers headers) except -1

@cython.locals(known=dict)
cdef bint _is_like(one, other) except -1

@cython.locals(known=dict)
cdef _map(value, copy)

@cython.locals(struct=Struct)
cdef _value(value, copy)

@cython.locals(struct=Struct, size=Py_ssize_t)
cdef Py_ssize_t _size(value) except -1
