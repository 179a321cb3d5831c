from collections.abc import Callable, Iterator
from typing import Any

from hearth_api.header import Headers
from hearth_api.schema import Schema

def build_rows(
    lengths: list[int],
    names: list[str],
    name_codes: int,
    schemas: list[Schema | None],
    schema_codes: int,
    kinds: bytes,
    others: list[Iterator[Any]],
    read: Callable[[Schema | None, str], Any],
    data: int,
    offsets: int,
    validity: int,
    first: int,
    /,
) -> list[Headers | None]: ...
