"""Flattens the objects of JSON texts in one loop: the members of inner objects move up, with their paths as names.

Texts have to be as this API writes them. It skips others, and those with tags, two equal names, or more levels, members
or bytes than there is room for.
"""

include "json_text.pxi"

cdef enum:
    DEEPEST = 32
    MOST_MEMBERS = 256
    LONGEST_PATH = 1024


cdef class Flattener:
    """Flattens objects with one delimiter between names."""

    cdef uint32_t hashes[MOST_MEMBERS]
    cdef const uint8_t *names[MOST_MEMBERS]
    cdef size_t lengths[MOST_MEMBERS]
    cdef uint8_t path[LONGEST_PATH]
    cdef bytes delimiter
    cdef const uint8_t *mark
    cdef size_t mark_length
    cdef int count
    cdef uint8_t *at
    cdef uint8_t *limit

    def __init__(self, bytes delimiter):
        """Store the delimiter, which needs no escapes in JSON."""
        self.delimiter, self.mark, self.mark_length = delimiter, delimiter, len(delimiter)

    def write(
        self, size_t content, size_t offsets, Py_ssize_t count, size_t out, Py_ssize_t room, size_t ends, size_t states
    ):
        """Write ``count`` texts, and to ``ends`` (32 bits) 0 and the end of each.

        ``states`` gets a byte for each: 1 if it was written. ``out`` has ``room`` bytes; texts that do not fit are
        skipped. Returns the number of bytes written.
        """
        cdef const uint8_t *text = <const uint8_t *>content
        cdef const int64_t *start = <const int64_t *>offsets
        cdef int32_t *end = <int32_t *>ends
        cdef uint8_t *state = <uint8_t *>states
        cdef uint8_t *begin = <uint8_t *>out
        cdef Py_ssize_t row
        self.at, self.limit = begin, begin + room
        end[0] = 0
        for row in range(count):
            state[row] = self.row(text + start[row], text + start[row + 1])
            if not state[row]:
                self.at = begin + end[row]
            end[row + 1] = <int32_t>(self.at - begin)
        return self.at - begin

    cdef bint row(self, const uint8_t *at, const uint8_t *end) except -1:
        """Write one text; return whether that succeeded."""
        self.count = 0
        if end - at < 2 or at[0] != 0x7B or not self.put(b"{", 1):
            return False
        at = self.members(at, end, 0, 0)
        return at == end and self.put(b"}", 1)

    cdef const uint8_t *members(self, const uint8_t *at, const uint8_t *end, size_t prefix, int depth) except? NULL:
        """Write the members of an object whose path has a length; return where it ends, NULL if it is skipped."""
        cdef const uint8_t *name
        cdef const uint8_t *last
        cdef size_t length
        cdef int first = self.count
        at += 1
        if depth == DEEPEST or at == end:
            return NULL
        if at[0] == 0x7D:
            return at + 1
        while True:
            if at == end or at[0] != 0x22:
                return NULL
            name = at + 1
            last = past_string(name, end, True)
            if last == NULL or end - last < 3 or last[1] != 0x3A or name[0] == 0x40:
                return NULL
            length = last - name
            at = last + 2
            if at[0] == 0x7B:
                length = self.extended(prefix, name, length)
                if length > LONGEST_PATH:
                    return NULL
                at = self.members(at, end, length, depth + 1)
            else:
                last = past_value(at, end, depth)
                if last == NULL or not self.member(prefix, name, length, at, last - at):
                    return NULL
                at = last
            if at == NULL or at == end:
                return NULL
            if at[0] == 0x7D:
                return at + 1
            if at[0] != 0x2C:
                return NULL
            at += 1

    cdef size_t extended(self, size_t prefix, const uint8_t *name, size_t length) noexcept:
        """Append a name to the path of a length; return the new length, a greater one if there is no room."""
        cdef size_t mark = self.mark_length if prefix else 0
        if prefix + mark + length <= LONGEST_PATH:
            memcpy(self.path + prefix, self.mark, mark)
            memcpy(self.path + prefix + mark, name, length)
        return prefix + mark + length

    cdef bint member(
        self, size_t prefix, const uint8_t *name, size_t length, const uint8_t *value, size_t size
    ) noexcept:
        """Write a member; return whether there is room for it and no other of its name."""
        cdef uint8_t *start
        if self.count == MOST_MEMBERS or (self.count and not self.put(b",", 1)) or not self.put(b'"', 1):
            return False
        start = self.at
        if prefix and not (self.put(self.path, prefix) and self.put(self.mark, self.mark_length)):
            return False
        if not self.put(name, length) or not self.is_new(start, self.at - start):
            return False
        return self.put(b'":', 2) and self.put(value, size)

    cdef bint is_new(self, const uint8_t *name, size_t length) noexcept:
        """Store a written name; return whether the object has none like it."""
        cdef uint32_t hash_ = <uint32_t>length
        cdef size_t place
        cdef int number
        for place in range(length):
            hash_ = hash_ * 31 + name[place]
        for number in range(self.count):
            if self.hashes[number] == hash_ and self.lengths[number] == length:
                if memcmp(self.names[number], name, length) == 0:
                    return False
        self.hashes[self.count], self.names[self.count], self.lengths[self.count] = hash_, name, length
        self.count += 1
        return True

    cdef inline bint put(self, const uint8_t *text, size_t length) noexcept:
        if <size_t>(self.limit - self.at) < length:
            return False
        memcpy(self.at, text, length)
        self.at += length
        return True


cdef const uint8_t *past_value(const uint8_t *at, const uint8_t *end, int depth) except? NULL:
    """Return where a scalar or an array of scalars ends; NULL if it is something else or another writer's."""
    cdef const uint8_t *last
    cdef const uint8_t *found
    if at[0] == 0x22:
        found = past_string(at + 1, end, True)
        if found == NULL:
            return NULL
        return found + 1
    if at[0] == 0x2D or is_digit(at[0]):
        found = past_number(at, end, &last, False)
        if found != last:
            return NULL
        return found
    if at[0] == 0x5B:
        return past_array(at, end, depth + 1)
    return past_word(at, end)


cdef const uint8_t *past_array(const uint8_t *at, const uint8_t *end, int depth) except? NULL:
    """Return where an array without objects ends."""
    at += 1
    if depth == DEEPEST or at == end:
        return NULL
    if at[0] == 0x5D:
        return at + 1
    while True:
        if at == end:
            return NULL
        at = past_value(at, end, depth)
        if at == NULL or at == end:
            return NULL
        if at[0] == 0x5D:
            return at + 1
        if at[0] != 0x2C:
            return NULL
        at += 1
