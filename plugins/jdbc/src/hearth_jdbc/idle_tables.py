"""Asks for all tables that are due, in one statement, whether they have new rows.

A task may read hundreds of tables of which few change. Each would cost a query per interval to say that it has
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.table_reader import NewRowReader, TableReader

_MOST = 250
"""Tables of one statement."""

_log = logging.getLogger(__name__)


def rest_without_news(dialect: SourceDialect, connection: Any, readers: Sequence[TableReader]) -> None:
    """Let those readers rest for their interval whose tables have no row after the last one.

    A statement that fails says nothing, so that each reader finds out by itself which table is at fault.
    """
    asked = [each for each in readers if isinstance(each, NewRowReader) and each.may_ask]
    for start in range(0, len(asked) if len(asked) > 1 else 0, _MOST):
        some = asked[start : start + _MOST]
        try:
            (answers,) = dialect.rows(connection, f"SELECT {', '.join(each.question() for each in some)}")
        except dialect.Error as error:
            _log.debug("cannot ask %d tables at once: %s", len(some), error)
            answers = (True,) * len(some)
        for reader, has_news in zip(some, answers):
            reader.answer(bool(has_news))
