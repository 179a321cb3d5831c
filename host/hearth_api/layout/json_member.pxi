# Members of objects and their order in a HashMap. Included after json_text.

from libc.string cimport memset

cdef enum:
    FEW = 16  # up to this many, insertion sort is faster


cdef struct Member:
    uint32_t hash
    int32_t length  # of its name
    size_t start  # position of the first quote of its written name
    size_t end


cdef struct Frame:
    int first  # its first member
    int closing


cdef struct Name:
    uint32_t hash
    int32_t length
    const uint8_t *text
    int32_t new_length  # -1 for a removed member
    const uint8_t *new_text


cdef inline bint is_tag(const uint8_t *out, Member *member, int count) noexcept:
    """Return whether an object with these members looks like a tag."""
    return count == 1 and member.length > 0 and out[member.start + 1] == 0x40


cdef inline Py_ssize_t first_table(Py_ssize_t count, bint is_copied) noexcept:
    """Return the size of a table created for ``count`` members, or as a copy of them."""
    cdef Py_ssize_t size = 1, capacity = count
    if is_copied:
        capacity = <Py_ssize_t>(count / 0.75 + 1) if count else 16
    while size < capacity:
        size *= 2
    return size


cdef inline bint is_same(const uint8_t *out, Member *one, Member *other) noexcept:
    """Return whether two members have the same name."""
    cdef size_t length = one.length
    if one.hash != other.hash or one.length != other.length:
        return False
    return memcmp(out + one.start, out + other.start, length + 1) == 0


cdef Member *sort(Member *members, Member *made, int32_t *places, int count, uint32_t mask) noexcept:
    """Return members sorted by bucket, in insertion order within each."""
    cdef int number, place
    if count <= FEW:
        for number in range(count):
            place = number
            while place and made[place - 1].hash & mask > members[number].hash & mask:
                made[place] = made[place - 1]
                place -= 1
            made[place] = members[number]
        return made
    memset(places, 0, (mask + 2) * sizeof(int32_t))
    for number in range(count):
        places[(members[number].hash & mask) + 1] += 1
    for number in range(1, <int>mask + 1):
        places[number] += places[number - 1]
    for number in range(count):
        place = members[number].hash & mask
        made[places[place]] = members[number]
        places[place] += 1
    return made
