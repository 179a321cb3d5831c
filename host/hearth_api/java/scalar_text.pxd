cimport cython

cdef object _DIGITS, _SIGNS, _OPENING, _OF_TEXTS, _DECIMAL, _OF_MOMENTS, _FLOAT, _DOUBLE, _BITS

@cython.locals(schemas=list, values=list, found=tuple)
cpdef tuple read_scalars(texts, otherwise)

cpdef tuple read_scalar(str text)

@cython.locals(parts=list)
cdef tuple _no_iso(str text)

cdef tuple _with_rest(str text, str rest)

cpdef tuple read_number(str token)

cpdef tuple whole_number(long long number)

cdef tuple _any_number(str token)

@cython.locals(wide=double, bits="long long")
cdef tuple _decimal(str text, str whole, str fraction)
