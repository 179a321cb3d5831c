"""Durations on the command line: 500ms, 30s, 2m, 1h, or seconds."""

from __future__ import annotations

import re
from typing import Any

import click

_FORM = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, which is no minimum
    """A duration, converted to seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds; fail for anything else."""
        if isinstance(value, float):
            return value
        found = _FORM.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a duration such as 500ms, 30s or 2m", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


SECONDS = Duration()
