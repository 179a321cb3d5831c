"""Tables on the terminal: columns as wide as their widest cell."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hearth.foundation.terminal import printable


def echo_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a head and rows, one line each, whatever the cells hold; the last column is not padded."""
    rows = [[printable(cell, keep="") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())
