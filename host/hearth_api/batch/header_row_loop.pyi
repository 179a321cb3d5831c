from collections.abc import Callable
from typing import Any

from hearth_api.header import Headers
from hearth_api.schema import Schema

class Texts:
    def __init__(self, data: int, offsets: int, validity: int, first: int, /) -> None: ...

class Kind:
    def __init__(self, schema: Schema | None, letter: str, /) -> None: ...

def build_rows(
    count: int,
    offsets: int,
    validity: int,
    first: int,
    names: Texts,
    schemas: Texts,
    values: Texts,
    kind_of: Callable[[str | None], Kind],
    read_all: Callable[[Schema | None, list[str | None]], list[Any]],
    /,
) -> list[Headers | None]: ...
