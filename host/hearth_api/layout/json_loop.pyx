"""JSON texts written anew, one behind the other, in one loop: members in hash order, left out, renamed and added.

Or they are written as the lines that Java prints of their values.

A text that needs a closer look is left out: one that is no JSON, or has a number or an escape that may be written in
another way, two members of one name, or more levels or members than there is room for.
"""

from cpython.mem cimport PyMem_Free
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, memset, strlen

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, PyObject *overflow) except? -1.0
    char *PyOS_double_to_string(double value, char format, int precision, int flags, int *kind) except NULL

cdef enum:
    DEEPEST = 64
    MOST_MEMBERS = 256  # of all objects that are open
    LARGEST_TABLE = 512
    MOST_NAMES = 64
    SURE_DIGITS = 15  # a fraction of so many is the shortest text of its 64 bits
    WHOLE_DIGITS = 18
    PRINTED_DIGITS = 7  # so many are before the point in Java, in others there is an exponent
    LONGEST_NUMBER = 100
    EXPONENT_DIGITS = 2
    GROWTH = 64  # how much longer a text may become by its numbers
    FEW = 16
    WITH_POINT = 2  # Py_DTSF_ADD_DOT_0


cdef struct Member:
    uint32_t hash
    int32_t length  # of its name
    size_t start  # where its name's first quote is written
    size_t end


cdef struct Frame:
    int first  # its first member
    int closing


cdef struct Name:
    uint32_t hash
    int32_t length
    const uint8_t *text
    int32_t new_length  # -1 where the member is left out
    const uint8_t *new_text


cdef inline bint is_space(uint8_t byte) noexcept:
    return byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09


cdef inline const uint8_t *past_space(const uint8_t *at, const uint8_t *end) noexcept:
    while at < end and is_space(at[0]):
        at += 1
    return at


cdef inline bint is_digit(uint8_t byte) noexcept:
    return 0x30 <= byte <= 0x39


cdef inline bint is_letter_of_escape(uint8_t byte) noexcept:
    """Return whether Python writes an escape with this behind the backslash: of `"\\nrtbf`."""
    return (
        byte == 0x22 or byte == 0x5C or byte == 0x6E or byte == 0x72 or byte == 0x74 or byte == 0x62 or byte == 0x66
    )


cdef inline int code_of(const uint8_t *at, const uint8_t *end) noexcept:
    """Return the number that four hexadecimal digits are, -1 where there are none."""
    cdef int code = 0, place
    cdef uint8_t byte
    if end - at < 4:
        return -1
    for place in range(4):
        byte = at[place]
        if is_digit(byte):
            byte -= 0x30
        elif 0x61 <= byte | 0x20 <= 0x66:
            byte = (byte | 0x20) - 0x57
        else:
            return -1
        code = code << 4 | byte
    return code


cdef const uint8_t *past_string(const uint8_t *at, const uint8_t *end, bint is_utf8) noexcept:
    """Return where the string that was opened before ends, before its quote; NULL where it needs a closer look."""
    cdef uint8_t byte
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


cdef uint32_t hash_of(const uint8_t *at, const uint8_t *end) noexcept:
    """Return Java's hash of a text, spread as a HashMap does."""
    cdef uint32_t hash_ = 0, point
    while at < end:
        if at[0] < 0x80:
            hash_ = hash_ * 31 + at[0]
            at += 1
        elif at[0] < 0xE0:
            hash_ = hash_ * 31 + ((at[0] & 0x1F) << 6 | (at[1] & 0x3F))
            at += 2
        elif at[0] < 0xF0:
            hash_ = hash_ * 31 + ((at[0] & 0x0F) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F))
            at += 3
        else:
            point = ((at[0] & 0x07) << 18 | (at[1] & 0x3F) << 12 | (at[2] & 0x3F) << 6 | (at[3] & 0x3F)) - 0x10000
            hash_ = (hash_ * 31 + (0xD800 | point >> 10)) * 31 + (0xDC00 | point & 0x3FF)
            at += 4
    return hash_ ^ hash_ >> 16


