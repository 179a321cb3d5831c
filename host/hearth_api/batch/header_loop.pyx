"""Parses texts of headers as Kafka Connect does, in one loop.

It recognises what nearly every header is: words and identifiers, integers, decimals, truth values, nulls, days, JSON,
and timestamps where the machine's time zone is UTC. `scalar_text` does the same for one text.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef enum:
    DIGITS = 20
    MOST_DIGITS = 18  # an integer with at most this many digits fits 64 bits
    EXACT_DIGITS = 15  # integers of this many digits are exact as 64-bit floats
    EXACT_POWER = 22  # as are powers of ten up to this one

cdef enum:  # kinds of texts
    UNPARSED, TEXT, BYTE, SHORT, INT, LONG, FLOAT, DAY, MOMENT, TRUTH, NOTHING

cdef enum:  # kinds of characters
    OTHER = 1  # occurs in no number and in no first token of a date or time
    LETTER = 2
    OPENING = 4  # a text that starts with it may be something other than a string
    OF_DASHED = 8  # may surround dashes without starting a second token

cdef enum:
    FIRST_YEAR = 1583
    EPOCH = 719163  # 1970-01-01, with 0001-01-01 as day 1
    NO_DAY = 0x7FFFFFFF

cdef int *LENGTHS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
cdef int *BEFORE = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

ROOM = 32
"""The most bytes written for a text in excess of its own length."""

cdef uint8_t KINDS[256]
cdef double POWERS[EXACT_POWER + 1]


cdef void _prepare() noexcept:
    cdef int byte, power
    for byte in range(256):
        KINDS[byte] = 0
    for byte in range(0x21, 0x7F):
        if not is_digit(byte) and chr(byte) not in '+-:,{}[]"eE.\\':
            KINDS[byte] |= OTHER
        if is_digit(byte) or 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A:
            KINDS[byte] |= LETTER | OF_DASHED
        if chr(byte) in ".+-":
            KINDS[byte] |= OF_DASHED
    for byte in range(256):
        if byte <= 0x20 or byte >= 0x80 or is_digit(byte) or chr(byte) in "+-{[tfn":
            KINDS[byte] |= OPENING
    POWERS[0] = 1.0
    for power in range(EXACT_POWER):
        POWERS[power + 1] = POWERS[power] * 10.0


cdef inline bint is_digit(int byte) noexcept:
    return 0x30 <= byte <= 0x39


_prepare()

include "header_json.pxi"


def read_texts(
    size_t content, size_t offsets, Py_ssize_t count, size_t out, size_t ends, size_t kinds, size_t shapes,
    bint reads_moments
):
    """Parse ``count`` texts: write each one's kind to ``kinds``, and its text in a headers column to ``out``.

    Nothing is written for a text of kind 0, which is not recognised here, and for a null. ``ends`` gets 0 and the end
    of each; ``out`` has room for ``ROOM`` more bytes per text. Kinds of arrays and maps are numbered as they appear:
    ``shapes`` gets for each kind whether it is a map, then for each the kind of its values, 256 bytes each. Timestamps
    are read as in UTC if ``reads_moments``. Returns the number of bytes written.
    """
    cdef const uint8_t *text = <const uint8_t *>content
    cdef const int32_t *start = <const int32_t *>offsets
    cdef int32_t *end = <int32_t *>ends
    cdef uint8_t *kind = <uint8_t *>kinds
    cdef char *begin = <char *>out
    cdef char *at = begin
    cdef Py_ssize_t row
    cdef Shapes found
    memset(&found, 0, sizeof(Shapes))
    found.count = NOTHING
    end[0] = 0
    for row in range(count):
        kind[row] = read_text(text + start[row], text + start[row + 1], &at, &found, reads_moments)
        end[row + 1] = <int32_t>(at - begin)
    memcpy(<void *>shapes, found.is_map, MOST_SHAPES + 1)
    memcpy(<void *>(shapes + MOST_SHAPES + 1), found.items, MOST_SHAPES + 1)
    return at - begin


cdef int read_text(
    const uint8_t *text, const uint8_t *end, char **out, Shapes *shapes, bint reads_moments
) noexcept:
    """Return the kind of a text, and write its text in a headers column."""
    cdef int kind
    cdef const uint8_t *digits = text
    cdef const uint8_t *behind
    if text < end and KINDS[text[0]] & OPENING:
        if text[0] == c"t" or text[0] == c"f" or text[0] == c"n":
            if end - text >= 4 and is_literal(text):
                return write_literal(text, end, out)
        elif text[0] == c"{" or text[0] == c"[":
            return write_json(text, end, out, shapes)
        else:
            if text[0] == c"+" or text[0] == c"-":
                digits += 1
            elif not is_digit(text[0]):
                return UNPARSED
            behind = digits
            while behind < end and is_digit(behind[0]):
                behind += 1
            if behind == end:
                return write_whole(text, digits, end, out)
            if behind[0] == c"." and digits < behind:
                kind = write_decimal(text, digits, behind, end, out)
                if kind:
                    return kind
            if behind[0] == c"-" and end - text == 10:
                return write_day(text, out)
            if reads_moments and behind[0] == c"-" and end - text == 24:
                kind = write_moment(text, out)
                if kind:
                    return kind
            if not KINDS[behind[0]] & OTHER and not is_certain(digits, behind, end):
                return UNPARSED
    memcpy(out[0], text, end - text)
    out[0] += end - text
    return TEXT


cdef inline bint is_literal(const uint8_t *text) noexcept:
    return not memcmp(text, b"true", 4) or not memcmp(text, b"fals", 4) or not memcmp(text, b"null", 4)


cdef int write_literal(const uint8_t *text, const uint8_t *end, char **out) noexcept:
    """Write a truth value; a text that only starts like a literal may end with blanks."""
    cdef bint is_false = text[0] == c"f" and end - text == 5 and text[4] == c"e"
    if text[0] == c"n":
        return NOTHING if end - text == 4 else UNPARSED
    if not is_false and (text[0] == c"f" or end - text != 4):
        return UNPARSED
    memcpy(out[0], text, end - text)
    out[0] += end - text
    return TRUTH


cdef bint is_certain(const uint8_t *digits, const uint8_t *behind, const uint8_t *end) noexcept:
    """Return whether a text that starts like a number or a date is neither."""
    cdef const uint8_t *at = behind
    if digits == behind:
        return False
    if behind[0] == c"e" or behind[0] == c"E" or behind[0] == c".":
        at += 1
        while at < end and is_digit(at[0]):
            at += 1
        if at == end:
            return False
        if behind[0] == c".":
            return KINDS[at[0]] & OTHER or at[0] == c"."
        if KINDS[at[0]] & OTHER:
            return True
        while at < end and KINDS[at[0]] & LETTER:
            at += 1
        if at == end:
            return True
        if at == behind + 1:  # an exponent may follow
            return False
    if at[0] != c"-":
        return False
    while at < end and KINDS[at[0]] & OF_DASHED:
        at += 1
    return at == end and end - digits != 10  # without colons only ten characters are a date


cdef int write_whole(const uint8_t *text, const uint8_t *digits, const uint8_t *end, char **out) noexcept:
    """Write an integer; its digits end where it ends."""
    cdef int64_t number
    if not 0 < end - digits <= MOST_DIGITS:
        return UNPARSED
    number = number_of(digits, end)
    return kind_of_whole(write_number(-number if text[0] == c"-" else number, out))


cdef int kind_of_whole(int64_t number) noexcept:
    if -0x80 <= number < 0x80:
        return BYTE
    if -0x8000 <= number < 0x8000:
        return SHORT
    return INT if -0x80000000 <= number < 0x80000000 else LONG


cdef inline int64_t number_of(const uint8_t *at, const uint8_t *end) noexcept:
    cdef int64_t number = 0
    while at < end:
        number = 10 * number + (at[0] - 0x30)
        at += 1
    return number


cdef int64_t write_number(int64_t number, char **out) noexcept:
    """Write a number and return it."""
    cdef uint64_t rest = -number if number < 0 else number
    cdef char written[DIGITS]
    cdef int first = DIGITS
    if number < 0:
        out[0][0] = c"-"
        out[0] += 1
    while True:
        first -= 1
        written[first] = <char>(0x30 + rest % 10)
        rest //= 10
        if rest == 0:
            break
    memcpy(out[0], written + first, DIGITS - first)
    out[0] += DIGITS - first
    return number


cdef int write_day(const uint8_t *text, char **out) noexcept:
    """Write the day number of an ISO 8601 date."""
    cdef int64_t day = day_of(text)
    if day == NO_DAY:
        return UNPARSED
    write_number(day, out)
    return DAY


cdef int write_moment(const uint8_t *text, char **out) noexcept:
    """Write the milliseconds since 1970 of a timestamp such as ``2026-01-01T12:34:56.789Z``."""
    cdef int64_t day = day_of(text), hour, minute, second
    if not is_shaped(text + 10, b"T00:00:00.000Z", 14):
        return UNPARSED
    hour, minute = number_of(text + 11, text + 13), number_of(text + 14, text + 16)
    second = number_of(text + 17, text + 19)
    if day == NO_DAY or hour > 23 or minute > 59 or second > 59:
        return UNPARSED
    write_number((((day * 24 + hour) * 60 + minute) * 60 + second) * 1000 + number_of(text + 20, text + 23), out)
    return MOMENT


cdef int64_t day_of(const uint8_t *text) noexcept:
    """Return the day number of an ISO 8601 date, from the first year whose calendar is also Java's."""
    cdef int64_t year, month, day, leaps
    cdef bint is_leap
    if not is_shaped(text, b"0000-00-00", 10):
        return NO_DAY
    year, month, day = number_of(text, text + 4), number_of(text + 5, text + 7), number_of(text + 8, text + 10)
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if year < FIRST_YEAR or not 1 <= month <= 12 or not 1 <= day <= LENGTHS[month] + (is_leap and month == 2):
        return NO_DAY
    leaps = (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400
    return day + 365 * (year - 1) + leaps + BEFORE[month] + (is_leap and month > 2) - EPOCH


cdef bint is_shaped(const uint8_t *text, const char *shape, int length) noexcept:
    """Return whether a text has digits where the shape has zeros, and the same characters elsewhere."""
    cdef int place
    for place in range(length):
        if not is_digit(text[place]) if shape[place] == c"0" else text[place] != shape[place]:
            return False
    return True


cdef int write_decimal(
    const uint8_t *text, const uint8_t *digits, const uint8_t *point, const uint8_t *end, char **out
) noexcept:
    """Write the digits of a decimal number, of which a reader takes the 32-bit float nearest to the 64-bit float.

    The quotient of two exact 64-bit floats is the nearest one.
    """
    cdef const uint8_t *at = digits
    cdef int64_t number = 0
    cdef uint64_t bits
    cdef int length = 0, power = <int>min(end - point - 1, EXACT_POWER + 1)
    cdef bint is_whole = True
    cdef double wide
    if power == 0:
        return UNPARSED
    while at < end:
        if at != point:
            if not is_digit(at[0]):
                return UNPARSED
            length += number != 0 or at[0] != 0x30
            if length <= EXACT_DIGITS:
                number = 10 * number + (at[0] - 0x30)
            is_whole = is_whole and (at < point or at[0] == 0x30)
        at += 1
    if is_whole:
        return write_whole(text, digits, point, out)
    if length > EXACT_DIGITS or power > EXACT_POWER:
        return UNPARSED
    wide = number / POWERS[power]
    memcpy(&bits, &wide, 8)
    if bits & 0x1FFFFFFF == 0x10000000:  # halfway between two 32-bit floats
        return UNPARSED
    if text[0] == c"-":
        out[0][0] = c"-"
        out[0] += 1
    while digits < point - 1 and digits[0] == 0x30:  # JSON has no leading zeros
        digits += 1
    memcpy(out[0], digits, end - digits)
    out[0] += end - digits
    return FLOAT
