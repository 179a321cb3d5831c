"""Finds the members of the objects of JSON texts in one loop, and writes these objects with some members changed.

Texts have to be as this API writes them. It skips others, and those with tags, two equal names, or more levels or
members than there is room for.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memchr

include "json_text.pxi"
include "json_scalar.pxi"
include "json_member.pxi"

cdef enum:
    DEEPEST = 64
    MOST_MEMBERS = 256
    LARGEST_TABLE = 512
    SEEN_WORDS = 4  # a bit for each member
    FIRST_ROOM = 1024  # for found members
    ABSENT = 0
    NOTHING = 1
    TRUTH = 2
    INTEGER = 3
    FLOAT = 4
    PLAIN = 5  # a string without escapes
    ESCAPED = 6
    NESTED = 7


cdef struct Wanted:
    uint32_t hash
    int32_t length
    const uint8_t *text
    const uint8_t *over  # texts that replace the values
    const int64_t *over_start
    const uint8_t *is_over  # a byte for each row


cdef struct Found:
    uint32_t hash
    int32_t number  # of the wanted name, -1 for others
    int64_t start  # position of the first quote of its name
    int64_t value
    int64_t end


cdef class MemberIndex:
    """The members of objects, with the places of some by name."""

    cdef Wanted wanted[MOST_MEMBERS]
    cdef Found made[MOST_MEMBERS]
    cdef Member members[MOST_MEMBERS]
    cdef Member sorted[MOST_MEMBERS]
    cdef int32_t places[LARGEST_TABLE + 1]
    cdef list names
    cdef int wanted_count
    cdef const uint8_t *text
    cdef const int64_t *start
    cdef Py_ssize_t count, used, room
    cdef Found *found
    cdef int64_t *first
    cdef size_t at
    cdef uint8_t *out

    def __init__(self, list names, size_t content, size_t offsets, Py_ssize_t count):
        """Store the names, which need no escapes, and the texts, which must stay in memory."""
        cdef bytes name
        self.names, self.count = names, count
        self.text, self.start = <const uint8_t *>content, <const int64_t *>offsets
        for name in names:
            if self.wanted_count == MOST_MEMBERS:
                raise ValueError("too many names")
            self.wanted[self.wanted_count].text = name
            self.wanted[self.wanted_count].length = <int32_t>len(name)
            self.wanted[self.wanted_count].hash = hash_of(name, <const uint8_t *>name + len(name))
            self.wanted_count += 1

    def __dealloc__(self):
        free(self.found)
        free(self.first)

    def find(self, size_t kinds, size_t starts, size_t ends, size_t states):
        """Find the members of all texts.

        ``states`` gets a byte for each: 1 if it is an object whose members were found. The others have room for each
        name and text: the kind of value of that member, 0 if there is none, and where it starts and ends (64 bits).
        """
        cdef uint8_t *state = <uint8_t *>states
        cdef Py_ssize_t row
        self.first = <int64_t *>realloc(self.first, (self.count + 1) * sizeof(int64_t))
        if self.first == NULL:
            raise MemoryError
        self.used = 0
        memset(<uint8_t *>kinds, ABSENT, self.wanted_count * self.count)
        for row in range(self.count):
            self.first[row] = self.used
            if self.room - self.used < MOST_MEMBERS:
                self.grow()
            state[row] = self.row(row, <uint8_t *>kinds, <int64_t *>starts, <int64_t *>ends)
            if not state[row]:
                self.used = self.first[row]
        self.first[self.count] = self.used

    cdef grow(self):
        cdef Py_ssize_t room = max(2 * self.room, FIRST_ROOM)
        cdef Found *found = <Found *>realloc(self.found, room * sizeof(Found))
        if found == NULL:
            raise MemoryError
        self.found, self.room = found, room

    cdef bint row(self, Py_ssize_t row, uint8_t *kinds, int64_t *starts, int64_t *ends) except -1:
        """Find the members of one text; return whether that succeeded."""
        cdef const uint8_t *at = self.text + self.start[row]
        cdef const uint8_t *end = self.text + self.start[row + 1]
        cdef const uint8_t *name
        cdef Found *found
        cdef uint32_t hash_
        cdef uint8_t kind
        cdef Py_ssize_t place
        cdef int count = 0
        if end - at < 2 or at[0] != 0x7B:
            return False
        at += 1
        if at[0] == 0x7D:
            return at + 1 == end
        while True:
            if at == end or at[0] != 0x22 or count == MOST_MEMBERS:
                return False
            name = at + 1
            at = past_plain_name(name, end, &hash_)
            if at == NULL or end - at < 3 or at[1] != 0x3A:
                return False
            found = &self.found[self.used]
            found.hash, found.start, found.value = hash_, name - 1 - self.text, at + 2 - self.text
            found.number = self.number_of(name, <int32_t>(at - name), hash_)
            at = past_written(at + 2, end, 0, &kind)
            if at == NULL or at == end:
                return False
            found.end = at - self.text
            if found.number >= 0:
                place = found.number * self.count + row
                if kinds[place] != ABSENT:
                    return False
                kinds[place], starts[place], ends[place] = kind, found.value, found.end
            self.used += 1
            count += 1
            if at[0] == 0x7D:
                return at + 1 == end and not (count == 1 and name[0] == 0x40)
            if at[0] != 0x2C:
                return False
            at += 1

    cdef inline int number_of(self, const uint8_t *name, int32_t length, uint32_t hash_) noexcept:
        cdef int number
        for number in range(self.wanted_count):
            if self.wanted[number].hash == hash_ and self.wanted[number].length == length:
                if memcmp(self.wanted[number].text, name, length) == 0:
                    return number
        return -1

    def write(self, list over, bint removes, size_t rows, Py_ssize_t count, size_t out, size_t ends, size_t states):
        """Write the objects with the given numbers, as copied HashMaps, and to ``ends`` (32 bits) 0 and each end.

        ``over`` holds for each name the addresses of texts, their offsets, and bytes that are 0 where the member stays
        as it is; without it, the members are removed or, unless ``removes``, kept. ``states`` gets a byte for each
        object: 1 if it was written. Returns the number of bytes written.
        """
        cdef const int64_t *row = <const int64_t *>rows
        cdef int32_t *end = <int32_t *>ends
        cdef uint8_t *state = <uint8_t *>states
        cdef size_t content, offsets, valid
        cdef Py_ssize_t place
        cdef int number = 0
        for content, offsets, valid in over:
            self.wanted[number].over = <const uint8_t *>content
            self.wanted[number].over_start = <const int64_t *>offsets
            self.wanted[number].is_over = <const uint8_t *>valid
            number += 1
        self.out, self.at, end[0] = <uint8_t *>out, 0, 0
        for place in range(count):
            state[place] = self.write_row(row[place], place, number > 0, removes)
            if not state[place]:
                self.at = end[place]
            end[place + 1] = <int32_t>self.at
        return self.at

    cdef bint write_row(self, Py_ssize_t row, Py_ssize_t place, bint is_over, bint removes) noexcept:
        """Write one object; return whether that succeeded."""
        cdef Found *found = self.found + self.first[row]
        cdef Py_ssize_t taken = self.first[row + 1] - self.first[row], index, size = first_table(taken, True)
        cdef uint64_t seen[SEEN_WORDS]
        cdef Member *order
        cdef int count = 0, number
        memset(seen, 0, sizeof(seen))
        for index in range(taken):
            number = found[index].number
            if number >= 0:
                seen[number >> 6] |= <uint64_t>1 << (number & 63)
                if removes:
                    continue
            self.members[count].hash, self.members[count].start = found[index].hash, index
            count += 1
        for number in range(self.wanted_count if is_over else 0):
            if self.wanted[number].is_over[place] and not seen[number >> 6] >> (number & 63) & 1:
                if count == MOST_MEMBERS:
                    return False
                self.members[count].hash, self.members[count].start = self.wanted[number].hash, taken + number
                count += 1
        while count * 4 > size * 3:
            size *= 2
        if size > LARGEST_TABLE:
            return False
        order = self.ordered(count, <uint32_t>(size - 1))
        if self.has_twins(found, order, count, taken, <uint32_t>(size - 1)):
            return False
        if count == 1 and self.begins_tag(found, order, taken):
            return False
        self.put_members(found, order, count, taken, place, is_over)
        return True

    cdef inline Member *ordered(self, int count, uint32_t mask) noexcept:
        cdef int number
        for number in range(1, count):
            if self.members[number].hash & mask < self.members[number - 1].hash & mask:
                return sort(self.members, self.sorted, self.places, count, mask)
        return self.members

    cdef inline bint has_twins(
        self, Found *found, Member *order, int count, Py_ssize_t taken, uint32_t mask
    ) noexcept:
        """Return whether two members, which then share a bucket, have one name."""
        cdef const uint8_t *name
        cdef const uint8_t *other_name
        cdef size_t length, other_length
        cdef int number, other
        for number in range(1, count):
            other = number - 1
            while other >= 0 and order[other].hash & mask == order[number].hash & mask:
                if order[other].hash == order[number].hash:
                    length = self.name_of(found, order[number].start, taken, &name)
                    other_length = self.name_of(found, order[other].start, taken, &other_name)
                    if length == other_length and memcmp(name, other_name, length) == 0:
                        return True
                other -= 1
        return False

    cdef inline bint begins_tag(self, Found *found, Member *order, Py_ssize_t taken) noexcept:
        cdef const uint8_t *name
        return self.name_of(found, order[0].start, taken, &name) > 0 and name[0] == 0x40

    cdef inline size_t name_of(
        self, Found *found, Py_ssize_t index, Py_ssize_t taken, const uint8_t **name
    ) noexcept:
        """Return the length of a member's name, and set where it starts."""
        if index >= taken:
            name[0] = self.wanted[index - taken].text
            return self.wanted[index - taken].length
        name[0] = self.text + found[index].start + 1
        return found[index].value - 3 - found[index].start

    cdef inline void put_members(
        self, Found *found, Member *order, int count, Py_ssize_t taken, Py_ssize_t place, bint is_over
    ) noexcept:
        """Write the members of an object; those that stay adjacent are copied in one piece."""
        cdef const int64_t *start
        cdef int64_t copied_from = -1, copied_to = 0
        cdef Found *each
        cdef Py_ssize_t index
        cdef int number, wanted
        self.put(b"{", 1)
        for number in range(count):
            index = order[number].start
            wanted = <int>(index - taken) if index >= taken else found[index].number
            each = &found[index]
            if wanted < 0 or not is_over or not self.wanted[wanted].is_over[place]:
                if copied_from >= 0 and each.start == copied_to + 1:
                    copied_to = each.end
                    continue
            if copied_from >= 0:
                self.put(self.text + copied_from, copied_to - copied_from)
                copied_from = -1
            if number:
                self.put(b",", 1)
            if wanted < 0 or not is_over or not self.wanted[wanted].is_over[place]:
                copied_from, copied_to = each.start, each.end
                continue
            if index >= taken:
                self.put(b'"', 1)
                self.put(self.wanted[wanted].text, self.wanted[wanted].length)
                self.put(b'":', 2)
            else:
                self.put(self.text + each.start, each.value - each.start)
            start = self.wanted[wanted].over_start + place
            self.put(self.wanted[wanted].over + start[0], start[1] - start[0])
        if copied_from >= 0:
            self.put(self.text + copied_from, copied_to - copied_from)
        self.put(b"}", 1)

    cdef inline void put(self, const uint8_t *text, size_t length) noexcept:
        memcpy(self.out + self.at, text, length)
        self.at += length