cdef const uint8_t *past_number(
    const uint8_t *start, const uint8_t *end, const uint8_t **last, bint is_printed
) except? NULL:
    """Return where a number ends, and where does ``last`` what Python writes, or Java prints, of its text.

    NULL where that is not at the beginning of its text.
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
    elif (first != start and first[0] == 0x30) or (not is_printed and at - first > WHOLE_DIGITS):
        return NULL
    if at < end and (at[0] | 0x20) == 0x65:
        return NULL
    return at


cdef const uint8_t *past_fraction(const uint8_t *start, const uint8_t *end) noexcept:
    """Return where a number with a point or an exponent ends; NULL where it is none, or Jackson may refuse it."""
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
    """Return what Python writes of the 64 bits that a number stands for, in memory to be freed."""
    cdef char text[LONGEST_NUMBER + 1]
    memcpy(text, start, end - start)
    text[end - start] = 0
    return PyOS_double_to_string(PyOS_string_to_double(text, NULL, NULL), b"r", 0, WITH_POINT, NULL)


cdef bint is_shortest(const uint8_t *start, const uint8_t *end) except -1:
    """Return whether Python writes a number so."""
    cdef char *found = shortest(start, end)
    cdef size_t length = end - start
    try:
        return strlen(found) == length and memcmp(found, start, length) == 0
    finally:
        PyMem_Free(found)


def write_lines(size_t content, size_t offsets, Py_ssize_t count, size_t out, size_t ends, size_t sure):
    """Write the lines that Java prints of so many JSON texts, and to ``ends`` and ``sure`` what `Rewriter.write` does.

    ``out`` has room for one byte more for each comma. Returns how many bytes were written.
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
        found = write_line(text + start[row], text + start[row + 1], at)
        is_sure[row] = found != NULL
        at = at if found == NULL else found
        end[row + 1] = <int32_t>(at - begin)
    return at - begin


cdef uint8_t *write_line(const uint8_t *at, const uint8_t *end, uint8_t *out) except? NULL:
    """Write one line; returns where it ends, NULL where its text needs a closer look."""
    cdef const uint8_t *behind
    cdef const uint8_t *last
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
            if behind == NULL:
                return NULL
            memcpy(out, at - 1, last + 1 - at)
            out += last + 1 - at
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


cdef uint8_t *write_unescaped(const uint8_t *at, const uint8_t *end, uint8_t *out) noexcept:
    """Write a string whose escapes are single letters; returns where it ends."""
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


