"""Rewrites JSON texts contiguously in one loop: members in hash order, removed, renamed and added.

It skips texts that are not JSON, or have an integer that may not fit, two members of one name, or more levels or
members than there is room for.
"""

include "json_text.pxi"
include "json_scalar.pxi"
include "json_member.pxi"

cdef enum:
    DEEPEST = 64
    MOST_MEMBERS = 256  # of all open objects
    LARGEST_TABLE = 512
    MOST_NAMES = 64  # of moved members
    GROWTH = 64  # how much longer numbers may make a text


cdef class Rewriter:
    """Writes texts with all objects in HashMap order, or maps with their members moved."""

    cdef Member members[MOST_MEMBERS]
    cdef Member sorted[MOST_MEMBERS]
    cdef int32_t places[LARGEST_TABLE + 1]
    cdef Frame frames[DEEPEST]
    cdef Name names[MOST_NAMES]
    cdef int count, depth, names_count, taken
    cdef bint is_utf8, is_moving, keeps_others, is_leaving, is_copied, is_tagged, is_broken
    cdef list added, owned
    cdef Py_ssize_t growth, grown
    cdef uint8_t *out
    cdef uint8_t *spare
    cdef size_t at, left_from

    def __init__(self, moves=None):
        """Store how to move members: new names by name, None for removed ones, whether others are kept, names and
        texts of added ones, and whether the HashMap starts as a copy, or with the original size as capacity.
        """
        self.is_moving = moves is not None
        self.added, self.owned, self.growth = [], [], GROWTH
        if moves is None:
            return
        names, self.keeps_others, self.added, self.is_copied = moves
        for name, new_name in names.items():
            self.take(name, new_name)

    cdef take(self, bytes text, bytes new_text):
        cdef Name *name = &self.names[self.names_count]
        if self.names_count == MOST_NAMES:
            raise ValueError("too many names")
        self.owned.append((text, new_text))
        name.text, name.length = text, <int32_t>len(text)
        name.hash = hash_of(name.text, name.text + name.length)
        name.new_length = -1
        if new_text is not None:
            name.new_text, name.new_length = new_text, <int32_t>len(new_text)
            self.growth += max(0, name.new_length - name.length)
        self.names_count += 1

    def room(self, Py_ssize_t size, Py_ssize_t count):
        """Return the most bytes that ``count`` texts of a total size may take."""
        cdef Py_ssize_t added = sum([len(name) + len(text) + 4 for name, text in self.added])
        return size + count * (self.growth + added) + 1

    def write(
        self, size_t content, size_t offsets, Py_ssize_t count, bint is_utf8, size_t out, size_t spare, size_t ends,
        size_t states,
    ):
        """Write ``count`` texts, and to ``ends`` (32 bits) 0 and the end of each.

        ``states`` gets a byte for each: 1 if it was written, 2 if no reader accepts it as JSON. ``out`` and ``spare``
        must have the ``room`` for these texts. Returns the number of bytes written.
        """
        cdef const uint8_t *text = <const uint8_t *>content
        cdef const int64_t *start = <const int64_t *>offsets
        cdef int32_t *end = <int32_t *>ends
        cdef uint8_t *state = <uint8_t *>states
        cdef Py_ssize_t row
        self.out, self.spare, self.is_utf8, self.at = <uint8_t *>out, <uint8_t *>spare, is_utf8, 0
        end[0] = 0
        for row in range(count):
            self.is_broken = False
            state[row] = self.row(text + start[row], text + start[row + 1])
            if not state[row]:
                self.at, state[row] = end[row], 2 if self.is_broken else 0
            end[row + 1] = <int32_t>self.at
        return self.at

    cdef bint row(self, const uint8_t *at, const uint8_t *end) except -1:
        """Write one text; return whether that succeeded."""
        cdef Frame *frame
        cdef uint8_t byte
        cdef bint is_done
        self.count = self.depth = 0
        self.taken, self.grown, self.is_leaving, self.is_tagged = 0, 0, False, False
        at = past_space(at, end)
        if self.is_moving and (at == end or at[0] != 0x7B):
            return False
        while True:
            if at == end:
                return self.ends_here(self.depth > 0)
            byte, is_done = at[0], True
            if byte == 0x7B or byte == 0x5B:
                if self.depth == DEEPEST:
                    return False
                frame = &self.frames[self.depth]
                self.depth += 1
                frame.first, frame.closing = self.count, byte + 2
                self.put(byte)
                at = past_space(at + 1, end)
                if at == end:
                    return self.ends_here(True)
                is_done = at[0] != frame.closing
                if is_done:
                    if byte == 0x7B:
                        at = self.name(at, end, frame)
                        if at == NULL:
                            return False
                    continue
            else:
                at = self.scalar(at, end)
                if at == NULL:
                    return False
            while True:
                at = past_space(at, end)
                if self.depth == 0:
                    return at == end
                if at == end:
                    return self.ends_here(True)
                frame = &self.frames[self.depth - 1]
                if is_done and frame.closing == 0x7D:
                    self.end_member()
                is_done = True
                if at[0] == 0x2C:
                    if frame.closing == 0x7D:
                        at = self.name(past_space(at + 1, end), end, frame)
                        if at == NULL:
                            return False
                    else:
                        self.put(0x2C)
                        at = past_space(at + 1, end)
                    break
                if at[0] != frame.closing:
                    return self.ends_here(at[0] != 0)
                if frame.closing == 0x7D and not self.close(frame):
                    return False
                self.put(<uint8_t>frame.closing)
                self.depth -= 1
                at += 1

    cdef inline bint ends_here(self, bint is_broken) noexcept:
        """Skip a text, which may be invalid JSON; one with zero bytes may have another encoding."""
        self.is_broken = is_broken
        return False

    cdef inline void put(self, uint8_t byte) noexcept:
        self.out[self.at] = byte
        self.at += 1

    cdef inline void copy(self, const uint8_t *start, size_t length) noexcept:
        memcpy(self.out + self.at, start, length)
        self.at += length

    cdef const uint8_t *scalar(self, const uint8_t *at, const uint8_t *end) except? NULL:
        """Write a scalar; return the position after it."""
        cdef uint8_t *behind
        cdef const uint8_t *found
        if at[0] == 0x22:
            behind = self.out + self.at
            found = copy_string(at + 1, end, self.is_utf8, &behind)
            self.at = behind - self.out
            self.is_broken = found == NULL and is_open(at + 1, end, self.is_utf8)
            return found
        if at[0] == 0x2D or is_digit(at[0]):
            return self.number(at, end)
        self.is_broken = 0 < at[0] < 0x80 and not begins_word(at[0])
        if self.is_broken:
            return NULL
        found = past_word(at, end)
        if found != NULL:
            self.copy(at, found - at)
        return found

    cdef const uint8_t *number(self, const uint8_t *at, const uint8_t *end) except? NULL:
        """Write a number as Python does; return where it ends."""
        cdef const uint8_t *last
        cdef const uint8_t *found = past_number(at, end, &last, False)
        if found == NULL:
            return self.fraction(at, end)
        self.copy(at, last - at)
        return found

    cdef const uint8_t *fraction(self, const uint8_t *start, const uint8_t *end) except? NULL:
        """Write a fraction as Python writes its 64-bit float; return where it ends."""
        cdef const uint8_t *at = past_fraction(start, end)
        cdef char *text
        cdef Py_ssize_t length
        if at == NULL:
            return NULL
        text = shortest(start, at)
        try:
            length = strlen(text)
            self.grown += max(0, length - (at - start))
            if self.grown > self.growth or memcmp(text, b"-0.0", 5) == 0:
                return NULL
            self.copy(<const uint8_t *>text, length)
        finally:
            PyMem_Free(text)
        return at

    cdef const uint8_t *name(self, const uint8_t *at, const uint8_t *end, Frame *frame) noexcept:
        """Write a name and its colon, and start a member; return where its value starts."""
        cdef const uint8_t *last
        if at == end or at[0] != 0x22 or self.count == MOST_MEMBERS:
            self.is_broken = at == end or (at[0] != 0x22 and at[0] != 0)
            return NULL
        at += 1
        last = past_name(at, end)
        self.is_broken = last == NULL and is_open(at, end, self.is_utf8)
        if last == NULL or not (self.is_utf8 or is_ascii(at, last)):
            return NULL
        if self.is_moving and self.depth == 1:
            self.left_from = self.at
            self.taken += 1
            self.is_tagged = self.taken == 1 and at[0] == 0x40
        if self.count > frame.first:
            self.put(0x2C)
        if not self.begin_member(at, last, self.is_moving and self.depth == 1):
            return NULL
        at = past_space(last + 1, end)
        if at == end or at[0] != 0x3A:
            self.is_broken = at == end or at[0] != 0
            return NULL
        return past_space(at + 1, end)

    cdef bint begin_member(self, const uint8_t *start, const uint8_t *end, bint is_moved) noexcept:
        """Write a name, or its new name; return whether there is room for it."""
        cdef Member *member = &self.members[self.count]
        cdef uint32_t hash_ = hash_of(start, end)
        cdef int32_t length = <int32_t>(end - start)
        cdef Name *name
        cdef int number
        self.count += 1
        if is_moved:
            self.is_leaving = not self.keeps_others
            for number in range(self.names_count):
                name = &self.names[number]
                if name.hash == hash_ and name.length == length and memcmp(name.text, start, length) == 0:
                    self.is_leaving = name.new_length < 0
                    if not self.is_leaving:
                        self.grown += max(0, name.new_length - length)
                        start, length = name.new_text, name.new_length
                        hash_ = hash_of(start, start + length)
                    break
            if self.grown > self.growth:
                return False
        member.hash, member.length, member.start = hash_, length, self.at
        self.put(0x22)
        self.copy(start, length)
        self.put(0x22)
        self.put(0x3A)
        return True

    cdef inline void end_member(self) noexcept:
        """End the member whose value was written, or remove it."""
        if self.is_leaving and self.depth == 1:
            self.at, self.count = self.left_from, self.count - 1
            return
        self.members[self.count - 1].end = self.at

    cdef bint close(self, Frame *frame) except -1:
        """Put the members of an object in order and discard them; return whether that succeeded."""
        cdef int first = frame.first
        cdef bint is_ordered
        if self.is_moving and self.depth == 1:
            is_ordered = not self.is_tagged and self.add() and self.order(first, first_table(self.taken, self.is_copied))
        elif self.is_moving:
            is_ordered = True
        else:
            is_ordered = not is_tag(self.out, &self.members[first], self.count - first) and self.order(first, 16)
        self.count = first
        return is_ordered

    cdef bint add(self) except -1:
        """Write the added members; return whether there is room for them."""
        cdef const uint8_t *start
        cdef bytes name, text
        for name, text in self.added:
            if self.count == MOST_MEMBERS:
                return False
            if self.count > 0:
                self.put(0x2C)
            start = name
            self.begin_member(start, start + len(name), False)
            start = text
            self.copy(start, len(text))
            self.members[self.count - 1].end = self.at
        return not is_tag(self.out, self.members, self.count)

    cdef bint order(self, int first, Py_ssize_t size) noexcept:
        """Put members in the order of a HashMap; return whether that succeeded."""
        cdef Member *members = &self.members[first]
        cdef int count = self.count - first, number, other
        cdef bint is_ordered = True
        cdef uint32_t mask
        cdef size_t at = 0, length
        if count < 2:
            return True
        while count * 4 > size * 3:
            size *= 2
        if size > LARGEST_TABLE:
            return False
        mask = <uint32_t>(size - 1)
        for number in range(1, count):
            if members[number].hash & mask < members[number - 1].hash & mask:
                is_ordered = False
                members = sort(members, self.sorted, self.places, count, mask)
                break
        for number in range(1, count):
            other = number - 1
            while other >= 0 and members[other].hash & mask == members[number].hash & mask:
                if is_same(self.out, &members[other], &members[number]):
                    return False
                other -= 1
        if is_ordered:
            return True
        for number in range(count):
            if number:
                self.spare[at] = 0x2C
                at += 1
            length = members[number].end - members[number].start
            memcpy(self.spare + at, self.out + members[number].start, length)
            at += length
        memcpy(self.out + self.at - at, self.spare, at)
        return True
