def copy_pieces(addresses: int, sizes: int, rows: int, ends: int, content: int, /) -> int: ...
def count_headers(blocks: int, sizes: int, rows: int, counts: int, /) -> int: ...
def find_headers(
    blocks: int,
    sizes: int,
    rows: int,
    counts: int,
    names: int,
    name_sizes: int,
    values: int,
    value_sizes: int,
    /,
) -> int: ...
