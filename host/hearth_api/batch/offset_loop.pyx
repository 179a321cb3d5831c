"""Writes offsets as contiguous JSON texts, in one loop."""

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int32_t
from libc.string cimport memcpy

cdef enum:
    DIGITS = 20  # the longest 64-bit number, with its sign


LONGEST = DIGITS + 2


def write_offsets(list numbers, bytes opening, size_t ends, size_t content):
    """Write ``opening``, the number and ``}`` for each number, and to ``ends`` (32 bits) 0 and the end of each text.

    ``content`` must have room for the longest texts: ``LONGEST`` bytes for each in addition to the opening. Returns
    the number of bytes written, or -1 if a number exceeds 64 bits.
    """
    cdef int32_t *end = <int32_t *>ends
    cdef char *begin = <char *>content
    cdef char *at = begin
    cdef char digits[DIGITS]
    cdef const char *opened = opening
    cdef Py_ssize_t length = len(opening), row
    cdef long long number
    cdef unsigned long long rest
    cdef int overflow, first
    end[0] = 0
    for row in range(len(numbers)):
        number = PyLong_AsLongLongAndOverflow(numbers[row], &overflow)
        if overflow:
            return -1
        memcpy(at, opened, length)
        at += length
        if number < 0:
            at[0] = b"-"
            at += 1
        rest = 0 - <unsigned long long>number if number < 0 else <unsigned long long>number
        first = DIGITS
        while True:
            first -= 1
            digits[first] = <char>(48 + rest % 10)
            rest //= 10
            if rest == 0:
                break
        memcpy(at, digits + first, DIGITS - first)
        at += DIGITS - first
        at[0] = b"}"
        at += 1
        end[row + 1] = <int32_t>(at - begin)
    return at - begin
