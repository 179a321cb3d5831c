cimport cython

cdef class FieldLayout:
    cdef readonly Py_ssize_t index
    cdef readonly object name, schema, type, default, kind, least, most

cdef class StructLayout:
    cdef object _fields
    cdef dict _by_name
    cdef list _near
    cdef readonly bint is_lasting
    cdef readonly list unset

    @cython.locals(known=FieldLayout)
    cdef FieldLayout place(self, field)
    @cython.locals(known=FieldLayout)
    cdef FieldLayout _found(self, field)

cdef class SchemaBase:
    cdef public StructLayout _layout

@cython.locals(base=SchemaBase)
cpdef StructLayout layout_of(schema)
