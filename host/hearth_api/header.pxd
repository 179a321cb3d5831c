cimport cython

@cython.freelist(512)
cdef class Header:
    cdef public object key, value, _schema

@cython.freelist(512)
cdef class Headers:
    cdef public tuple _items
    cdef public tuple _parts

    cpdef add_string(self, key, value)
    @cython.locals(other=Headers)
    cpdef duplicate(self)
    @cython.locals(header=Header)
    cpdef last_with_name(self, key)
    cpdef _flat(self)
    @cython.locals(items=tuple)
    cpdef _materialized(self)

@cython.locals(own=Headers)
cpdef flat_rows(headers)

@cython.locals(own=Headers, first=tuple, parts=tuple, values=list, place=Py_ssize_t)
cpdef alike_headers(headers)
