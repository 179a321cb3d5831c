"""A scalar that is another in each of many rows, for what changes values without schema many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hearth_api.schema import Schema


class UnlikeError(ValueError):
    """What was to be done to many values at once needs to know more of each; it is done to them one by one.

    Where `rows`, a mask, tells which of them are unlike the others, it is done to these and those by themselves.
    """

    def __init__(self, reason: str, rows: Any = None) -> None:
        """Take the reason, and the rows that are unlike the others if they are known: some, and not all."""
        super().__init__(reason, rows)
        self.rows = rows


class ScalarColumn(ABC):
    """What stands for the scalars of many values without schema that differ in nothing else.

    `hearth_api.layout` makes them. Whoever moves values about, gives them other names or leaves them out need not
    know. Who looks at one asks for its `column`; an `UnlikeError` says that the values are to be taken one by one.
    """

    @abstractmethod
    def column(self) -> tuple[Schema, Any]:
        """Return the values, nulls among them, as a column of their schema; an UnlikeError where they have several."""

    @property
    @abstractmethod
    def is_plain(self) -> bool:
        """Tell whether JSON has a word for the values: null, booleans, numbers and texts."""

    @property
    @abstractmethod
    def is_text(self) -> bool:
        """Tell whether the values are texts, which JSON has in quotes."""

    @abstractmethod
    def pieces(self) -> list[Any]:
        """Return what the JSON texts of the values, `null` where there is none, are joined of (`layout.join`)."""

    @abstractmethod
    def words(self) -> Any:
        """Return texts, without quotes and escapes, `null` where there is none, as such a piece."""

    @abstractmethod
    def part(self, mask: Any) -> ScalarColumn:
        """Return the scalars of the values for which a mask, a numpy array of booleans, is true."""

    @abstractmethod
    def retold(self, schema: Schema, column: Any) -> ScalarColumn:
        """Return the values as those of another schema, in its column, which are written with the same words.

        As a whole number is that becomes a text or a time: its digits stay where they stand, and are not written anew.
        """
