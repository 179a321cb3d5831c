cdef class FieldLayout:
    cdef readonly Py_ssize_t index
    cdef readonly object name, schema, type, default, kind, least, most

cdef class StructLayout:
    cdef object _fields
    cdef readonly dict by_name
    cdef readonly bint is_lasting
    cdef readonly list unset

cdef class StructBase:
    cdef public object schema
