"""Writes JSON texts as contiguous lines in Java's text of their values, in one loop."""

from libc.stdio cimport sprintf
from libc.stdlib cimport atoi

include "json_text.pxi"

cdef enum:
    LONGEST_FLOAT = 26  # of Java's texts
    LEAST_EXPONENT = -3  # floats from 1e-3 to 1e7 are printed without one
    MOST_EXPONENT = 6


def write_lines(
    size_t content, size_t offsets, Py_ssize_t count, size_t out, Py_ssize_t growth, size_t ends, size_t sure
):
    """Write Java's lines for ``count`` JSON texts, filling ``ends`` and ``sure`` as `Rewriter.write` does.

    ``out`` must have room for one more byte per comma and for ``growth`` bytes, by which floats may get longer. Returns
    the number of bytes written.
    """
    cdef const uint8_t *text = <const uint8_t *>content
    cdef const int64_t *start = <const int64_t *>offsets
    cdef int32_t *end = <int32_t *>ends
    cdef uint8_t *is_sure = <uint8_t *>sure
    cdef uint8_t *begin = <uint8_t *>out
    cdef uint8_t *at = begin
    cdef uint8_t *found
    cdef Py_ssize_t row
    end[0] = 0
    for row in range(count):
        found = write_line(text + start[row], text + start[row + 1], at, &growth)
        is_sure[row] = found != NULL
        at = at if found == NULL else found
        end[row + 1] = <int32_t>(at - begin)
    return at - begin


cdef uint8_t *write_line(const uint8_t *at, const uint8_t *end, uint8_t *out, Py_ssize_t *growth) except? NULL:
    """Write one line; return where it ends, NULL if its text is not supported here or grows too long."""
    cdef const uint8_t *behind
    cdef const uint8_t *last
    cdef uint8_t *written
    cdef uint8_t byte
    if at == end:
        return NULL
    while at < end:
        byte = at[0]
        at += 1
        if byte == 0x22:
            behind = past_string(at, end, True)
            if behind == NULL:
                return NULL
            out = write_unescaped(at, behind, out)
            at = behind + 1
        elif byte == 0x2D or is_digit(byte):
            behind = past_number(at - 1, end, &last, True)
            if behind != NULL:
                memcpy(out, at - 1, last + 1 - at)
                out += last + 1 - at
            else:
                behind = past_fraction(at - 1, end)
                if behind == NULL or growth[0] < LONGEST_FLOAT:
                    return NULL
                written = write_float(at - 1, behind, out)
                if written == NULL:
                    return NULL
                growth[0] -= max(0, (written - out) - (behind + 1 - at))
                out = written
            at = behind
        elif byte == 0x3A:
            out[0] = 0x3D
            out += 1
        elif byte == 0x2C:
            out[0], out[1] = 0x2C, 0x20
            out += 2
        elif 0x61 <= byte <= 0x7A or byte == 0x7B or byte == 0x7D or byte == 0x5B or byte == 0x5D:
            if byte == 0x7B and end - at > 1 and at[1] == 0x40:
                return NULL
            out[0] = byte
            out += 1
        else:
            return NULL
    return out


cdef uint8_t *write_float(const uint8_t *start, const uint8_t *end, uint8_t *out) except? NULL:
    """Write Java's text of a number's 64-bit float; return where it ends, NULL if it is infinite."""
    cdef char *text = shortest(start, end)
    try:
        return write_java_float(<const uint8_t *>text, out)
    finally:
        PyMem_Free(text)


cdef uint8_t *write_java_float(const uint8_t *text, uint8_t *out) noexcept:
    """Write Java's text of a float, given Python's; return where it ends, NULL if it is infinite."""
    cdef uint8_t digits[LONGEST_FLOAT]
    cdef int count = 0, whole = 0, exponent, units, number
    cdef bint has_exponent
    if text[0] == 0x2D:
        out[0] = 0x2D
        out, text = out + 1, text + 1
    if not is_digit(text[0]):
        return NULL
    while is_digit(text[0]):
        if count or text[0] != 0x30:
            digits[count] = text[0]
            count, whole = count + 1, whole + 1
        text += 1
    if text[0] == 0x2E:
        text += 1
        while is_digit(text[0]):
            if count or text[0] != 0x30:
                digits[count] = text[0]
                count += 1
            else:
                whole -= 1
            text += 1
    if text[0] == 0x65:
        whole += atoi(<const char *>text + 1)
    while count and digits[count - 1] == 0x30:
        count -= 1
    if count == 0:
        memcpy(out, b"0.0", 3)
        return out + 3
    exponent = whole - 1
    has_exponent = not LEAST_EXPONENT <= exponent <= MOST_EXPONENT
    units = 0 if has_exponent else exponent
    number = min(units, 0)
    while number < count or number <= units + 1:
        out[0] = digits[number] if 0 <= number < count else 0x30
        out += 1
        if number == units:
            out[0] = 0x2E
            out += 1
        number += 1
    if has_exponent:
        out += sprintf(<char *>out, b"E%d", exponent)
    return out


cdef uint8_t *write_unescaped(const uint8_t *at, const uint8_t *end, uint8_t *out) noexcept:
    """Write a string whose escapes are single letters; return where it ends."""
    cdef uint8_t byte
    while at < end:
        byte = at[0]
        if byte == 0x5C:
            at += 1
            byte = at[0]
            if byte == 0x6E:
                byte = 0x0A
            elif byte == 0x74:
                byte = 0x09
            elif byte == 0x72:
                byte = 0x0D
            elif byte == 0x62:
                byte = 0x08
            elif byte == 0x66:
                byte = 0x0C
        out[0] = byte
        out += 1
        at += 1
    return out
