from collections.abc import Callable
from typing import Any

class RowLayout:
    def __init__(
        self,
        letter: str,
        schema: Any,
        members: list[RowLayout],
        physical: Callable[[Any, Any], Any] | None = None,
        logical: Callable[[Any, Any], Any] | None = None,
        /,
    ) -> None: ...
    def unpack(self, row: bytes, /) -> Any: ...

def pack_rows(
    values: list[Any], codes: list[int], layouts: list[RowLayout | None], /
) -> tuple[bytes, bytes, bytes | None] | None: ...
