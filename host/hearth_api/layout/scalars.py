"""The scalars of many schemaless values: cut out of their texts, or given as a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch.column import arrow_type, column_to_values
from hearth_api.batch.scalar_column import ScalarColumn, UnlikeError
from hearth_api.batch.wire import plain_to_json, strict_json
from hearth_api.layout.spans import Spans, as_string, constant, join, memory, nulled, replaced, rows_of
from hearth_api.layout.template import Fitting, Template
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.schema import BOOLEAN_SCHEMA, FLOAT64_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema, Type

# Numbers that Python, Java and orjson print identically.
_NUMBER = (
    r"^(?:0|-?(?:[1-9][0-9]{0,17}|[1-8][0-9]{18})|0\.0|-?[1-9][0-9]{0,6}\.(?:0|[0-9]{0,7}[1-9])"
    r"|-?0\.0{0,2}(?:[1-9]|[1-9][0-9]{0,7}[1-9]))$"
)
# A fraction without exponent and with any number of digits.
_FRACTION = r"^-?(?:[1-9][0-9]{0,6}\.|0\.0{0,2}[1-9])[0-9]{1,20}$"
_MOST_DIGITS = 18
_ZERO, _MINUS, _POINT = b"0-."
_N, _T, _F = b"ntf"
_QUOTE, _BACKSLASH = b'"\\'
_PRINTED = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)
_TIMES: dict[str, Schema] = {"@timestamp": Timestamp.SCHEMA, "@date": Date.SCHEMA, "@time": Time.SCHEMA}
_TAGS: dict[str | None, str] = {schema.name: tag for tag, schema in _TIMES.items()}
_PHYSICAL = pa.int64()
_WORD_TRUE, _WORD_NULL, _END_OF_FALSE = (int.from_bytes(each, "little") for each in (b"true", b"null", b"alse"))
_NULL, _TRUE = constant("null"), constant("true")


class ScalarPlace(NamedTuple):
    """The position of a scalar: the index of its place, and its tag."""

    number: int
    tag: str | None


class ScalarsOfColumn(ScalarColumn):
    """The values of a column, without its schema."""

    def __init__(self, schema: Schema, column: Any, words: Any = None) -> None:
        """Store a column of values of a schema, and, if known, the piece with their words.

        The piece contains no escapes and no nulls.
        """
        self._schema, self._column, self._words = schema, column, words

    def column(self) -> tuple[Schema, Any]:
        """Return both."""
        return self._schema, self._column

    @property
    def is_plain(self) -> bool:
        """Return it by the schema."""
        return self._schema.name is None and self._schema.type is not Type.BYTES

    @property
    def is_text(self) -> bool:
        """Return it by the schema."""
        return self.is_plain and self._schema.type is Type.STRING

    def pieces(self) -> list[Any]:
        """Return the texts and their quotes or tags; numbers are not examined one by one."""
        pieces = self._pieces()
        if not self._column.null_count:
            return pieces
        return [as_string(join(pieces, len(self._column))).fill_null(_NULL)]

    def _pieces(self) -> list[Any]:
        """Return pieces that are null where the value is null."""
        schema, column, words = self._schema, self._column, self._words
        if schema.name in _TAGS:
            numbers = column.cast(_PHYSICAL).cast(pa.string()) if words is None else words
            return [f'{{"{_TAGS[schema.name]}":'.encode(), numbers, b"}"]
        if self.is_plain and schema.type in _PRINTED:
            return [column.cast(pa.string()) if words is None else words]
        if self.is_text:
            return [b'"', _escaped(column) if words is None else words, b'"']
        return [pa.array([plain_to_json(each) for each in column_to_values(schema, column)], pa.string())]

    def words(self) -> Any:
        """Return the piece with the words if known, else the column."""
        return self._column.fill_null(_NULL) if self._words is None else self._words

    def part(self, mask: Any) -> ScalarColumn:
        """Return part of the column."""
        words = self._words
        if words is not None:
            words = words.part(mask) if isinstance(words, Spans) else words.filter(pa.array(mask))
        return ScalarsOfColumn(self._schema, self._column.filter(pa.array(mask)), words)

    def retold(self, schema: Schema, column: Any) -> ScalarColumn:
        """Return the column, with the same words if known."""
        return ScalarsOfColumn(schema, column, self._words)


class Scalars(ScalarColumn):
    """The content of one place in texts with the same layout."""

    def __init__(self, template: Template, fitting: Fitting, place: ScalarPlace) -> None:
        """Store the texts and the place."""
        self.template, self.fitting, self.place, self.tag = template, fitting, place.number, place.tag
        self._opens = fitting.opens(self.place)

    def column(self) -> tuple[Schema, Any]:
        """Return the values; those with a tag for numbers are dates and times."""
        if not isinstance(self._opens, bool):
            others = self.fitting.spans(self.place).part(~self._opens)
            if (others.content[others.starts] != _N).any():
                raise UnlikeError("values of several kinds", self._opens)
        texts = as_string(self.fitting.texts(self.place))
        found = _typed(texts) if self._opens is False else (STRING_SCHEMA, self._texts(texts))
        if self.tag is None:
            return found
        schema = _TIMES.get(self.tag)
        if schema is None or found[0] is not INT64_SCHEMA or found[1].null_count:
            raise UnlikeError(f"a value with the tag {self.tag}")
        return schema, found[1].cast(arrow_type(schema))

    def _texts(self, texts: Any) -> Any:
        """Return texts without escapes, null for the unquoted word `null`."""
        escaped = self.fitting.escaped(self.place)
        texts = _replaced(texts, escaped, lambda text: strict_json(f'"{text}"'))
        if self._opens is True:
            return texts
        return nulled(texts, ~self._opens)

    @property
    def is_plain(self) -> bool:
        """Return whether there is no tag."""
        return self.tag is None

    @property
    def is_text(self) -> bool:
        """Return whether some values are quoted."""
        return self._opens is not False and self.is_plain

    def pieces(self) -> list[Any]:
        """Return the content of the place, with its quotes and without its tag."""
        return [self.fitting.between(self.place, self.place)]

    def words(self) -> Any:
        """Return the content of the place without its quotes, which a null does not have."""
        if len(self.fitting.escaped(self.place)):
            return self.column()[1].fill_null(_NULL)
        return self.fitting.spans(self.place)

    def part(self, mask: Any) -> ScalarColumn:
        """Return the content of the place in some of the texts."""
        return Scalars(self.template, self.fitting.only(mask), ScalarPlace(self.place, self.tag))

    def retold(self, schema: Schema, column: Any) -> ScalarColumn:
        """Return the column with this content as its words, unless one of them is null or has an escape."""
        is_whole = not column.null_count and not len(self.fitting.escaped(self.place))
        return ScalarsOfColumn(schema, column, self.fitting.spans(self.place) if is_whole else None)


def are_scalars(texts: Any) -> Any:
    """Return which texts are JSON literals, or numbers with a unique printed form; None if all are."""
    content, offsets = memory(texts)
    sizes = np.diff(offsets)
    is_negative = content[offsets[:-1]] == _MINUS
    if np.count_nonzero(content - _ZERO > 9) == np.count_nonzero(is_negative) and sizes.max() <= _MOST_DIGITS:
        firsts = content.take(offsets[:-1] + is_negative, mode="clip")
        odd = (firsts == _ZERO) & (sizes > 1) | (is_negative & (sizes == 1))
        return None if not odd.any() else ~odd
    are_words = _are_words(content, offsets, sizes)
    if are_words.all():
        return None
    texts, found = as_string(texts), pa.array(are_words)
    for also in (_have_few_digits, _are_shortest):
        if found.true_count == len(texts):
            return None
        found = pc.or_(found, also(texts))
    return None if found.true_count == len(texts) else found.to_numpy(zero_copy_only=False)


def _are_words(content: Any, offsets: Any, sizes: Any) -> Any:
    """Return which texts are true, false or null, by the last four bytes and the size of each."""
    lasts = np.ndarray((len(content) + 1,), "<u4", bytes(4) + content.tobytes(), strides=(1,))[offsets[1:]]
    are_short = (sizes == 4) & ((lasts == _WORD_TRUE) | (lasts == _WORD_NULL))
    return are_short | ((sizes == 5) & (lasts == _END_OF_FALSE) & (content[offsets[:-1]] == _F))


def _have_few_digits(texts: Any) -> Any:
    return pc.match_substring_regex(texts, _NUMBER)


def _are_shortest(texts: Any) -> Any:
    """Return which texts are fractions with many digits, all of them needed."""
    fractions = pc.if_else(pc.match_substring_regex(texts, _FRACTION), texts, pa.scalar(None, pa.string()))
    return pc.equal(fractions.cast(pa.float64()).cast(pa.string()), fractions).fill_null(False)


def _typed(texts: Any) -> tuple[Schema, Any]:
    """Return unquoted scalars as a column, if they are of one kind apart from nulls."""
    content, offsets = memory(texts)
    firsts = content[offsets[:-1]]
    nulls = firsts == _N
    if nulls.any():
        texts = nulled(texts, nulls)
    are_words = (firsts == _T) | (firsts == _F)
    if are_words.any():
        if not (are_words | nulls).all():
            raise UnlikeError("values of several kinds", are_words)
        return BOOLEAN_SCHEMA, pc.equal(texts, _TRUE)
    points = np.flatnonzero(content == _POINT)
    if len(points) not in (0, len(texts) - np.count_nonzero(nulls)):
        raise UnlikeError("values of several kinds", np.isin(np.arange(len(texts)), rows_of(points, offsets)))
    return (FLOAT64_SCHEMA, texts.cast(pa.float64())) if len(points) else (INT64_SCHEMA, texts.cast(pa.int64()))


def _escaped(texts: Any) -> Any:
    """Return texts in their escaped form; few of them need a change."""
    content, offsets = memory(texts)
    odd = np.flatnonzero((content < 0x20) | (content == _QUOTE) | (content == _BACKSLASH))
    return _replaced(texts, rows_of(odd, offsets), lambda text: plain_to_json(text)[1:-1])


def _replaced(texts: Any, rows: Any, change: Callable[[str], str]) -> Any:
    """Return texts with those of some rows changed; raise an UnlikeError if a column cannot hold the result."""
    try:
        return replaced(texts, rows, change)
    except ValueError as error:
        raise UnlikeError("half a character, which no column can hold") from error
