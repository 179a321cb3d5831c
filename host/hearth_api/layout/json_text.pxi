# Scans JSON texts, for loops that rewrite them. NULL means that a text is not supported here.

from cpython.mem cimport PyMem_Free
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, strlen

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, PyObject *overflow) except? -1.0
    char *PyOS_double_to_string(double value, char format, int precision, int flags, int *kind) except NULL

cdef enum:
    SURE_DIGITS = 15  # a fraction of at most this many is the shortest text of its 64 bits
    WHOLE_DIGITS = 19  # of the largest 64-bit integers
    PRINTED_DIGITS = 7  # at most this many before the point in Java; longer ones get an exponent
    LONGEST_NUMBER = 100
    EXPONENT_DIGITS = 2
    WITH_POINT = 2  # Py_DTSF_ADD_DOT_0


cdef uint64_t EACH = 0x0101010101010101, HIGH = 0x8080808080808080


cdef inline bint is_space(uint8_t byte) noexcept:
    return byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09


cdef inline const uint8_t *past_space(const uint8_t *at, const uint8_t *end) noexcept:
    while at < end and is_space(at[0]):
        at += 1
    return at


cdef inline bint is_digit(uint8_t byte) noexcept:
    return 0x30 <= byte <= 0x39


cdef inline const uint8_t *past_word(const uint8_t *at, const uint8_t *end) noexcept:
    """Return where `true`, `false` or `null` ends; NULL if none of them is there."""
    cdef size_t length = 5 if at[0] == 0x66 else 4
    if <size_t>(end - at) < length:
        return NULL
    if memcmp(at, b"true", length) and memcmp(at, b"null", length) and memcmp(at, b"false", length):
        return NULL
    return at + length


cdef inline bint is_letter_of_escape(uint8_t byte) noexcept:
    """Return whether Python writes an escape with this byte after the backslash: of `"\\nrtbf`."""
    return (
        byte == 0x22 or byte == 0x5C or byte == 0x6E or byte == 0x72 or byte == 0x74 or byte == 0x62 or byte == 0x66
    )


cdef inline uint64_t has_byte(uint64_t word, uint64_t byte) noexcept:
    """Return a number other than 0 if one of eight bytes is the given one."""
    word ^= byte * EACH
    return (word - EACH) & ~word & HIGH


cdef inline const uint8_t *past_plain(const uint8_t *at, const uint8_t *end, bint is_utf8) noexcept:
    """Return a position in a string up to which no byte ends it, escapes or is unsupported, eight bytes at a time."""
    cdef uint64_t word, refused = 0 if is_utf8 else HIGH
    while end - at >= 8:
        memcpy(&word, at, 8)
        if has_byte(word, 0x22) | has_byte(word, 0x5C) | ((word - 0x20 * EACH) & ~word & HIGH) | (word & refused):
            break
        at += 8
    return at


cdef const uint8_t *past_string(const uint8_t *at, const uint8_t *end, bint is_utf8) noexcept:
    """Return the position of a string's closing quote, given that after its opening one; NULL if not supported
    here."""
    cdef uint8_t byte
    at = past_plain(at, end, is_utf8)
    while at < end:
        byte = at[0]
        if byte == 0x22:
            return at
        if byte < 0x20 or (byte >= 0x80 and not is_utf8):
            return NULL
        if byte == 0x5C:
            at += 1
            if at == end:
                return NULL
            if not is_letter_of_escape(at[0]):
                return NULL
        at += 1
    return NULL


cdef inline bint is_beyond_int64(const uint8_t *first, const uint8_t *end, bint is_negative) noexcept:
    """Return whether the integer of these digits, the first of which is not 0, exceeds 64 bits."""
    if end - first != WHOLE_DIGITS:
        return end - first > WHOLE_DIGITS
    return memcmp(first, b"9223372036854775808" if is_negative else b"9223372036854775807", WHOLE_DIGITS) > 0


cdef const uint8_t *past_number(
    const uint8_t *start, const uint8_t *end, const uint8_t **last, bint is_printed
) except? NULL:
    """Return where a number ends; set ``last`` to the end of the part that Python writes, or Java prints.

    NULL if that part is not a prefix of its text.
    """
    cdef const uint8_t *first = start + (start[0] == 0x2D)
    cdef const uint8_t *at = first
    cdef const uint8_t *point
    cdef int zeros = 0
    while at < end and is_digit(at[0]):
        at += 1
    if at == first or (first[0] == 0x30 and at - first > 1):
        return NULL
    point = at
    last[0] = at
    if at < end and at[0] == 0x2E:
        at += 1
        while at < end and is_digit(at[0]):
            at += 1
        if at == point + 1 or at - start > LONGEST_NUMBER:
            return NULL
        last[0] = at
        while last[0] > point + 2 and last[0][-1] == 0x30:
            last[0] -= 1
        if first[0] == 0x30:
            while point + zeros + 1 < last[0] and point[zeros + 1] == 0x30:
                zeros += 1
            if zeros > (2 if is_printed else 3) or (first != start and point + zeros + 1 == last[0]):
                return NULL
        if is_printed and point - first > PRINTED_DIGITS:
            return NULL
        if last[0] - first > SURE_DIGITS + 1 and not is_shortest(start, last[0]):
            return NULL
    elif (first != start and first[0] == 0x30) or (not is_printed and is_beyond_int64(first, at, first != start)):
        return NULL
    if at < end and (at[0] | 0x20) == 0x65:
        return NULL
    return at


cdef const uint8_t *past_fraction(const uint8_t *start, const uint8_t *end) noexcept:
    """Return where a number with a point or an exponent ends; NULL if it is invalid, or Jackson may reject it."""
    cdef const uint8_t *first = start + (start[0] == 0x2D)
    cdef const uint8_t *at = first
    cdef const uint8_t *part
    while at < end and is_digit(at[0]):
        at += 1
    if at == first or (first[0] == 0x30 and at - first > 1):
        return NULL
    part = at
    if at < end and at[0] == 0x2E:
        at += 1
        while at < end and is_digit(at[0]):
            at += 1
        if at == part + 1:
            return NULL
    if at < end and (at[0] | 0x20) == 0x65:
        at += 1
        if at < end and (at[0] == 0x2B or at[0] == 0x2D):
            at += 1
        part = at
        while at < end and is_digit(at[0]):
            at += 1
        if not 0 < at - part <= EXPONENT_DIGITS:
            return NULL
    if at == part or at - start > LONGEST_NUMBER:
        return NULL
    return at


cdef char *shortest(const uint8_t *start, const uint8_t *end) except NULL:
    """Return Python's text of a number's 64-bit float; the caller frees it."""
    cdef char text[LONGEST_NUMBER + 1]
    memcpy(text, start, end - start)
    text[end - start] = 0
    return PyOS_double_to_string(PyOS_string_to_double(text, NULL, NULL), b"r", 0, WITH_POINT, NULL)


cdef bint is_shortest(const uint8_t *start, const uint8_t *end) except -1:
    """Return whether Python writes a number with the same text."""
    cdef char *found = shortest(start, end)
    cdef size_t length = end - start
    try:
        return strlen(found) == length and memcmp(found, start, length) == 0
    finally:
        PyMem_Free(found)
