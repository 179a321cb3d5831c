"""The elements of a Parquet schema, as a footer lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hearth_storage.format.compact_protocol import BINARY, I32, STRUCT, TRUE, Fields

REQUIRED, OPTIONAL, REPEATED = range(3)
BOOLEAN, INT32, INT64, _INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
_TYPE, _LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = 1, 2, 3, 4, 5, 6, 7, 8, 10
_UTC_MILLIS: Fields = {1: (TRUE, True), 2: (STRUCT, {1: (STRUCT, {})})}


@dataclass(frozen=True)
class Annotation:
    """What the values of an element mean: the converted type of old readers, and the member of the logical type."""

    converted: int
    logical: int | None
    detail: Fields = field(default_factory=dict)


STRING, MAP, LIST, ENUM, DATE = (Annotation(*each) for each in ((0, 1), (1, 2), (3, 3), (4, 4), (6, 6)))
MAP_KEY_VALUE = Annotation(2, None)
TIME_MILLIS = Annotation(7, 7, _UTC_MILLIS)
TIMESTAMP_MILLIS = Annotation(9, 8, _UTC_MILLIS)
_DECIMAL = 5


def decimal(scale: int, precision: int) -> Annotation:
    """Return the annotation of decimals."""
    return Annotation(_DECIMAL, _DECIMAL, {1: (I32, scale), 2: (I32, precision)})


@dataclass(frozen=True)
class Element:
    """A column, or a group of elements; the root group has no repetition."""

    name: str
    repetition: int | None
    type: int | None = None
    annotation: Annotation | None = None
    length: int = 0
    children: tuple[Element, ...] = ()

    @property
    def is_decimal(self) -> bool:
        """Return whether values are decimals."""
        return self.annotation is not None and self.annotation.converted == _DECIMAL

    def leaves(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Element]]:
        """Yield each column with its path, which begins below the root."""
        for each in self.children:
            path = (*above, each.name)
            if each.type is None:
                yield from each.leaves(path)
            else:
                yield path, each

    def forms(self) -> Iterator[Fields]:
        """Yield this element and those below it as the structs of a footer, depth first."""
        form: Fields = {}
        if self.type is not None:
            form[_TYPE] = (I32, self.type)
        if self.type == FIXED:
            form[_LENGTH] = (I32, self.length)
        if self.repetition is not None:
            form[_REPETITION] = (I32, self.repetition)
        form[_NAME] = (BINARY, self.name.encode())
        if self.type is None:
            form[_CHILDREN] = (I32, len(self.children))
        if self.annotation is not None:
            form |= _annotated(self.annotation)
        yield form
        for each in self.children:
            yield from each.forms()


def _annotated(annotation: Annotation) -> Fields:
    form: Fields = {_CONVERTED: (I32, annotation.converted)}
    if annotation.converted == _DECIMAL:
        form |= {_SCALE: annotation.detail[1], _PRECISION: annotation.detail[2]}
    if annotation.logical is None:
        return form
    return {**form, _LOGICAL: (STRUCT, {annotation.logical: (STRUCT, annotation.detail)})}
