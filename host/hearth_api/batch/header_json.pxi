"""Finds the schemas of arrays and maps written in JSON, whose text is the value's text in a headers column.

Left out: escapes, fractions, dates and times, empty maps, keys that are repeated or start with ``@``, nulls beside
other values, arrays or maps of different schemas beside each other, and texts with blank parts, which Kafka Connect
drops.
"""

cdef enum:
    MOST_SHAPES = 255
    MOST_LEVELS = 50
    MOST_KEYS = 32
    MIXED = -1  # the values of an array or a map have no common schema

cdef struct Shapes:  # the schemas of arrays and maps, numbered from NOTHING + 1
    int count
    uint8_t is_map[MOST_SHAPES + 1]
    uint8_t items[MOST_SHAPES + 1]  # the number of the schema of the values, NOTHING if there is none
    uint8_t known[2][MOST_SHAPES + 1]  # arrays and maps by the schema of their values


cdef int write_json(const uint8_t *text, const uint8_t *end, char **out, Shapes *shapes) noexcept:
    """Write a text if it is an array or a map."""
    cdef const uint8_t *at = text
    cdef int shape = shape_of(&at, end, 0, shapes)
    if shape == UNPARSED or at != end:
        return UNPARSED
    memcpy(out[0], text, end - text)
    out[0] += end - text
    return shape


cdef int shape_of(const uint8_t **at, const uint8_t *end, int level, Shapes *shapes) noexcept:
    """Read a value and return the number of its schema."""
    cdef int first = visible(at, end)
    if first == c'"':
        return TEXT if skip_text(at, end) else UNPARSED
    if first == c"[":
        return shape_of_array(at, end, level + 1, shapes)
    if first == c"{":
        return shape_of_map(at, end, level + 1, shapes)
    if first == c"-" or is_digit(first):
        return kind_of_number(at, end)
    if end - at[0] >= 4 and not memcmp(at[0], b"null", 4):
        at[0] += 4
        return NOTHING
    if end - at[0] >= 4 and not memcmp(at[0], b"true", 4):
        at[0] += 4
        return TRUTH
    if end - at[0] >= 5 and not memcmp(at[0], b"false", 5):
        at[0] += 5
        return TRUTH
    return UNPARSED


cdef int shape_of_array(const uint8_t **at, const uint8_t *end, int level, Shapes *shapes) noexcept:
    cdef int shape, common = NOTHING
    cdef bint has_null = False
    at[0] += 1
    if level > MOST_LEVELS:
        return UNPARSED
    if visible(at, end) != c"]":
        while True:
            shape = shape_of(at, end, level, shapes)
            if shape == UNPARSED:
                return UNPARSED
            has_null = has_null or shape == NOTHING
            common = common_shape(common, shape, shapes)
            if common == UNPARSED:
                return UNPARSED
            if visible(at, end) != c",":
                break
            at[0] += 1
    return closed(at, end, c"]", common, has_null, shapes)


cdef int shape_of_map(const uint8_t **at, const uint8_t *end, int level, Shapes *shapes) noexcept:
    cdef const uint8_t *keys[MOST_KEYS]
    cdef int sizes[MOST_KEYS]
    cdef int shape, count = 0, common = NOTHING
    cdef bint has_null = False
    at[0] += 1
    if level > MOST_LEVELS:
        return UNPARSED
    while True:
        if count == MOST_KEYS or visible(at, end) != c'"':
            return UNPARSED
        keys[count] = at[0] + 1
        if not skip_text(at, end):
            return UNPARSED
        sizes[count] = <int>(at[0] - 1 - keys[count])
        if not is_new_key(keys, sizes, count) or visible(at, end) != c":":
            return UNPARSED
        count += 1
        at[0] += 1
        shape = shape_of(at, end, level, shapes)
        if shape == UNPARSED:
            return UNPARSED
        has_null = has_null or shape == NOTHING
        common = common_shape(common, shape, shapes)
        if common == UNPARSED:
            return UNPARSED
        if visible(at, end) != c",":
            break
        at[0] += 1
    return closed(at, end, c"}", common, has_null, shapes)


