"""Builds the headers of many records from the parts of their column, in one loop."""

from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLongLong
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from hearth_api.header cimport Header, Headers

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, PyObject *) except? -1.0

cdef enum:
    MOST_KNOWN = 32  # texts that are found by comparing memory; a dictionary finds any others
    MOST_EXPECTED = 16  # headers of a row whose names and schemas are expected to be as in the row before
    SHARED = 64  # headers that may be shared by records, a power of two
    MOST_DIGITS = 18  # an integer with at most this many digits fits 64 bits
    MOST_EXACT_DIGITS = 15  # of an integer that is a double, and so is the power of ten with as many zeros
    MOST_CHARACTERS = 40  # of a number

cdef double[16] POWERS = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15]


cdef class Texts:
    """The memory of an Arrow string array: addresses of bytes, offsets and validity (0: no nulls), and its offset."""

    cdef const char *data
    cdef const int32_t *start
    cdef const uint8_t *valid
    cdef Py_ssize_t first

    def __cinit__(self, size_t data, size_t offsets, size_t validity, Py_ssize_t first):
        self.data, self.valid, self.first = <const char *>data, <const uint8_t *>validity, first
        self.start = <const int32_t *>offsets + first

    cdef inline bint is_null(self, Py_ssize_t at) noexcept:
        return self.valid is not NULL and not self.valid[(self.first + at) >> 3] >> ((self.first + at) & 7) & 1

    cdef inline Py_ssize_t length(self, Py_ssize_t at) noexcept:
        return self.start[at + 1] - self.start[at]

    cdef inline bint are_same(self, Py_ssize_t one, Py_ssize_t other) noexcept:
        cdef Py_ssize_t length = self.length(one)
        if length != self.length(other) or self.is_null(one) != self.is_null(other):
            return False
        return not memcmp(self.data + self.start[one], self.data + self.start[other], length)

    cdef inline size_t hashed(self, Py_ssize_t at) noexcept:
        """Return a number that differs for most texts that differ."""
        cdef Py_ssize_t place = self.start[at], end = self.start[at + 1]
        cdef size_t found = self.is_null(at)
        for place in range(max(place, end - 16), end):
            found = 31 * found + <uint8_t>self.data[place]
        return found ^ (found >> 7)

    cdef inline object text(self, Py_ssize_t at):
        return PyUnicode_DecodeUTF8(self.data + self.start[at], self.length(at), NULL)


cdef class Kind:
    """A schema and the letter of its values; headers whose values wait to be read together, and their texts.

    The letter is `u` for texts, `i` for integers, `f` for FLOAT32, `d` for FLOAT64, `?` for truth values, `o` for
    others.
    """

    cdef object schema
    cdef int letter
    cdef list headers, texts

    def __cinit__(self, object schema, str letter):
        self.schema, self.letter, self.headers, self.texts = schema, ord(letter), [], []


cdef class Known:
    """The different texts of an array, numbered as they are met, and what ``make`` returned for each."""

    cdef Texts texts
    cdef object make
    cdef list made
    cdef dict numbers
    cdef Py_ssize_t[MOST_KNOWN] places

    def __cinit__(self, Texts texts not None, object make):
        self.texts, self.make, self.made, self.numbers = texts, make, [], {}

    cdef Py_ssize_t number(self, Py_ssize_t at, Py_ssize_t expected) except -1:
        """Return the number of the text at a place, which is probably the expected one."""
        cdef Py_ssize_t number, count = min(len(self.made), MOST_KNOWN)
        if expected < count and self.texts.are_same(at, self.places[expected]):
            return expected
        for number in range(count):
            if self.texts.are_same(at, self.places[number]):
                return number
        text = None if self.texts.is_null(at) else self.texts.text(at)
        known = self.numbers.get(text)
        if known is not None:
            return known
        number = len(self.made)
        self.made.append(text if self.make is None else self.make(text))
        self.numbers[text] = number
        if number < MOST_KNOWN:
            self.places[number] = at
        return number


