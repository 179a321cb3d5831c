# JSON scalars that are written differently from their source text. Included after json_text.


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


cdef inline int code_of(const uint8_t *at, const uint8_t *end) noexcept:
    """Return the value of four hexadecimal digits, -1 if they are not."""
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


cdef const uint8_t *copy_string(const uint8_t *at, const uint8_t *end, bint is_utf8, uint8_t **out) noexcept:
    """Write a string after its opening quote, and advance ``out``; return the position after its text."""
    cdef uint8_t *to = out[0]
    cdef const uint8_t *begin = at
    cdef uint8_t byte
    to[0] = 0x22
    to += 1
    at = past_plain(at, end, is_utf8)
    while at < end:
        byte = at[0]
        at += 1
        if byte == 0x22:
            memcpy(to, begin, at - begin)
            out[0] = to + (at - begin)
            return at
        if byte < 0x20 or (byte >= 0x80 and not is_utf8):
            return NULL
        if byte == 0x5C:
            if at == end:
                return NULL
            if at[0] == 0x2F or at[0] == 0x75:
                memcpy(to, begin, at - 1 - begin)
                to += at - 1 - begin
                begin = at
                if at[0] == 0x75:
                    begin = copy_character(at + 1, end, &to)
                    if begin == NULL:
                        return NULL
                    at = begin
                    continue
            elif not is_letter_of_escape(at[0]):
                return NULL
            at += 1
    return NULL


cdef const uint8_t *copy_character(const uint8_t *at, const uint8_t *end, uint8_t **out) noexcept:
    """Write a character given by the digits of its code; return the position after them."""
    cdef int code = code_of(at, end), low
    cdef uint8_t *to = out[0]
    at += 4
    if code < 0 or 0xDC00 <= code < 0xE000:
        return NULL
    if 0xD800 <= code < 0xDC00:
        low = code_of(at + 2, end) if end - at >= 6 and at[0] == 0x5C and at[1] == 0x75 else -1
        if not 0xDC00 <= low < 0xE000:
            return NULL
        code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
        at += 6
    if code < 0x20 or code == 0x22 or code == 0x5C:
        to[0] = 0x5C
        to += 1
    if code < 0x20:
        to[0] = b"uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"[code]
        if to[0] == 0x75:
            to[1], to[2] = 0x30, 0x30
            to[3], to[4] = 0x30 + (code >> 4), b"0123456789abcdef"[code & 0x0F]
            to += 4
        to += 1
    elif code < 0x80:
        to[0] = <uint8_t>code
        to += 1
    else:
        to += encode(code, to)
    out[0] = to
    return at


cdef inline int encode(int code, uint8_t *to) noexcept:
    """Write a non-ASCII character as UTF-8; return the number of bytes."""
    cdef int size = 2 if code < 0x800 else 3 if code < 0x10000 else 4, place
    for place in range(size - 1, 0, -1):
        to[place] = 0x80 | code & 0x3F
        code >>= 6
    to[0] = <uint8_t>((0xF00 >> size & 0xFF) | code)
    return size


cdef const uint8_t *past_name(const uint8_t *at, const uint8_t *end) noexcept:
    """Return the position of a name's closing quote, given that after its opening one; NULL if it holds an escape."""
    while at < end and at[0] != 0x22:
        if at[0] == 0x5C or at[0] < 0x20:
            return NULL
        at += 1
    if at == end:
        return NULL
    return at


cdef bint is_open(const uint8_t *at, const uint8_t *end, bint is_utf8) noexcept:
    """Return whether a string, after its opening quote, is unterminated and otherwise plain."""
    while at < end:
        if at[0] == 0x22 or at[0] == 0x5C or at[0] < 0x20 or (at[0] >= 0x80 and not is_utf8):
            return False
        at += 1
    return True


cdef inline bint begins_word(uint8_t byte) noexcept:
    """Return whether the byte starts a word that some JSON reader accepts: `true`, `false`, `null`, `NaN`,
    `Infinity`."""
    return byte == 0x74 or byte == 0x66 or byte == 0x6E or byte == 0x4E or byte == 0x49


cdef bint is_ascii(const uint8_t *at, const uint8_t *end) noexcept:
    while at < end:
        if at[0] >= 0x80:
            return False
        at += 1
    return True