cdef inline const uint8_t *past_plain_name(const uint8_t *at, const uint8_t *end, uint32_t *hash_) noexcept:
    """Return the position of a name's closing quote, and set its spread hash; NULL if it holds an escape."""
    cdef const uint8_t *start = at
    cdef uint32_t found = 0
    while at < end and at[0] != 0x22:
        if at[0] == 0x5C or at[0] < 0x20:
            return NULL
        if at[0] >= 0x80:
            at = past_name(at, end)
            if at != NULL:
                hash_[0] = hash_of(start, at)
            return at
        found = found * 31 + at[0]
        at += 1
    if at == end:
        return NULL
    hash_[0] = found ^ found >> 16
    return at


cdef const uint8_t *past_written(const uint8_t *at, const uint8_t *end, int depth, uint8_t *kind) except? NULL:
    """Return where a value ends that this API may have written, and set its kind; NULL if it is another writer's."""
    cdef const uint8_t *last
    cdef const uint8_t *found
    if at == end:
        return NULL
    if at[0] == 0x22:
        found = past_string(at + 1, end, True)
        if found == NULL:
            return NULL
        kind[0] = PLAIN if memchr(at, 0x5C, found - at) == NULL else ESCAPED
        return found + 1
    if at[0] == 0x2D or is_digit(at[0]):
        found = past_number(at, end, &last, False)
        kind[0] = INTEGER if found == NULL or memchr(at, 0x2E, found - at) == NULL else FLOAT
        return found if found == last else NULL
    if at[0] == 0x7B or at[0] == 0x5B:
        found = past_nested(at, end, depth)
        kind[0] = NESTED
        return found
    kind[0] = NOTHING if at[0] == 0x6E else TRUTH
    return past_word(at, end)


cdef const uint8_t *past_nested(const uint8_t *at, const uint8_t *end, int depth) except? NULL:
    """Return where an object or array ends."""
    cdef uint8_t closing = at[0] + 2, kind
    at += 1
    if depth == DEEPEST or at == end:
        return NULL
    if at[0] == closing:
        return at + 1
    while True:
        if closing == 0x7D:
            if at == end or at[0] != 0x22:
                return NULL
            at = past_string(at + 1, end, True)
            if at == NULL or end - at < 3 or at[1] != 0x3A:
                return NULL
            at += 2
        at = past_written(at, end, depth + 1, &kind)
        if at == NULL or at == end:
            return NULL
        if at[0] == closing:
            return at + 1
        if at[0] != 0x2C:
            return NULL
        at += 1
