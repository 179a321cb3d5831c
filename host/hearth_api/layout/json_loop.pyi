class Rewriter:
    def __init__(
        self, moves: tuple[dict[bytes, bytes | None], bool, list[tuple[bytes, bytes]], bool] | None = None
    ) -> None: ...
    def room(self, size: int, count: int) -> int: ...
    def write(
        self,
        content: int,
        offsets: int,
        count: int,
        is_utf8: bool,
        out: int,
        spare: int,
        ends: int,
        sure: int,
    ) -> int: ...
