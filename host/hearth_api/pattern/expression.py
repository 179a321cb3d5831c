"""Compiles Java's regular expressions to Python's."""

from __future__ import annotations

import functools
import re

from hearth_api.pattern.error import PatternError
from hearth_api.pattern.syntax import translate


@functools.lru_cache(maxsize=1024)
def compile_pattern(text: str) -> re.Pattern[str]:
    """Return a Java regular expression, such as a `regex` setting, as a Python pattern.

    Groups keep their numbers and names; `\\d`, `\\w`, `\\b` and `(?i)` mean ASCII, as in Java. Java's `matches` is
    `fullmatch` here, its `find` is `search`. Raises `PatternError` with Java's message, and also for forms that Python
    lacks: lookbehind of variable length, scripts and blocks in `\\p{}`, `\\X` and the flag U. Before Python 3.11 each
    possessive quantifier or atomic group adds a capturing group, so only `compile_replacement` maps group numbers
    correctly there. A pure function, callable from any thread; results are cached.
    """
    try:
        return re.compile(translate(text), re.ASCII)
    except (re.error, OverflowError) as error:
        raise PatternError(f"Pattern is not supported, {error}", text) from error
