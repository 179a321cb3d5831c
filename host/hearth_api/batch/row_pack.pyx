"""Packs values row by row, each by its schema: for few rows of each of many schemas, in place of a column for each.

The stage protocol defines the format of a row (`PROTOCOL.md`, section 4).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from hearth_api.struct cimport Struct

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    MOST_BYTES = 0x7FFFFFFF


class _Mismatch(Exception):
    """A value is not plainly of its schema's type, or the rows exceed one column."""


cdef class RowLayout:
    """The layout of a schema's values and of their parts.

    `letter` is the type of numbers as a `struct` format, or `u` for texts, `y` for bytes, `{` for structs, `[` for
    arrays and `(` for maps, whose parts are `members`. `physical` converts a value of a logical type to its form in a
    row, and `logical` converts it back.
    """

    cdef int _letter
    cdef object _schema, _physical, _logical
    cdef list _members

    def __cinit__(self, str letter, object schema, list members, object physical=None, object logical=None):
        for member in members:
            if type(member) is not RowLayout:
                raise TypeError("members of a layout are layouts")
        self._letter, self._schema, self._members = ord(letter), schema, members
        self._physical, self._logical = physical, logical

    def unpack(self, bytes row):
        """Return the value of a packed row; raises a `ValueError` for an invalid row."""
        cdef _Reader reader = _Reader()
        reader.at = <const uint8_t *>PyBytes_AS_STRING(row)
        reader.end = reader.at + PyBytes_GET_SIZE(row)
        value = reader.value(self)
        if reader.at != reader.end:
            raise ValueError("not a packed row: something is left of it")
        return value


