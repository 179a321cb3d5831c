cimport cython

cdef object _ARRAY, _MAP
cdef int _MOST_LEVELS

cpdef bint is_plain(schema, value)

@cython.locals(kind=type)
cdef bint _is_plain(schema, value, int level)

cdef bint _is_plain_map(schema, dict entries, int level)
