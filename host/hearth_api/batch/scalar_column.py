"""A placeholder for a scalar that differs in each of many rows, for changing many schemaless values at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hearth_api.schema import Schema


class UnlikeError(ValueError):
    """An operation on many values at once needs to examine each; it is then applied one by one.

    If the mask `rows` selects the values that differ from the others, the operation is applied to the two groups
    separately.
    """

    def __init__(self, reason: str, rows: Any = None) -> None:
        """Store the reason and, if known, the rows that differ: some, but not all."""
        super().__init__(reason, rows)
        self.rows = rows


class ScalarColumn(ABC):
    """Represents the scalars of many schemaless values that differ in nothing else.

    `hearth_api.layout` creates them. Code that moves, renames or drops values can ignore them. Code that reads one
    uses its `column`; an `UnlikeError` means that the values must be processed one by one.
    """

    @abstractmethod
    def column(self) -> tuple[Schema, Any]:
        """Return the values, including nulls, as a column with their schema; an UnlikeError if they have several."""

    @property
    @abstractmethod
    def is_plain(self) -> bool:
        """Return whether the values are plain JSON: null, booleans, numbers and texts."""

    @property
    @abstractmethod
    def is_text(self) -> bool:
        """Return whether the values are texts, which JSON quotes."""

    @abstractmethod
    def pieces(self) -> list[Any]:
        """Return the pieces that make up the JSON texts of the values, `null` for none (`layout.join`)."""

    @abstractmethod
    def words(self) -> Any:
        """Return texts as such a piece, without quotes and escapes, `null` for none."""

    @abstractmethod
    def part(self, mask: Any) -> ScalarColumn:
        """Return the scalars of the values selected by a mask, a numpy array of booleans."""

    @abstractmethod
    def retold(self, schema: Schema, column: Any) -> ScalarColumn:
        """Return the values with another schema and its column, which have the same JSON words.

        For example, an integer that becomes a text or a time keeps its digits, which are not written again.
        """