def pack_rows(list values, list codes, list layouts):
    """Return values as packed rows; ``None`` if one is not plainly of its schema's type.

    `codes` holds the index of each value's layout in `layouts`; with layout ``None`` the value must be null. Returns
    the bytes of the rows, the offsets (0 and the end of each row, 32 bits), and a validity bit for each row, or none
    if no row is null.
    """
    cdef Py_ssize_t row, count = len(values)
    cdef _Writer writer = _Writer()
    cdef object ends = PyBytes_FromStringAndSize(NULL, 4 * (count + 1))
    cdef int32_t *end = <int32_t *>PyBytes_AS_STRING(ends)
    cdef uint8_t *bits
    cdef object valid = None
    end[0] = 0
    try:
        writer.take(64 * count + 64)
        writer.size = 0
        for row in range(count):
            value = values[row]
            if value is None:
                if valid is None:
                    valid = PyBytes_FromStringAndSize(NULL, (count + 7) // 8)
                    memset(PyBytes_AS_STRING(valid), 0xFF, (count + 7) // 8)
                bits = <uint8_t *>PyBytes_AS_STRING(valid)
                bits[row >> 3] &= ~(1 << (row & 7))
            else:
                layout = layouts[codes[row]]
                if layout is None:
                    return None
                writer.put(<RowLayout?>layout, value)
            end[row + 1] = <int32_t>writer.size
    except _Mismatch:
        return None
    return PyBytes_FromStringAndSize(<char *>writer.begin, writer.size), ends, valid


cdef class _Writer:
    """The packed bytes, in a growing buffer."""

    cdef uint8_t *begin
    cdef Py_ssize_t size
    cdef Py_ssize_t room

    def __dealloc__(self):
        PyMem_Free(self.begin)

    cdef uint8_t *take(self, Py_ssize_t size) except NULL:
        """Return where to write ``size`` more bytes."""
        cdef uint8_t *moved
        if size > self.room - self.size:
            if self.size + size > MOST_BYTES:
                raise _Mismatch
            self.room = (self.size + size) * 3 // 2
            moved = <uint8_t *>PyMem_Realloc(self.begin, self.room)
            if moved is NULL:
                raise MemoryError
            self.begin = moved
        self.size += size
        return self.begin + self.size - size

    cdef int put(self, RowLayout layout, object value) except -1:
        cdef int letter = layout._letter
        cdef const char *text = NULL
        cdef Py_ssize_t size = 0
        cdef double fraction
        if layout._physical is not None:
            try:
                value = layout._physical(layout._schema, value)
            except Exception:  # the slower path reports what is wrong
                raise _Mismatch
        if letter == c"{":
            return self._struct(layout, value)
        if letter == c"u":
            if not PyUnicode_CheckExact(value):
                raise _Mismatch
            try:
                text = PyUnicode_AsUTF8AndSize(value, &size)
            except UnicodeEncodeError:
                raise _Mismatch
            return self._bytes(text, size)
        if letter == c"y":
            if not PyBytes_CheckExact(value):
                raise _Mismatch
            return self._bytes(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        if letter == c"d":
            if not PyFloat_CheckExact(value):
                raise _Mismatch
            fraction = PyFloat_AS_DOUBLE(value)
            memcpy(self.take(8), &fraction, 8)
            return 0
        if letter == c"?":
            if value is not True and value is not False:
                raise _Mismatch
            self.take(1)[0] = value is True
            return 0
        if letter == c"[":
            return self._array(layout, value)
        if letter == c"(":
            return self._map(layout, value)
        return self._integer(letter, value)

    cdef int _member(self, RowLayout layout, object value) except -1:
        """Write whether a part is present, and its value."""
        if value is None:
            self.take(1)[0] = 0
            return 0
        self.take(1)[0] = 1
        return self.put(layout, value)

    cdef int _struct(self, RowLayout layout, object value) except -1:
        cdef Struct struct
        cdef list values, members = layout._members
        cdef Py_ssize_t number
        if type(value) is not Struct:
            raise _Mismatch
        struct = <Struct>value
        values = struct._values
        if (struct.schema is not layout._schema and struct.schema != layout._schema) or len(values) != len(members):
            raise _Mismatch
        for number in range(len(members)):
            self._member(<RowLayout>members[number], values[number])
        return 0

    cdef int _array(self, RowLayout layout, object value) except -1:
        if type(value) is not list and type(value) is not tuple:
            raise _Mismatch
        self._count(len(value))
        for element in value:
            self._member(<RowLayout>layout._members[0], element)
        return 0

    cdef int _map(self, RowLayout layout, object value) except -1:
        if type(value) is not dict:
            raise _Mismatch
        self._count(len(value))
        for key, element in value.items():
            if key is None:
                raise _Mismatch
            self._member(<RowLayout>layout._members[0], key)
            self._member(<RowLayout>layout._members[1], element)
        return 0

    cdef int _count(self, Py_ssize_t size) except -1:
        cdef uint32_t count = <uint32_t>size
        if size > MOST_BYTES:
            raise _Mismatch
        memcpy(self.take(4), &count, 4)
        return 0

    cdef int _bytes(self, const char *text, Py_ssize_t size) except -1:
        self._count(size)
        if size:
            memcpy(self.take(size), text, size)
        return 0

    cdef int _integer(self, int letter, object value) except -1:
        cdef int64_t number
        cdef int overflow = 0
        if not PyLong_CheckExact(value):
            raise _Mismatch
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow or not _holds(letter, number):
            raise _Mismatch
        memcpy(self.take(_width(letter)), &number, _width(letter))
        return 0


cdef class _Reader:
    """Reads one row, and never past its end."""

    cdef const uint8_t *at
    cdef const uint8_t *end

    cdef const uint8_t *take(self, Py_ssize_t size) except NULL:
        if size > self.end - self.at:
            raise ValueError("not a packed row: it ends too soon")
        self.at += size
        return self.at - size

    cdef object value(self, RowLayout layout):
        value = self._physical(layout)
        return value if layout._logical is None else layout._logical(layout._schema, value)

    cdef object _physical(self, RowLayout layout):
        cdef int letter = layout._letter
        cdef Py_ssize_t size
        cdef double fraction
        if letter == c"{":
            return Struct.unchecked(layout._schema, [self._member(<RowLayout>each) for each in layout._members])
        if letter == c"u":
            size = self._count()
            return PyUnicode_DecodeUTF8(<const char *>self.take(size), size, NULL)
        if letter == c"y":
            size = self._count()
            return PyBytes_FromStringAndSize(<const char *>self.take(size), size)
        if letter == c"d":
            memcpy(&fraction, self.take(8), 8)
            return fraction
        if letter == c"?":
            return self.take(1)[0] != 0
        if letter == c"[":
            size = self._count()
            return [self._member(<RowLayout>layout._members[0]) for _ in range(size)]
        if letter == c"(":
            return self._map(layout, self._count())
        return self._integer(letter)

    cdef object _member(self, RowLayout layout):
        return self.value(layout) if self.take(1)[0] else None

    cdef dict _map(self, RowLayout layout, Py_ssize_t size):
        cdef dict found = {}
        for _ in range(size):
            key = self._member(<RowLayout>layout._members[0])
            if key is None:
                raise ValueError("not a packed row: a key of a map is null")
            found[key] = self._member(<RowLayout>layout._members[1])
        return found

    cdef Py_ssize_t _count(self) except -1:
        """Read the number of elements; each takes at least one byte."""
        cdef uint32_t count
        memcpy(&count, self.take(4), 4)
        if <Py_ssize_t>count > self.end - self.at:
            raise ValueError("not a packed row: it ends too soon")
        return count

    cdef object _integer(self, int letter):
        cdef const uint8_t *at = self.take(_width(letter))
        if letter == c"q":
            return (<const int64_t *>at)[0]
        if letter == c"i":
            return (<const int32_t *>at)[0]
        if letter == c"h":
            return (<const int16_t *>at)[0]
        return (<const int8_t *>at)[0]


cdef inline int _width(int letter) noexcept:
    return 8 if letter == c"q" else 4 if letter == c"i" else 2 if letter == c"h" else 1


cdef inline bint _holds(int letter, int64_t number) noexcept:
    if letter == c"q":
        return True
    if letter == c"i":
        return number == <int32_t>number
    if letter == c"h":
        return number == <int16_t>number
    return number == <int8_t>number
