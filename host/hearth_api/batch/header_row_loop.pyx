"""Builds the headers of many records from the parts of their column, in one loop."""

from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from hearth_api.header cimport Header, Headers

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, PyObject *) except? -1.0

cdef enum:
    MOST_DIGITS = 18  # an integer with at most this many digits fits 64 bits
    MOST_CHARACTERS = 40  # of a number

cdef struct Last:  # the last header of a name
    int32_t schema
    int32_t start
    int32_t length


def build_rows(
    list lengths, list names, size_t name_codes, list schemas, size_t schema_codes, bytes kinds, list others, read,
    size_t data, size_t offsets, size_t validity, Py_ssize_t first
):
    """Return one ``Headers`` for each row that has some, else ``None``; ``lengths`` says how many.

    ``names`` and ``schemas`` are those of the headers by their codes, of 32 bits each (address 0: all are 0).
    ``kinds`` has a letter for each schema: `u` text, `i` integer, `f` FLOAT32, `d` FLOAT64, `?` truth value, `o`
    another, whose values ``others`` yields for the schema. ``read(schema, text)`` reads what looks unusual. The other
    arguments are the addresses of an Arrow string array's memory, and its offset.
    """
    cdef Headers row
    cdef tuple items
    cdef Header header
    cdef list found = []
    cdef list shared = [None] * len(names)
    cdef Last *last = <Last *>PyMem_Malloc(sizeof(Last) * (len(names) or 1))
    cdef const int32_t *name_of = <const int32_t *>name_codes
    cdef const int32_t *schema_of = <const int32_t *>schema_codes
    cdef const int32_t *start = <const int32_t *>offsets + first
    cdef const uint8_t *valid = <const uint8_t *>validity
    cdef const char *content = <const char *>data
    cdef const char *kind_of = kinds
    cdef Py_ssize_t place, length, at = 0
    cdef int32_t name, schema
    cdef int kind
    if last is NULL:
        raise MemoryError
    try:
        for count in lengths:
            length = count
            if length == 0:
                found.append(None)
                continue
            items = PyTuple_New(length)
            for place in range(length):
                name = name_of[at] if name_of is not NULL else 0
                schema = schema_of[at] if schema_of is not NULL else 0
                kind = kind_of[schema]
                header = None
                if kind == c"o":
                    value = next(others[schema])
                elif valid is not NULL and not valid[(first + at) >> 3] >> ((first + at) & 7) & 1:
                    value = None
                else:
                    header = shared[name]
                    if (
                        header is not None and last[name].schema == schema
                        and last[name].length == start[at + 1] - start[at]
                        and not memcmp(content + last[name].start, content + start[at], last[name].length)
                    ):
                        value = None
                    else:
                        header = None
                        value = value_of(kind, content + start[at], start[at + 1] - start[at], schemas[schema], read)
                if header is None:
                    header = Header.__new__(Header)
                    header.key = names[name]
                    header.value = value
                    header._schema = schemas[schema]
                    if kind != c"o" and value is not None:
                        shared[name] = header
                        last[name] = Last(schema, start[at], start[at + 1] - start[at])
                Py_INCREF(header)
                PyTuple_SET_ITEM(items, place, header)
                at += 1
            row = Headers.__new__(Headers)
            row._items = items
            row._parts = ()
            found.append(row)
        return found
    finally:
        PyMem_Free(last)


cdef object value_of(int kind, const char *text, Py_ssize_t length, schema, read):
    cdef int64_t number
    cdef double wide
    if kind == c"u":
        return PyUnicode_DecodeUTF8(text, length, NULL)
    if kind == c"i" and is_whole(text, length, &number):
        return PyLong_FromLongLong(number)
    if (kind == c"d" or kind == c"f") and is_number(text, length, &wide):
        return PyFloat_FromDouble(<float>wide if kind == c"f" else wide)
    if kind == c"?" and length == 4 and not memcmp(text, b"true", 4):
        return True
    if kind == c"?" and length == 5 and not memcmp(text, b"false", 5):
        return False
    return read(schema, PyUnicode_DecodeUTF8(text, length, NULL))


cdef bint is_whole(const char *text, Py_ssize_t length, int64_t *number) noexcept:
    """Return whether a text is an integer in JSON, of few digits."""
    cdef bint is_negative = length > 0 and text[0] == c"-"
    cdef Py_ssize_t place
    number[0] = 0
    if not 0 < length - is_negative <= MOST_DIGITS or (text[is_negative] == c"0" and length > 1):
        return False
    for place in range(is_negative, length):
        if not c"0" <= text[place] <= c"9":
            return False
        number[0] = 10 * number[0] + (text[place] - c"0")
    if is_negative:
        number[0] = -number[0]
    return True


cdef bint is_number(const char *text, Py_ssize_t length, double *number) except -1:
    """Return whether a text is a number with a fraction or an exponent in JSON."""
    cdef char own[MOST_CHARACTERS + 1]
    cdef Py_ssize_t at = length > 0 and text[0] == c"-", start
    if length > MOST_CHARACTERS:
        return False
    start = at
    at = behind_digits(text, at, length)
    if at == start or (text[start] == c"0" and at > start + 1) or at == length:
        return False
    if text[at] == c".":
        start = at + 1
        at = behind_digits(text, start, length)
        if at == start:
            return False
    if at < length and (text[at] == c"e" or text[at] == c"E"):
        at += 1
        if at < length and (text[at] == c"+" or text[at] == c"-"):
            at += 1
        start = at
        at = behind_digits(text, start, length)
        if at == start:
            return False
    if at < length:
        return False
    memcpy(own, text, length)
    own[length] = 0
    number[0] = PyOS_string_to_double(own, NULL, NULL)
    return True


cdef inline Py_ssize_t behind_digits(const char *text, Py_ssize_t at, Py_ssize_t length) noexcept:
    while at < length and c"0" <= text[at] <= c"9":
        at += 1
    return at
