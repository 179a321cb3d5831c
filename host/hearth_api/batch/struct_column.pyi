from collections.abc import Callable, Sequence
from typing import Any

def struct_column(
    rows: list[Sequence[Any]],
    absent: list[bool] | None,
    kinds: list[str | None],
    others: list[Any],
    import_column: Callable[[int, Any], Any],
    type_: Any,
    /,
) -> Any: ...
