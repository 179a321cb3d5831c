cimport cython
from hearth_api.java.scalar_text cimport read_number, whole_number

cdef Py_ssize_t _LONG, _MOST_LEVELS

cpdef tuple read_json(str text)

cdef class JsonScanner:
    cdef str text
    cdef Py_ssize_t at
    cdef int level

    @cython.locals(char=Py_UCS4)
    cpdef tuple value(self)

    cdef bint _opens(self, Py_UCS4 closing)

    cdef bint _goes_on(self)

    cdef bint _closes(self, Py_UCS4 closing)

    @cython.locals(text=str, at=Py_ssize_t, end=Py_ssize_t)
    cdef Py_UCS4 _visible(self)

    @cython.locals(text=str, start=Py_ssize_t, end=Py_ssize_t, place=Py_ssize_t, char=Py_UCS4, is_blank=bint,
                   has_dash=bint, has_delimiter=bint, content=str)
    cdef tuple _text(self)

    @cython.locals(text=str, start=Py_ssize_t, first=Py_ssize_t, at=Py_ssize_t, end=Py_ssize_t, most=Py_ssize_t,
                   number="long long", char=Py_UCS4)
    cdef tuple _number(self)

    @cython.locals(elements=list, found=tuple, is_more=bint)
    cdef tuple _array(self)

    @cython.locals(keys=list, items=list, key=tuple, item=tuple, is_more=bint)
    cdef tuple _map(self)

@cython.locals(made=dict, place=Py_ssize_t, key=tuple)
cdef tuple _map_of_texts(list keys, list items)

cpdef tuple quoted(str content)

cpdef tuple array_of(list elements)

cpdef tuple map_of(list entries)

@cython.locals(values=list)
cdef tuple _shared(list found)

cdef _array_schema(elements)

cdef _map_schema(keys, items)

cdef _aligned(common, schema, value)

cdef _common_schema(list values)

cdef _merged(first, other)

cdef _held(common, list values)

cdef _brought_to(common, value)
