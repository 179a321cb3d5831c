cimport cython
from hearth_api.java.scalar_text cimport read_number

cpdef tuple read_json(str text)

@cython.locals(kind=type)
cdef tuple _found(value)

cpdef tuple quoted(str content)

cpdef tuple array_of(list elements)

cpdef tuple map_of(list entries)

cdef tuple _shared(list found)

cdef _array_schema(elements)

cdef _map_schema(keys, items)

cdef _aligned(common, schema, value)

cdef _common_schema(list values)

cdef _merged(first, other)

cdef _held(common, list values)

cdef _brought_to(common, value)
