ROOM: int

def read_texts(
    content: int,
    offsets: int,
    count: int,
    out: int,
    ends: int,
    kinds: int,
    shapes: int,
    reads_moments: bool,
    /,
) -> int: ...
