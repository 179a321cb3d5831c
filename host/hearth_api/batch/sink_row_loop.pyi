from typing import Any

from hearth_api.batch.sink_row import CommonParts
from hearth_api.record import SinkRecord

class RowColumn:
    def __init__(
        self,
        letter: str,
        data: int = 0,
        offsets: int = 0,
        validity: int = 0,
        first: int = 0,
        values: list[Any] | None = None,
    ) -> None: ...

def build_records(common: CommonParts, consumed: Any, count: int, /, *columns: RowColumn) -> list[SinkRecord]: ...
