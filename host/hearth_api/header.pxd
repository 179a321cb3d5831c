cimport cython

cdef class Header:
    cdef public object key, value, _schema

cdef class Headers:
    cdef public tuple _items
    cdef public tuple _parts

    cpdef add_string(self, key, value)
    @cython.locals(other=Headers)
    cpdef duplicate(self)
    cpdef _flat(self)

@cython.locals(own=Headers)
cpdef flat_rows(headers)

@cython.locals(own=Headers, first=tuple, parts=tuple, values=list, place=Py_ssize_t)
cpdef alike_headers(headers)
