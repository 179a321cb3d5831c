"""Loops over what librdkafka has fetched, each made without the interpreter and without its lock.

All arguments but numbers of rows are addresses, those of arrays of 64-bit numbers where nothing else is said.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef enum:
    LONGEST = 35  # bits of the longest number of 32 bits, seven in a byte


def copy_pieces(size_t addresses, size_t sizes, size_t rows, size_t ends, size_t content):
    """Copy pieces one behind the other to ``content``, and to ``ends`` (of 32 bits) where each row is over.

    Returns how many rows have none: their address is 0.
    """
    cdef int64_t *address = <int64_t *>addresses
    cdef int64_t *size = <int64_t *>sizes
    cdef int32_t *end = <int32_t *>ends
    cdef uint8_t *begin = <uint8_t *>content
    cdef int64_t at = 0
    cdef size_t row, absent = 0
    with nogil:
        for row in range(rows):
            if address[row] == 0:
                absent += 1
            else:
                memcpy(begin + at, <void *>address[row], size[row])
                at += size[row]
            end[row] = <int32_t>at
    return absent


def count_headers(size_t blocks, size_t sizes, size_t rows, size_t counts):
    """Note how many headers each block has, one of no size none; returns how many all have, -1 for nonsense."""
    cdef int64_t *block = <int64_t *>blocks
    cdef int64_t *size = <int64_t *>sizes
    cdef int64_t *count = <int64_t *>counts
    cdef const uint8_t *at
    cdef int64_t total = 0
    cdef size_t row
    with nogil:
        for row in range(rows):
            count[row] = 0
            if size[row]:
                at = <const uint8_t *>block[row]
                at = _number(at, at + size[row], &count[row])
                # a header has two bytes at least
                if at == NULL or count[row] < 0 or count[row] > size[row] // 2:
                    total = -1
                    break
                total += count[row]
    return total


def find_headers(
    size_t blocks, size_t sizes, size_t rows, size_t counts,
    size_t names, size_t name_sizes, size_t values, size_t value_sizes,
):
    """Note where the names and the values of all headers are, and their sizes: a value that is none is at 0.

    Returns 1 where all rows have as many headers as the first one, and of the same names, else 0; -1 for nonsense.
    """
    cdef int64_t *block = <int64_t *>blocks
    cdef int64_t *size = <int64_t *>sizes
    cdef int64_t *count = <int64_t *>counts
    cdef int64_t *name = <int64_t *>names
    cdef int64_t *name_size = <int64_t *>name_sizes
    cdef int64_t *value = <int64_t *>values
    cdef int64_t *value_size = <int64_t *>value_sizes
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef int64_t number, header
    cdef size_t row, place = 0
    cdef int alike = 1
    with nogil:
        for row in range(rows):
            if count[row] != count[0]:
                alike = 0
            at = <const uint8_t *>block[row]
            end = at + size[row]
            if size[row]:
                at = _number(at, end, &number)
            for header in range(count[row]):
                at = _piece(at, end, 0, &name[place], &name_size[place])
                if at != NULL:
                    at = _piece(at, end, -1, &value[place], &value_size[place])
                if at == NULL:
                    break
                if alike and (
                    name_size[place] != name_size[header]
                    or memcmp(<void *>name[place], <void *>name[header], name_size[place])
                ):
                    alike = 0
                place += 1
            if at != end:
                alike = -1
                break
    return alike


cdef const uint8_t *_piece(
    const uint8_t *at, const uint8_t *end, int64_t least, int64_t *place, int64_t *size
) noexcept nogil:
    """Read a length, ``least`` or more, and what it is the length of; returns the place behind, NULL for nonsense."""
    at = _number(at, end, size)
    if at == NULL or size[0] < least or size[0] > end - at:
        return NULL
    place[0] = <int64_t>at
    if size[0] < 0:
        place[0] = size[0] = 0
    return at + size[0]


cdef const uint8_t *_number(const uint8_t *at, const uint8_t *end, int64_t *found) noexcept nogil:
    """Read a number of variable length, zigzag; returns the place behind, NULL where it does not end in time."""
    cdef uint64_t number = 0
    cdef int shift = 0
    while at < end and shift < LONGEST:
        number |= <uint64_t>(at[0] & 0x7F) << shift
        if at[0] <= 0x7F:
            found[0] = <int64_t>(number >> 1) ^ -<int64_t>(number & 1)
            return at + 1
        shift += 7
        at += 1
    return NULL