cdef bint is_new_key(const uint8_t **keys, int *sizes, int count) noexcept:
    """Return whether the last key is none of those before it, and no tag."""
    cdef int number
    if sizes[count] and keys[count][0] == c"@":
        return False
    for number in range(count):
        if sizes[number] == sizes[count] and not memcmp(keys[number], keys[count], sizes[count]):
            return False
    return True


cdef int closed(
    const uint8_t **at, const uint8_t *end, int closing, int common, bint has_null, Shapes *shapes
) noexcept:
    """Leave an array or a map and return the number of its schema."""
    cdef int items = NOTHING if common == MIXED else common
    cdef uint8_t *known = shapes.known[closing == c"}"]
    if visible(at, end) != closing or (has_null and items != NOTHING):
        return UNPARSED
    at[0] += 1
    if not known[items]:
        if shapes.count == MOST_SHAPES:
            return UNPARSED
        shapes.count += 1
        shapes.is_map[shapes.count] = closing == c"}"
        shapes.items[shapes.count] = <uint8_t>items
        known[items] = <uint8_t>shapes.count
    return known[items]


cdef int common_shape(int common, int shape, Shapes *shapes) noexcept:
    """Return the schema that earlier values and the next one share."""
    if shape == NOTHING or common == MIXED:
        return common
    if common == NOTHING or common == shape:
        return shape
    if common > NOTHING and shape > NOTHING and shapes.is_map[common] == shapes.is_map[shape]:
        return UNPARSED  # Kafka Connect takes the schema of the last, which may not fit the others
    if BYTE <= common <= LONG and BYTE <= shape <= LONG:
        return max(common, shape)
    return MIXED


cdef int kind_of_number(const uint8_t **at, const uint8_t *end) noexcept:
    cdef bint is_negative = at[0][0] == c"-"
    cdef const uint8_t *first = at[0] + is_negative
    cdef const uint8_t *behind = first
    while behind < end and is_digit(behind[0]):
        behind += 1
    if not 0 < behind - first <= MOST_DIGITS or (first[0] == c"0" and behind > first + 1):
        return UNPARSED
    if behind < end and (behind[0] == c"." or behind[0] == c"e" or behind[0] == c"E"):
        return UNPARSED
    at[0] = behind
    return kind_of_whole(-number_of(first, behind) if is_negative else number_of(first, behind))


cdef bint skip_text(const uint8_t **at, const uint8_t *end) noexcept:
    """Pass a text in quotes; return whether it stands for itself."""
    cdef const uint8_t *first = at[0] + 1
    cdef const uint8_t *here = first
    cdef bint has_dash = False, has_delimiter = False, is_blank = False, is_ascii = True, has_blank_part = False
    while True:
        if here == end or here[0] == c"\\" or here[0] < 0x20:
            return False
        if here[0] == c'"' or is_delimiter(here[0]):
            has_blank_part = has_blank_part or is_blank
            is_blank = False
            if here[0] == c'"':
                break
            has_delimiter = True
        elif here[0] == 0x20:
            is_blank = is_blank or here == first or is_delimiter(here[-1])
        else:
            is_blank = False
            has_dash = has_dash or here[0] == c"-"
            is_ascii = is_ascii and here[0] < 0x80
        here += 1
    at[0] = here + 1
    if has_blank_part:
        return False
    if not has_dash and not has_delimiter:
        return True
    # It may be a date or a time.
    if not is_ascii or here - first == 10 or here - first == 13 or here - first == 24:
        return not (is_digit(first[0]) or first[0] == c"-" or first[0] == 0x20 or first[0] >= 0x80)
    return True


cdef inline bint is_delimiter(int byte) noexcept:
    return byte == c":" or byte == c"," or byte == c"[" or byte == c"]" or byte == c"{" or byte == c"}"


cdef inline int visible(const uint8_t **at, const uint8_t *end) noexcept:
    """Skip blanks and return the next character, -1 at the end."""
    while at[0] < end and (at[0][0] == 0x20 or at[0][0] == c"\t" or at[0][0] == c"\n" or at[0][0] == c"\r"):
        at[0] += 1
    return at[0][0] if at[0] < end else -1