def build_rows(
    Py_ssize_t count, size_t offsets, size_t validity, Py_ssize_t first,
    Texts names not None, Texts schemas not None, Texts values not None, kind_of, read_all
):
    """Return one ``Headers`` for each row that has some, else ``None``.

    The first four arguments describe the lists: their number, the addresses of offsets and validity, and the array's
    offset. ``kind_of`` returns the `Kind` of a schema's text; ``read_all(schema, texts)`` the values of texts that
    this loop does not read.
    """
    cdef const int32_t *end_of = <const int32_t *>offsets + first
    cdef const uint8_t *valid = <const uint8_t *>validity
    cdef Known keys = Known(names, None), kinds = Known(schemas, kind_of)
    cdef Py_ssize_t[MOST_EXPECTED] key_at, kind_at  # numbers in the row before, by the header's place
    cdef Py_ssize_t[SHARED] shared_key, shared_kind, shared_at  # numbers of a header, and its place
    cdef list shared = [None] * SHARED
    cdef Py_ssize_t row, place, at, key, number, slot
    cdef Headers own
    cdef Header header
    cdef Kind kind
    cdef tuple items
    cdef list found = []
    cdef bint is_null
    for place in range(MOST_EXPECTED):
        key_at[place] = kind_at[place] = 0
    for row in range(count):
        is_null = valid is not NULL and not valid[(first + row) >> 3] >> ((first + row) & 7) & 1
        if is_null or end_of[row] == end_of[row + 1]:
            found.append(None)
            continue
        items = PyTuple_New(end_of[row + 1] - end_of[row])
        for at in range(end_of[row], end_of[row + 1]):
            place = at - end_of[row]
            key = keys.number(at, key_at[place] if place < MOST_EXPECTED else 0)
            number = kinds.number(at, kind_at[place] if place < MOST_EXPECTED else 0)
            if place < MOST_EXPECTED:
                key_at[place], kind_at[place] = key, number
            slot = (values.hashed(at) + 7 * key) % SHARED
            header = <Header>shared[slot]
            if (
                header is None or shared_key[slot] != key or shared_kind[slot] != number
                or not values.are_same(at, shared_at[slot])
            ):
                kind = <Kind>kinds.made[number]
                header = Header.__new__(Header)
                header.key = keys.made[key]
                header._schema = kind.schema
                if values.is_null(at):
                    header.value = None
                elif not is_read(kind.letter, values, at, header):
                    kind.headers.append(header)
                    kind.texts.append(values.text(at))
                    slot = -1  # such a value may change
                if slot >= 0:
                    shared[slot], shared_key[slot], shared_kind[slot], shared_at[slot] = header, key, number, at
            Py_INCREF(header)
            PyTuple_SET_ITEM(items, place, header)
        own = Headers.__new__(Headers)
        own._items = items
        own._parts = ()
        found.append(own)
    for kind in kinds.made:
        if kind.headers:
            for waiting, value in zip(kind.headers, read_all(kind.schema, kind.texts), strict=True):
                (<Header>waiting).value = value
    return found


cdef bint is_read(int letter, Texts texts, Py_ssize_t at, Header header) except -1:
    """Set the value of a header; return whether its text is one that can be read here."""
    cdef const char *text = texts.data + texts.start[at]
    cdef Py_ssize_t length = texts.length(at)
    cdef int64_t number
    cdef double wide
    if letter == c"u":
        header.value = PyUnicode_DecodeUTF8(text, length, NULL)
    elif letter == c"i" and is_whole(text, length, &number):
        header.value = PyLong_FromLongLong(number)
    elif (letter == c"d" or letter == c"f") and is_number(text, length, &wide):
        header.value = PyFloat_FromDouble(<float>wide if letter == c"f" else wide)
    elif letter == c"?" and length == 4 and not memcmp(text, b"true", 4):
        header.value = True
    elif letter == c"?" and length == 5 and not memcmp(text, b"false", 5):
        header.value = False
    else:
        return False
    return True


cdef bint is_whole(const char *text, Py_ssize_t length, int64_t *number) noexcept:
    """Return whether a text is an integer in JSON, of few digits."""
    cdef bint is_negative = length > 0 and text[0] == c"-"
    cdef Py_ssize_t place
    number[0] = 0
    if not 0 < length - is_negative <= MOST_DIGITS or (text[is_negative] == c"0" and length > 1):
        return False
    for place in range(is_negative, length):
        if not c"0" <= text[place] <= c"9":
            return False
        number[0] = 10 * number[0] + (text[place] - c"0")
    if is_negative:
        number[0] = -number[0]
    return True


cdef bint is_number(const char *text, Py_ssize_t length, double *number) except -1:
    """Return whether a text is a number with a fraction or an exponent in JSON."""
    cdef char own[MOST_CHARACTERS + 1]
    cdef bint is_negative = length > 0 and text[0] == c"-"
    cdef Py_ssize_t at = is_negative, start = at, point
    if length > MOST_CHARACTERS:
        return False
    at = behind_digits(text, at, length)
    if at == start or (text[start] == c"0" and at > start + 1) or at == length:
        return False
    if text[at] == c".":
        point = at
        at = behind_digits(text, point + 1, length)
        if at == point + 1:
            return False
        if at == length and length - start - 1 <= MOST_EXACT_DIGITS:
            number[0] = exact(text, start, point, length)
            if is_negative:
                number[0] = -number[0]
            return True
    if at < length and (text[at] == c"e" or text[at] == c"E"):
        at += 1
        if at < length and (text[at] == c"+" or text[at] == c"-"):
            at += 1
        start = at
        at = behind_digits(text, start, length)
        if at == start:
            return False
    if at < length:
        return False
    memcpy(own, text, length)
    own[length] = 0
    number[0] = PyOS_string_to_double(own, NULL, NULL)
    return True


cdef inline double exact(const char *text, Py_ssize_t start, Py_ssize_t point, Py_ssize_t end) noexcept:
    """Return the double nearest to few digits with a point: the quotient of two doubles that are exact."""
    cdef int64_t digits = 0
    cdef Py_ssize_t place
    for place in range(start, end):
        if place != point:
            digits = 10 * digits + (text[place] - c"0")
    return <double>digits / POWERS[end - point - 1]


cdef inline Py_ssize_t behind_digits(const char *text, Py_ssize_t at, Py_ssize_t length) noexcept:
    while at < length and c"0" <= text[at] <= c"9":
        at += 1
    return at
