class MemberIndex:
    def __init__(self, names: list[bytes], content: int, offsets: int, count: int, /) -> None: ...
    def find(self, kinds: int, starts: int, ends: int, states: int, /) -> None: ...
    def write(
        self,
        over: list[tuple[int, int, int]],
        removes: bool,
        rows: int,
        count: int,
        out: int,
        ends: int,
        states: int,
        /,
    ) -> int: ...