cdef class Rewriter:
    """Writes texts of one way; ``MOVES`` or no way at all, which is to put all objects into the order of HashMaps."""

    cdef Member members[MOST_MEMBERS]
    cdef Member sorted[MOST_MEMBERS]
    cdef int32_t places[LARGEST_TABLE + 1]
    cdef Frame frames[DEEPEST]
    cdef Name names[MOST_NAMES]
    cdef int count, depth, names_count, taken
    cdef bint is_utf8, is_moving, keeps_others, is_leaving, is_copied
    cdef list added, owned
    cdef Py_ssize_t growth, grown
    cdef uint8_t *out
    cdef uint8_t *spare
    cdef size_t at, left_from

    def __init__(self, moves=None):
        """Take how to move members: the names of some with their new ones, None for those that are left out, whether
        others are kept, names and texts of those that are added, and whether the map is copied, or made for as many.
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
        self.owned.append((text, new_text))
        name.text, name.length = text, <int32_t>len(text)
        name.hash = hash_of(name.text, name.text + name.length)
        name.new_length = -1
        if new_text is not None:
            name.new_text, name.new_length = new_text, <int32_t>len(new_text)
            self.growth += max(0, name.new_length - name.length)
        self.names_count += 1

    def room(self, Py_ssize_t size, Py_ssize_t count):
        """Return how many bytes so many texts of a size may have."""
        cdef Py_ssize_t added = sum([len(name) + len(text) + 4 for name, text in self.added])
        return size + count * (self.growth + added) + 1

    def write(
        self, size_t content, size_t offsets, Py_ssize_t count, bint is_utf8, size_t out, size_t spare, size_t ends,
        size_t sure,
    ):
        """Write so many texts, and to ``ends`` (of 32 bits) 0 and where each ends, to ``sure`` which were written.

        ``out`` and ``spare`` have the ``room``. Returns how many bytes were written.
        """
        cdef const uint8_t *text = <const uint8_t *>content
        cdef const int64_t *start = <const int64_t *>offsets
        cdef int32_t *end = <int32_t *>ends
        cdef uint8_t *is_sure = <uint8_t *>sure
        cdef Py_ssize_t row
        self.out, self.spare, self.is_utf8, self.at = <uint8_t *>out, <uint8_t *>spare, is_utf8, 0
        end[0] = 0
        for row in range(count):
            is_sure[row] = self.row(text + start[row], text + start[row + 1])
            if not is_sure[row]:
                self.at = end[row]
            end[row + 1] = <int32_t>self.at
        return self.at

    cdef bint row(self, const uint8_t *at, const uint8_t *end) except -1:
        """Write one text; returns whether that could be done."""
        cdef Frame *frame
        cdef uint8_t byte
        cdef bint is_done
        self.count = self.depth = 0
        self.taken, self.grown, self.is_leaving = 0, 0, False
        at = past_space(at, end)
        if self.is_moving and (at == end or at[0] != 0x7B):
            return False
        while True:
            if at == end:
                return False
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
                    return False
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
                    return False
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
                    return False
                if frame.closing == 0x7D and not self.close(frame):
                    return False
                self.put(<uint8_t>frame.closing)
                self.depth -= 1
                at += 1

    cdef inline void put(self, uint8_t byte) noexcept:
        self.out[self.at] = byte
        self.at += 1

    cdef inline void copy(self, const uint8_t *start, size_t length) noexcept:
        memcpy(self.out + self.at, start, length)
        self.at += length

    cdef const uint8_t *scalar(self, const uint8_t *at, const uint8_t *end) except? NULL:
        """Write a scalar; returns what is behind it."""
        cdef size_t length
        if at[0] == 0x22:
            return self.string(at + 1, end)
        if at[0] == 0x2D or is_digit(at[0]):
            return self.number(at, end)
        length = 5 if at[0] == 0x66 else 4
        if <size_t>(end - at) < length:
            return NULL
        if memcmp(at, b"true", length) and memcmp(at, b"null", length) and memcmp(at, b"false", length):
            return NULL
        self.copy(at, length)
        return at + length

    cdef const uint8_t *string(self, const uint8_t *at, const uint8_t *end) noexcept:
        """Write a string, of which the quote was passed, with the escapes that Python writes; returns what is behind."""
        cdef const uint8_t *begin = at
        cdef uint8_t byte
        self.put(0x22)
        while at < end:
            byte = at[0]
            at += 1
            if byte == 0x22:
                self.copy(begin, at - begin)
                return at
            if byte < 0x20 or (byte >= 0x80 and not self.is_utf8):
                return NULL
            if byte == 0x5C:
                if at == end:
                    return NULL
                byte = at[0]
                if byte == 0x2F or byte == 0x75:
                    self.copy(begin, at - 1 - begin)
                    begin = at = at if byte == 0x2F else self.character(at + 1, end)
                    if at == NULL:
                        return NULL
                elif not is_letter_of_escape(byte):
                    return NULL
                at += byte != 0x75
        return NULL

    cdef const uint8_t *character(self, const uint8_t *at, const uint8_t *end) noexcept:
        """Write a character that is told by the digits of its code; returns what is behind them."""
        cdef int code = code_of(at, end), low
        cdef uint8_t letter
        at += 4
        if code < 0 or 0xDC00 <= code < 0xE000:
            return NULL
        if 0xD800 <= code < 0xDC00:
            low = code_of(at + 2, end) if end - at >= 6 and at[0] == 0x5C and at[1] == 0x75 else -1
            if not 0xDC00 <= low < 0xE000:
                return NULL
            code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
            at += 6
        if code < 0x20:
            letter = b"uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"[code]
            self.put(0x5C)
            self.put(letter)
            if letter == 0x75:
                self.copy(b"001" if code & 0x10 else b"000", 3)
                self.put(b"0123456789abcdef"[code & 0x0F])
        elif code < 0x80:
            if code == 0x22 or code == 0x5C:
                self.put(0x5C)
            self.put(<uint8_t>code)
        else:
            self.encode(code)
        return at

    cdef inline void encode(self, int code) noexcept:
        """Write a character beyond ASCII as UTF-8."""
        if code < 0x800:
            self.put(<uint8_t>(0xC0 | code >> 6))
        else:
            if code < 0x10000:
                self.put(<uint8_t>(0xE0 | code >> 12))
            else:
                self.put(<uint8_t>(0xF0 | code >> 18))
                self.put(<uint8_t>(0x80 | code >> 12 & 0x3F))
            self.put(<uint8_t>(0x80 | code >> 6 & 0x3F))
        self.put(<uint8_t>(0x80 | code & 0x3F))

    cdef const uint8_t *number(self, const uint8_t *at, const uint8_t *end) except? NULL:
        """Write a number as Python does; returns where it ends."""
        cdef const uint8_t *last
        cdef const uint8_t *found = past_number(at, end, &last, False)
        if found == NULL:
            return self.fraction(at, end)
        self.copy(at, last - at)
        return found

    cdef const uint8_t *fraction(self, const uint8_t *start, const uint8_t *end) except? NULL:
        """Write what Python does of the 64 bits that a number stands for, if it is no whole one; returns where it ends."""
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
        """Write a name and the colon behind it, and begin a member; returns where its value is."""
        cdef const uint8_t *last
        cdef const uint8_t *each
        if at == end or at[0] != 0x22 or self.count == MOST_MEMBERS:
            return NULL
        at += 1
        last = past_string(at, end, self.is_utf8)
        if last == NULL:
            return NULL
        each = at
        while each < last:
            if each[0] == 0x5C:
                return NULL
            each += 1
        if self.is_moving and self.depth == 1:
            self.left_from = self.at
            self.taken += 1
        if self.count > frame.first:
            self.put(0x2C)
        if not self.begin_member(at, last, self.is_moving and self.depth == 1):
            return NULL
        at = past_space(last + 1, end)
        if at == end or at[0] != 0x3A:
            return NULL
        return past_space(at + 1, end)

    cdef bint begin_member(self, const uint8_t *start, const uint8_t *end, bint is_moved) noexcept:
        """Write a name, or the one that it becomes; returns whether there is room for it."""
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
        """End the member whose value was written, or take it back."""
        if self.is_leaving and self.depth == 1:
            self.at, self.count = self.left_from, self.count - 1
        else:
            self.members[self.count - 1].end = self.at

    cdef bint close(self, Frame *frame) except -1:
        """Put the members of an object in order and forget them; returns whether that could be done."""
        cdef int first = frame.first
        cdef bint is_ordered
        if self.is_moving and self.depth == 1:
            is_ordered = self.add() and self.order(first, self.first_table())
        elif self.is_moving:
            is_ordered = True
        else:
            is_ordered = not self.is_tag(first) and self.order(first, 16)
        self.count = first
        return is_ordered

    cdef bint add(self) except -1:
        """Write the members that are added; returns whether there is room for them."""
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
        return not self.is_tag(0)

    cdef bint is_tag(self, int first) noexcept:
        """Return whether an object with these members looks like a tag."""
        cdef Member *member = &self.members[first]
        return self.count - first == 1 and member.length > 0 and self.out[member.start + 1] == 0x40

    cdef Py_ssize_t first_table(self) noexcept:
        """Return how large the table is before anything is put to it."""
        cdef Py_ssize_t size = 1, capacity = self.taken
        if self.is_copied:
            capacity = <Py_ssize_t>(self.taken / 0.75 + 1) if self.taken else 16
        while size < capacity:
            size *= 2
        return size

    cdef bint order(self, int first, Py_ssize_t size) noexcept:
        """Put members in the order of a HashMap; returns whether that could be done."""
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
                members = self.sort(members, count, mask)
                break
        for number in range(1, count):
            other = number - 1
            while other >= 0 and members[other].hash & mask == members[number].hash & mask:
                if self.is_same(&members[other], &members[number]):
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

    cdef bint is_same(self, Member *one, Member *other) noexcept:
        """Return whether two members have one name."""
        cdef size_t length = one.length
        if one.hash != other.hash or one.length != other.length:
            return False
        return memcmp(self.out + one.start, self.out + other.start, length + 1) == 0

    cdef Member *sort(self, Member *members, int count, uint32_t mask) noexcept:
        """Return members by their buckets, those of one as they came."""
        cdef int number, place
        if count <= FEW:
            for number in range(count):
                place = number
                while place and self.sorted[place - 1].hash & mask > members[number].hash & mask:
                    self.sorted[place] = self.sorted[place - 1]
                    place -= 1
                self.sorted[place] = members[number]
            return self.sorted
        memset(self.places, 0, (mask + 2) * sizeof(int32_t))
        for number in range(count):
            self.places[(members[number].hash & mask) + 1] += 1
        for number in range(1, <int>mask + 1):
            self.places[number] += self.places[number - 1]
        for number in range(count):
            place = members[number].hash & mask
            self.sorted[self.places[place]] = members[number]
            self.places[place] += 1
        return self.sorted
