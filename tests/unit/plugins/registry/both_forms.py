"""The results of both forms of a registry converter for the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hearth_api import DataError
from hearth_api.batch import PartlyFailed
from hearth_execution.failure import summary_of
from hearth_registry.registry_converter import RegistryConverter
from tests.unit.run_order import values_in_order


def in_records(converter: RegistryConverter, cell: bytes | None) -> Any:
    """Return schema and value of a cell, or its error message."""
    try:
        found = converter.to_connect_data("t", cell)
    except DataError as error:
        return summary_of(error)
    return found.schema, found.value


def in_columns(converter: RegistryConverter, cells: Sequence[bytes | None]) -> Any:
    """Return the same for all cells of a column, or None if they must be read one by one."""
    found = converter.to_connect_batch("t", pa.array(cells, pa.binary()))
    if found is NotImplemented:
        return None
    partly = found if isinstance(found, PartlyFailed) else PartlyFailed(found, {})
    values = values_in_order(partly.result)
    assert all(values[row] == (None, None) for row in partly.errors)
    return [summary_of(partly.errors[row]) if row in partly.errors else value for row, value in enumerate(values)]
