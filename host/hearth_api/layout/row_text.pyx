"""Writes the values of columns as JSON texts, row by row in one loop, for any nesting.

Columns are passed through Arrow's C data interface, all parts of one in a single call.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_DECREF, Py_XDECREF, PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    char *PyOS_double_to_string(double value, char format, int precision, int flags, int *kind) except NULL
    int ADD_DOT_0 "Py_DTSF_ADD_DOT_0"
    PyObject *PyBytes_FromStringAndSize_ "PyBytes_FromStringAndSize" (const char *text, Py_ssize_t size)
    int _PyBytes_Resize(PyObject **bytes, Py_ssize_t size) except -1

cdef struct Column:  # struct ArrowArray
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    Column **children
    Column *dictionary
    void (*release)(Column *) noexcept
    void *private_data

cdef struct Piece:
    const char *text
    Py_ssize_t size

cdef struct Node:
    int kind
    int first  # index of its first member; of a known text, its own index
    int count
    Piece before  # text before it in the enclosing value
    Piece null  # no text if nulls are not allowed
    PyObject *rare

cdef enum:
    DIGITS = 20  # the longest 64-bit number, with its sign
    MOST_BYTES = 0x7FFFFFFF

cdef enum:
    _INT8, _INT16, _INT32, _INT64, _BOOLEAN, _FLOAT64, _STRING, _STRUCT, _ARRAY, _MAP, _TEXT, _BARE, _NOTHING

cdef dict _KINDS = {
    "INT8": _INT8, "INT16": _INT16, "INT32": _INT32, "INT64": _INT64, "BOOLEAN": _BOOLEAN, "FLOAT64": _FLOAT64,
    "STRING": _STRING, "STRUCT": _STRUCT, "ARRAY": _ARRAY, "MAP": _MAP, "TEXT": _TEXT, "BARE": _BARE,
    "NOTHING": _NOTHING,
}
cdef const char *HEX = "0123456789ABCDEF"


class _Unwritable(Exception):
    """A null is not allowed here, or the texts exceed one column."""


cdef class _Sheet:
    """The text written for one column, in a growing buffer."""

    cdef PyObject *content
    cdef char *begin
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef Node *nodes
    cdef Column *others

    def __dealloc__(self):
        Py_XDECREF(self.content)

    cdef int open(self, Py_ssize_t room, Node *nodes, Column *others) except -1:
        if room > MOST_BYTES:
            raise _Unwritable
        self.content = PyBytes_FromStringAndSize_(NULL, room)
        if self.content is NULL:
            raise MemoryError
        self.begin, self.room, self.nodes, self.others = PyBytes_AS_STRING(<object>self.content), room, nodes, others
        return 0

    cdef bytes close(self):
        """Return what was written, without copying."""
        cdef bytes content
        _PyBytes_Resize(&self.content, self.size)
        content = <bytes>self.content
        Py_DECREF(content)
        self.content = NULL
        return content

    cdef int value(self, Node *node, Column *column, Py_ssize_t row, Py_ssize_t number) except -1:
        """Write the value in a row of a column; ``number`` is the row of the whole value."""
        cdef Py_ssize_t at = row + column.offset
        cdef const int32_t *ends
        cdef int member
        if column.null_count != 0 and column.buffers[0] is not NULL and not _bit(column.buffers[0], at):
            if node.null.text is NULL:
                raise _Unwritable
            return self.copy(node.null)
        if node.kind == _STRUCT:
            if not node.count:
                self._byte(b"{")
            for member in range(node.count):
                self.copy(self.nodes[node.first + member].before)
                self.value(&self.nodes[node.first + member], column.children[member], at, number)
            return self._byte(b"}")
        if node.kind == _STRING:
            ends = <const int32_t *>column.buffers[1] + at
            return self._quoted(<const uint8_t *>column.buffers[2] + ends[0], ends[1] - ends[0])
        if node.kind == _INT64:
            return self._integer((<const int64_t *>column.buffers[1])[at])
        if node.kind == _INT32:
            return self._integer((<const int32_t *>column.buffers[1])[at])
        if node.kind == _INT16:
            return self._integer((<const int16_t *>column.buffers[1])[at])
        if node.kind == _INT8:
            return self._integer((<const int8_t *>column.buffers[1])[at])
        if node.kind == _BOOLEAN:
            return self.copy(_TRUE if _bit(column.buffers[1], at) else _FALSE)
        if node.kind == _FLOAT64:
            return self._fraction(node, (<const double *>column.buffers[1])[at])
        if node.kind == _TEXT:
            column = &self.others[node.first]
            ends = <const int32_t *>column.buffers[1] + column.offset + number
            return self._put_bytes(<const char *>column.buffers[2] + ends[0], ends[1] - ends[0])
        ends = <const int32_t *>column.buffers[1] + at
        return self._elements(node, column.children[0], ends[0], ends[1], number)

    cdef int packed(self, Node *node, _Row row) except -1:
        """Write a packed value, in the order of its parts (see `row_pack`)."""
        cdef int member
        cdef Py_ssize_t size
        cdef double fraction
        if node.kind == _STRUCT:
            if not node.count:
                self._byte(b"{")
            for member in range(node.count):
                self.copy(self.nodes[node.first + member].before)
                self._packed_part(&self.nodes[node.first + member], row)
            return self._byte(b"}")
        if node.kind == _STRING or node.kind == _BARE:
            size = row.count()
            if node.kind == _STRING:
                return self._quoted(row.text(size), size)
            return self._put_bytes(<const char *>row.text(size), size)
        if node.kind == _BOOLEAN:
            return self.copy(_TRUE if row.take(1)[0] else _FALSE)
        if node.kind == _FLOAT64:
            memcpy(&fraction, row.take(8), 8)
            return self._fraction(node, fraction)
        if node.kind == _ARRAY or node.kind == _MAP:
            return self._packed_elements(node, row)
        return self._integer(row.integer(node.kind))

    cdef int _packed_part(self, Node *node, _Row row) except -1:
        """Write a part of a packed value, which a presence byte precedes."""
        if row.take(1)[0]:
            return self.packed(node, row)
        if node.null.text is NULL:
            raise _Unwritable
        return self.copy(node.null)

    cdef int _packed_elements(self, Node *node, _Row row) except -1:
        cdef Py_ssize_t number
        self._byte(b"[" if node.kind == _ARRAY else b"{")
        for number in range(row.count()):
            if number:
                self._byte(b",")
            self._packed_part(&self.nodes[node.first], row)
            if node.kind == _MAP:
                self._byte(b":")
                self._packed_part(&self.nodes[node.first + 1], row)
        return self._byte(b"]" if node.kind == _ARRAY else b"}")

    cdef int _elements(
        self, Node *node, Column *entries, Py_ssize_t start, Py_ssize_t end, Py_ssize_t number
    ) except -1:
        """Write the elements of an array from one row to another, or the entries of a map."""
        cdef Py_ssize_t row
        self._byte(b"[" if node.kind == _ARRAY else b"{")
        for row in range(start, end):
            if row > start:
                self._byte(b",")
            if node.kind == _ARRAY:
                self.value(&self.nodes[node.first], entries, row, number)
                continue
            self.value(&self.nodes[node.first], entries.children[0], row + entries.offset, number)
            self._byte(b":")
            self.value(&self.nodes[node.first + 1], entries.children[1], row + entries.offset, number)
        return self._byte(b"]" if node.kind == _ARRAY else b"}")

    cdef int _integer(self, int64_t number) except -1:
        cdef unsigned long long rest = 0 - <unsigned long long>number if number < 0 else <unsigned long long>number
        cdef char digits[DIGITS]
        cdef int first = DIGITS
        if number < 0:
            self._byte(b"-")
        while True:
            first -= 1
            digits[first] = <char>(48 + rest % 10)
            rest //= 10
            if rest == 0:
                break
        return self._put_bytes(digits + first, DIGITS - first)

    cdef int _fraction(self, Node *node, double number) except -1:
        """Write a number as Java does: those without exponent are the same in Python."""
        cdef double size = fabs(number)
        cdef char *text
        cdef bytes rare
        if size == 0.0 or (1e-3 <= size < 1e7):
            text = PyOS_double_to_string(number, b"r", 0, ADD_DOT_0, NULL)
            try:
                return self._put_bytes(text, len(text))
            finally:
                PyMem_Free(text)
        rare = (<object>node.rare)(number).encode()
        return self.copy(_piece(rare))

    cdef int _quoted(self, const uint8_t *text, Py_ssize_t size) except -1:
        """Write a text in quotes, escaped as Jackson does."""
        cdef Py_ssize_t done = 0, at = 0
        cdef uint8_t letter
        self._byte(b'"')
        while at < size:
            letter = text[at]
            if 0x20 <= letter < 0xF0 and letter != 0x22 and letter != 0x5C:
                at += 1
                continue
            self._put_bytes(<const char *>text + done, at - done)
            if letter < 0xF0:
                self._escape(letter)
                at += 1
            elif size - at >= 4:
                self._pair(text + at)
                at += 4
            else:
                break
            done = at
        self._put_bytes(<const char *>text + done, size - done)
        return self._byte(b'"')

    cdef int _escape(self, uint8_t letter) except -1:
        cdef char short = 0
        if letter == 0x22 or letter == 0x5C:
            short = <char>letter
        elif letter == 0x08:
            short = b"b"
        elif letter == 0x09:
            short = b"t"
        elif letter == 0x0A:
            short = b"n"
        elif letter == 0x0C:
            short = b"f"
        elif letter == 0x0D:
            short = b"r"
        if not short:
            return self._unit(letter)
        self._byte(b"\\")
        return self._byte(short)

    cdef int _pair(self, const uint8_t *text) except -1:
        """Write a character beyond the Basic Multilingual Plane as two escaped surrogates."""
        cdef unsigned int code = (
            (text[0] & 0x07) << 18 | (text[1] & 0x3F) << 12 | (text[2] & 0x3F) << 6 | (text[3] & 0x3F)
        ) - 0x10000
        self._unit(0xD800 + (code >> 10))
        return self._unit(0xDC00 + (code & 0x3FF))

    cdef int _unit(self, unsigned int code) except -1:
        self._put_bytes(b"\\u", 2)
        self._byte(HEX[code >> 12 & 15])
        self._byte(HEX[code >> 8 & 15])
        self._byte(HEX[code >> 4 & 15])
        return self._byte(HEX[code & 15])

    cdef inline int _byte(self, char letter) except -1:
        if self.size == self.room:
            self._grow(1)
        self.begin[self.size] = letter
        self.size += 1
        return 0

    cdef inline int copy(self, Piece piece) except -1:
        return self._put_bytes(piece.text, piece.size)

    cdef inline int _put_bytes(self, const char *text, Py_ssize_t size) except -1:
        if size > self.room - self.size:
            self._grow(size)
        if size:
            memcpy(self.begin + self.size, text, size)
        self.size += size
        return 0

    cdef int _grow(self, Py_ssize_t size) except -1:
        if self.size + size > MOST_BYTES:
            raise _Unwritable
        self.room = (self.size + size) * 3 // 2
        _PyBytes_Resize(&self.content, self.room)
        self.begin = PyBytes_AS_STRING(<object>self.content)
        return 0


cdef class _Row:
    """A packed row; never read past its end."""

    cdef const uint8_t *at
    cdef const uint8_t *end

    cdef const uint8_t *take(self, Py_ssize_t size) except NULL:
        if size > self.end - self.at:
            raise _Unwritable
        self.at += size
        return self.at - size

    cdef Py_ssize_t count(self) except -1:
        cdef uint32_t count
        memcpy(&count, self.take(4), 4)
        return count

    cdef const uint8_t *text(self, Py_ssize_t size) except NULL:
        """Read an untrusted text."""
        cdef const uint8_t *text = self.take(size)
        cdef Py_ssize_t at = 0
        while at < size and text[at] < 0x80:
            at += 1
        if at < size:
            try:
                PyUnicode_DecodeUTF8(<const char *>text, size, NULL)
            except UnicodeDecodeError:
                raise _Unwritable
        return text

    cdef int64_t integer(self, int kind) except? -1:
        if kind == _INT64:
            return (<const int64_t *>self.take(8))[0]
        if kind == _INT32:
            return (<const int32_t *>self.take(4))[0]
        if kind == _INT16:
            return (<const int16_t *>self.take(2))[0]
        if kind == _INT8:
            return (<const int8_t *>self.take(1))[0]
        raise _Unwritable


cdef class RowTexts:
    """Writes columns of values that have the same parts, or packed rows of them (`packed_texts`).

    A part is a tuple of its kind, the bytes for a null (``None`` if nulls are not allowed), its members and the
    function that writes a special ``FLOAT64``. Kinds are named like the types of schemas; ``TEXT`` is already written
    text. The member of a struct is a tuple of the bytes before it and a part, any other member is a part. The first of
    a ``MAP`` writes texts. Packed rows may be ``BARE`` texts, without quotes, or ``NOTHING`` but nulls; a whole row
    for which no bytes stand is null.
    """

    cdef Node *_nodes
    cdef int _count
    cdef Piece _opening
    cdef Piece _closing
    cdef Py_ssize_t _fixed
    cdef list _kept

    def __cinit__(self, bytes opening, tuple part, bytes closing):
        self._kept = [part, opening, closing]
        self._opening, self._closing = _piece(opening), _piece(closing)
        self._nodes = <Node *>PyMem_Malloc(_number_of(part) * sizeof(Node))
        if self._nodes is NULL:
            raise MemoryError
        self._count = 1
        self._fixed = len(opening) + len(closing)
        self._nodes[0].before = _piece(b"")
        self._put(0, part, 0)

    def __dealloc__(self):
        PyMem_Free(self._nodes)

    cdef int _put(self, int place, tuple part, int texts) except -1:
        """Record a part and its members; return the number of texts so far."""
        cdef Node *node = &self._nodes[place]
        cdef object null = part[1], members = part[2]
        cdef int number
        node.kind = _KINDS[part[0]]
        node.null.text, node.null.size = NULL, 0
        if null is not None:
            node.null = _piece(null)
        node.rare = <PyObject *>part[3] if len(part) > 3 else NULL
        node.first, node.count = self._count, len(members)
        self._count += node.count
        if node.kind == _TEXT:
            node.first = texts
            return texts + 1
        self._fixed += 12
        for number, member in enumerate(members):
            before = b""
            if node.kind == _STRUCT:
                before, member = member
            self._nodes[node.first + number].before = _piece(before)
            self._fixed += len(before)
            texts = self._put(node.first + number, member, texts)
        return texts

    def write(self, object column, list texts):
        """Return the texts of the rows of a column and their offsets (0 and each end, 32 bits); else ``None``.

        ``texts`` are columns of texts without nulls, in the order of their parts. Returns ``None`` if a null is not
        allowed, or the texts exceed one column.
        """
        cdef Column root
        cdef Column *others = <Column *>PyMem_Malloc(max(1, len(texts)) * sizeof(Column))
        cdef int exported = -1
        cdef Py_ssize_t row, room
        cdef const int32_t *starts
        cdef int32_t *end
        cdef _Sheet sheet = _Sheet()
        if others is NULL:
            raise MemoryError
        try:
            column._export_to_c(<size_t>&root)
            exported = 0
            room = root.length * self._fixed + self._bytes_of(0, &root) + 64
            for text in texts:
                text._export_to_c(<size_t>&others[exported])
                if root.length:
                    starts = <const int32_t *>others[exported].buffers[1] + others[exported].offset
                    room += starts[root.length] - starts[0]
                exported += 1
            sheet.open(room, self._nodes, others)
            ends = PyBytes_FromStringAndSize(NULL, 4 * (root.length + 1))
            end = <int32_t *>PyBytes_AS_STRING(ends)
            end[0] = 0
            for row in range(root.length):
                sheet.copy(self._opening)
                sheet.value(self._nodes, &root, row, row)
                sheet.copy(self._closing)
                end[row + 1] = <int32_t>sheet.size
            return sheet.close(), ends
        except _Unwritable:
            return None
        finally:
            if exported >= 0:
                root.release(&root)
            while exported > 0:
                exported -= 1
                others[exported].release(&others[exported])
            PyMem_Free(others)

    cdef Py_ssize_t _bytes_of(self, int place, Column *column):
        """Return the number of bytes in the texts of a struct, without those in lists."""
        cdef Node *node = &self._nodes[place]
        cdef const int32_t *starts
        cdef Py_ssize_t size = 0
        cdef int number
        if node.kind == _STRING and column.length:
            starts = <const int32_t *>column.buffers[1] + column.offset
            size = starts[column.length] - starts[0]
        elif node.kind == _STRUCT:
            for number in range(node.count):
                size += self._bytes_of(node.first + number, column.children[number])
        return size



def packed_texts(list writers, object codes, object order, object column):
    """Return the texts of packed rows, a binary column, in a given order; ``None`` if a null is not allowed.

    ``codes`` are the 32-bit indexes of rows' writers, ``order`` the 64-bit indexes of rows. Returns the bytes of the
    texts, the offsets (0 and each end, 32 bits), and a validity bit for each text, or none if no text is null.
    """
    cdef const int32_t[::1] code = codes
    cdef const int64_t[::1] places = order
    cdef Py_ssize_t number, at, room, count = len(places)
    cdef Column rows
    cdef const int32_t *starts
    cdef int32_t *end
    cdef uint8_t *bits
    cdef RowTexts writer
    cdef _Row row = _Row()
    cdef _Sheet sheet = _Sheet()
    cdef object valid = None
    ends = PyBytes_FromStringAndSize(NULL, 4 * (count + 1))
    end = <int32_t *>PyBytes_AS_STRING(ends)
    end[0] = 0
    column._export_to_c(<size_t>&rows)
    try:
        starts = <const int32_t *>rows.buffers[1] + rows.offset
        room = 2 * (<Py_ssize_t>starts[rows.length] - starts[0]) + 64
        for number in range(code.shape[0]):
            room += (<RowTexts?>writers[code[number]])._fixed
        sheet.open(min(room, MOST_BYTES), NULL, NULL)
        for number in range(count):
            at = places[number]
            if not 0 <= at < rows.length or at >= code.shape[0]:
                raise IndexError(at)
            writer = <RowTexts?>writers[code[at]]
            sheet.nodes = writer._nodes
            if rows.null_count != 0 and rows.buffers[0] is not NULL and not _bit(rows.buffers[0], at + rows.offset):
                if writer._nodes.null.text is NULL:
                    raise _Unwritable
                if writer._nodes.null.size:
                    sheet.copy(writer._opening)
                    sheet.copy(writer._nodes.null)
                    sheet.copy(writer._closing)
                else:
                    if valid is None:
                        valid = PyBytes_FromStringAndSize(NULL, (count + 7) // 8)
                        memset(PyBytes_AS_STRING(valid), 0xFF, (count + 7) // 8)
                    bits = <uint8_t *>PyBytes_AS_STRING(valid)
                    bits[number >> 3] &= ~(1 << (number & 7))
            else:
                row.at = <const uint8_t *>rows.buffers[2] + starts[at]
                row.end = <const uint8_t *>rows.buffers[2] + starts[at + 1]
                sheet.copy(writer._opening)
                sheet.packed(writer._nodes, row)
                sheet.copy(writer._closing)
                if row.at != row.end:
                    raise _Unwritable
            end[number + 1] = <int32_t>sheet.size
        return sheet.close(), ends, valid
    except _Unwritable:
        return None
    finally:
        rows.release(&rows)


cdef Piece _TRUE = _piece(b"true")
cdef Piece _FALSE = _piece(b"false")


cdef Piece _piece(bytes text):
    """Return the address of bytes that the caller keeps alive."""
    cdef Piece piece
    piece.text, piece.size = PyBytes_AS_STRING(text), len(text)
    return piece


cdef inline bint _bit(const void *bits, Py_ssize_t at):
    return (<const uint8_t *>bits)[at >> 3] >> (at & 7) & 1


cdef int _number_of(tuple part) except -1:
    cdef int count = 1
    for member in part[2]:
        count += _number_of(member[1] if part[0] == "STRUCT" else member)
    return count
