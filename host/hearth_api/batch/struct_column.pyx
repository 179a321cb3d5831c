"""Builds a column of struct values, in one loop over each field.

Columns are passed through Arrow's C data interface, all fields of one in a single call.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef struct Column:  # struct ArrowArray
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    Column **children
    Column *dictionary
    void (*release)(Column *) noexcept nogil
    void *private_data

cdef enum:
    MOST_BYTES = 0x7FFFFFFF


class _Mismatch(Exception):
    """A value is not plainly of its field's type: the slower path must handle it."""


def struct_column(list rows, list absent, list kinds, list others, import_column, type_):
    """Return structs as a column of an Arrow type; ``None`` if a value is not plainly of its field's type.

    ``rows`` are their values, ``absent`` tells which are null, if any, and ``kinds`` holds for each field the type of
    numbers as a ``struct`` format, `u` for texts or `y` for bytes. If that is ``None``, the next of ``others`` is the
    column of the field. ``import_column`` is Arrow's function that imports its C structures.
    """
    cdef Column root
    cdef Py_ssize_t number, other = 0
    _begin(&root, len(rows), 1)
    try:
        root.children = <Column **>calloc(len(kinds) + 1, sizeof(Column *))
        if root.children is NULL:
            raise MemoryError
        if absent is not None:
            for number in range(len(rows)):
                if absent[number]:
                    _nullify(&root, number)
        for number, kind in enumerate(kinds):
            root.children[number] = <Column *>calloc(1, sizeof(Column))
            if root.children[number] is NULL:
                raise MemoryError
            root.n_children = number + 1
            if kind is None:
                others[other]._export_to_c(<size_t>root.children[number])
                other += 1
            else:
                _fill(root.children[number], rows, number, ord(kind))
        return import_column(<size_t>&root, type_)
    except (_Mismatch, IndexError):
        return None
    finally:
        if root.release is not NULL:
            root.release(&root)


cdef int _begin(Column *column, Py_ssize_t length, int buffers) except -1:
    memset(column, 0, sizeof(Column))
    column.length, column.n_buffers = length, buffers
    column.buffers = <const void **>calloc(buffers, sizeof(void *))
    if column.buffers is NULL:
        raise MemoryError
    column.release = _release
    return 0


cdef void _release(Column *column) noexcept nogil:
    cdef int64_t number
    for number in range(column.n_children):
        if column.children[number].release is not NULL:
            column.children[number].release(column.children[number])
        free(column.children[number])
    free(column.children)
    for number in range(column.n_buffers):
        free(<void *>column.buffers[number])
    free(column.buffers)
    column.release = NULL


cdef int _nullify(Column *column, Py_ssize_t row) except -1:
    """Mark a row as null."""
    cdef uint8_t *bits = <uint8_t *>column.buffers[0]
    if bits is NULL:
        bits = <uint8_t *>malloc((column.length + 7) // 8)
        if bits is NULL:
            raise MemoryError
        memset(bits, 0xFF, (column.length + 7) // 8)
        column.buffers[0] = bits
    bits[row >> 3] &= ~(1 << (row & 7))
    column.null_count += 1
    return 0


cdef void *_buffer(Column *column, int number, size_t size) except NULL:
    """Return zeroed memory for a buffer of a column."""
    cdef void *memory = calloc(size or 1, 1)
    if memory is NULL:
        raise MemoryError
    column.buffers[number] = memory
    return memory


cdef int _fill(Column *column, list rows, Py_ssize_t field, int kind) except -1:
    cdef Py_ssize_t count = len(rows)
    if kind == c"u" or kind == c"y":
        _begin(column, count, 3)
        return _texts(column, rows, field, kind == c"u")
    _begin(column, count, 2)
    if kind == c"?":
        return _flags(column, rows, field)
    if kind == c"d":
        return _fractions(column, rows, field)
    return _integers(column, rows, field, kind)


cdef int _integers(Column *column, list rows, Py_ssize_t field, int kind) except -1:
    cdef int width = 8 if kind == c"q" else 4 if kind == c"i" else 2 if kind == c"h" else 1
    cdef int shift = 64 - 8 * width
    cdef char *numbers = <char *>_buffer(column, 1, column.length * width)
    cdef Py_ssize_t row
    cdef long long number
    cdef int overflow
    for row in range(column.length):
        value = rows[row][field]
        if value is None:
            _nullify(column, row)
            continue
        if not PyLong_CheckExact(value):
            raise _Mismatch
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            raise _Mismatch
        if width == 8:
            (<int64_t *>numbers)[row] = number
        elif width == 4 and number == <int32_t>number:
            (<int32_t *>numbers)[row] = <int32_t>number
        elif width == 2 and number == <int16_t>number:
            (<int16_t *>numbers)[row] = <int16_t>number
        elif width == 1 and number == <int8_t>number:
            (<int8_t *>numbers)[row] = <int8_t>number
        else:
            raise _Mismatch
    return 0


cdef int _fractions(Column *column, list rows, Py_ssize_t field) except -1:
    cdef double *numbers = <double *>_buffer(column, 1, column.length * sizeof(double))
    cdef Py_ssize_t row
    for row in range(column.length):
        value = rows[row][field]
        if value is None:
            _nullify(column, row)
        elif PyFloat_CheckExact(value):
            numbers[row] = PyFloat_AS_DOUBLE(value)
        else:
            raise _Mismatch
    return 0


cdef int _flags(Column *column, list rows, Py_ssize_t field) except -1:
    cdef uint8_t *bits = <uint8_t *>_buffer(column, 1, (column.length + 7) // 8)
    cdef Py_ssize_t row
    for row in range(column.length):
        value = rows[row][field]
        if value is None:
            _nullify(column, row)
        elif value is True:
            bits[row >> 3] |= 1 << (row & 7)
        elif value is not False:
            raise _Mismatch
    return 0


cdef int _texts(Column *column, list rows, Py_ssize_t field, bint are_texts) except -1:
    cdef int32_t *ends = <int32_t *>_buffer(column, 1, (column.length + 1) * sizeof(int32_t))
    cdef Py_ssize_t room = 16 * column.length + 64, size = 0, row, length
    cdef char *content = <char *>_buffer(column, 2, room)
    cdef const char *text = NULL
    for row in range(column.length):
        value = rows[row][field]
        length = 0
        if value is None:
            _nullify(column, row)
        elif are_texts and PyUnicode_CheckExact(value):
            try:
                text = PyUnicode_AsUTF8AndSize(value, &length)
            except UnicodeEncodeError:
                raise _Mismatch
        elif not are_texts and PyBytes_CheckExact(value):
            text, length = PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        else:
            raise _Mismatch
        if size + length > room:
            if size + length > MOST_BYTES:
                raise _Mismatch
            room = (size + length) * 3 // 2
            content = <char *>realloc(content, room)
            if content is NULL:
                raise MemoryError
            column.buffers[2] = content
        if length:
            memcpy(content + size, text, length)
        size += length
        ends[row + 1] = <int32_t>size
    return 0
