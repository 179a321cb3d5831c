"""Loops over fetched messages, compiled, without the GIL.

All arguments except row counts are addresses, of int64 arrays unless stated otherwise.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef enum:
    LONGEST = 35  # bits of the longest 32-bit number, seven per byte


def copy_pieces(size_t addresses, size_t sizes, size_t rows, size_t ends, size_t content):
    """Copy pieces consecutively to ``content``, and the end of each row to ``ends`` (int32).

    Returns the number of rows without a piece: their address is 0.
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
    """Write the number of headers of each block to ``counts``; return their sum, -1 for a malformed block."""
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
                # a header has at least two bytes
                if at == NULL or count[row] < 0 or count[row] > size[row] // 2:
                    total = -1
                    break
                total += count[row]
    return total


def find_headers(
    size_t blocks, size_t sizes, size_t rows, size_t counts,
    size_t names, size_t name_sizes, size_t values, size_t value_sizes,
):
    """Write the addresses and sizes of all names and values; the address of a null value is 0.

    Returns 1 if all rows have the header names of the first one, else 0; -1 for a malformed block.
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
    """Read a length, ``least`` or more, and its piece; return the next place, NULL if malformed."""
    at = _number(at, end, size)
    if at == NULL or size[0] < least or size[0] > end - at:
        return NULL
    place[0] = <int64_t>at
    if size[0] < 0:
        place[0] = size[0] = 0
    return at + size[0]


cdef const uint8_t *_number(const uint8_t *at, const uint8_t *end, int64_t *found) noexcept nogil:
    """Read a variable-length zigzag number; return the next place, NULL if it does not end in time."""
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
