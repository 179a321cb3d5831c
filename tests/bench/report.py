"""The benchmark's table."""

from __future__ import annotations

from collections.abc import Iterable

from tests.bench.result import Metric, Result

_MARKS = {True: "reached", False: "MISSED", None: ""}


def table(results: Iterable[Result]) -> str:
    """Return the results as a text table, one block for each case."""
    return "\n".join(_block(result) for result in results)


def _block(result: Result) -> str:
    head = ("", *(side.capitalize() for side in result.sides), "ratio", "goal", "")
    rows = [head, *(_row(result, metric) for metric in result.metrics)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [f"({result.case}) {result.title}"]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("    " + "  ".join(cells).rstrip())
    return "\n".join([*lines, *(f"    {note}" for note in result.notes), ""])


def _row(result: Result, metric: Metric) -> tuple[str, ...]:
    first, second = (result.median(side, metric.name) for side in result.sides)
    ratio = result.ratio(metric)
    return (
        metric.unit,
        "" if first is None else metric.format.format(first),
        "" if second is None else metric.format.format(second),
        "" if ratio is None else f"{ratio:.2f} x",
        _goal(metric),
        _MARKS[result.is_reached(metric)],
    )


def _goal(metric: Metric) -> str:
    if metric.goal is None:
        return ""
    if not metric.absolute:
        return f"{metric.goal:g} x"
    return f"{'<=' if metric.better == 'lower' else '>='} {metric.format.format(metric.goal)}"
